import { describe, expect, it } from "vitest";
import { hasWinner, makePairs, standings } from "./blind-rounds.ts";

/** A small generator with a fixed course. */
function sequence(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe("pairs", () => {
  it("are every two once, each in one order", () => {
    const pairs = makePairs(["a", "b", "c", "d"], sequence(1));
    const names = pairs.map(({ first, second }) => [first, second].sort().join(""));
    expect(names.sort()).toEqual(["ab", "ac", "ad", "bc", "bd", "cd"]);
  });

  it("of two takes come several times, on both sides", () => {
    const sides = new Set<string>();
    for (let seed = 1; seed < 9; seed++) {
      const pairs = makePairs(["a", "b"], sequence(seed));
      expect(pairs).toHaveLength(5);
      for (const { first } of pairs) sides.add(first);
    }
    expect(sides).toEqual(new Set(["a", "b"]));
  });
});

describe("standings", () => {
  const pairs = new Array(5).fill({ first: "a", second: "b" });

  it("count preferences, ties for half", () => {
    const [best, other] = standings(pairs, ["first", "first", "tie", "second", "first"]);
    expect(best).toMatchObject({ id: "a", wins: 3.5, rounds: 5 });
    expect(other).toMatchObject({ id: "b", wins: 1.5, rounds: 5 });
  });

  it("have the interval that Wilson gives: 5 of 5 is 0.57 to 1", () => {
    const [best] = standings(pairs, new Array(5).fill("first"));
    expect(best?.low).toBeCloseTo(0.5655, 3);
    expect(best?.high).toBeCloseTo(1, 5);
  });

  it("name a winner only where the interval does", () => {
    expect(hasWinner(standings(pairs, new Array(5).fill("first")))).toBe(true);
    expect(hasWinner(standings(pairs, ["first", "first", "first", "first", "second"]))).toBe(false);
    expect(hasWinner([])).toBe(false);
  });
});
