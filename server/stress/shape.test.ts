/** Shapes of load over time, chance, and the search for the knee. */
import { describe, expect, it } from "vitest";
import { KneeSearch } from "./knee.ts";
import { arrivals, randomly, requestSeed } from "./random.ts";
import { largestOf, longestOf, partOf, stepsOf, wantedAt } from "./shape.ts";
import { planWith } from "./test-door.ts";
import type { StressShape } from "./types.ts";

describe("steps", () => {
  const levels = (shape: StressShape) => stepsOf(planWith({ shape })).map(({ wanted }) => wanted);

  it.each([
    [{ kind: "steps", from: 1, to: 7, by: 3, stepSeconds: 5 }, [1, 4, 7]],
    [{ kind: "steps", from: 1, to: 8, by: 3, stepSeconds: 5 }, [1, 4, 7, 8]],
    [{ kind: "steps", from: 5, to: 1, by: 2, stepSeconds: 5 }, [5, 3, 1]],
    [{ kind: "steps", from: 4, to: 4, by: 1, stepSeconds: 5 }, [4]],
    [{ kind: "levels", levels: [64, 1, 16], stepSeconds: 5 }, [64, 1, 16]],
    [{ kind: "poisson", perSecond: 2.5 }, [2.5]],
    [{ kind: "ramp", from: 1, to: 11 }, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
  ] satisfies [StressShape, number[]][])("of %j are %j", (shape, expected) => {
    expect(levels(shape)).toEqual(expected);
  });

  it("follow each other without a gap, and a ramp grows within them", () => {
    const plan = planWith({ shape: { kind: "ramp", from: 1, to: 21 }, seconds: 40 });
    const steps = stepsOf(plan);
    expect(steps.map(({ from, seconds }) => from + seconds)).toEqual(
      [...steps.slice(1).map(({ from }) => from), 40].map((end) => expect.closeTo(end, 9)),
    );
    const at = (seconds: number) => steps[0] && wantedAt(plan, steps[0], seconds);
    expect([at(0), at(1), at(20), at(40), at(99)]).toEqual([1, 2, 11, 21, 21]);
  });

  it("say how large and how long they get", () => {
    const shape: StressShape = { kind: "levels", levels: [2, 9, 4], stepSeconds: 10 };
    expect(largestOf(shape)).toBe(9);
    expect(longestOf(planWith({ shape }))).toBe(30);
    expect(longestOf(planWith({ shape, maxSeconds: 12 }))).toBe(12);
    expect(largestOf({ kind: "poisson", perSecond: 3 })).toBeUndefined();
  });
});

it("a number is split over processes so that nothing is lost and nothing made up", () => {
  for (const [whole, processes] of [
    [0, 3],
    [1, 4],
    [10, 3],
    [4096, 7],
  ] as const) {
    const parts = Array.from({ length: processes }, (_, i) => partOf(whole, i, processes));
    expect(parts.reduce((a, b) => a + b, 0)).toBe(whole);
    expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
  }
});

describe("arrivals by chance", () => {
  it("are the same for a seed, in order, and within the time", () => {
    const times = [...arrivals(50, 10, randomly(7))];
    expect([...arrivals(50, 10, randomly(7))]).toEqual(times);
    expect([...arrivals(50, 10, randomly(8))]).not.toEqual(times);
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    expect(times[0]).toBeGreaterThan(0);
    expect(times.at(-1)).toBeLessThan(10_000);
  });

  it("come at their rate, and at distances that scatter as those of chance do", () => {
    const times = [...arrivals(20, 1000, randomly(1))];
    // 20,000 are expected, give or take four times the root of that.
    expect(Math.abs(times.length - 20_000)).toBeLessThan(4 * Math.sqrt(20_000));
    const gaps = times.map((at, i) => at - (times[i - 1] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const spread = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(spread / mean).toBeGreaterThan(0.95);
    expect(spread / mean).toBeLessThan(1.05);
  });

  it("and requests have seeds that follow from the plan's and differ from each other", () => {
    const seeds = Array.from({ length: 1000 }, (_, i) => requestSeed(5, i));
    expect(seeds).toEqual(Array.from({ length: 1000 }, (_, i) => requestSeed(5, i)));
    expect(new Set(seeds).size).toBe(1000);
    expect(seeds).not.toContain(requestSeed(6, 0));
    expect(seeds.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)).toBe(true);
  });
});

describe("the search for the knee", () => {
  function search(from: number, to: number, capacity: number) {
    const tried: number[] = [];
    const knee = new KneeSearch(from, to);
    for (let next = knee.next; next !== undefined; next = knee.next) {
      tried.push(next);
      knee.tried(next, next <= capacity, "Too slow.");
    }
    return { tried, ...knee.result() };
  }

  it.each([
    [1, 64, 13, 13, 14],
    [1, 64, 1, 1, 2],
    [3, 100, 100, 100, null],
    [8, 16, 4, null, 8],
    [5, 5, 9, 5, null],
  ])("from %d to %d, where %d is possible, finds %j below %j", (from, to, capacity, good, bad) => {
    expect(search(from, to, capacity)).toMatchObject({ concurrency: good, above: bad });
  });

  it("is close enough on large loads after a few steps", () => {
    const { tried, concurrency, above, reason } = search(1, 16_384, 3000);
    expect(tried.length).toBeLessThan(22);
    expect(concurrency).toBeLessThanOrEqual(3000);
    expect(above).toBeGreaterThan(3000);
    expect((above ?? 0) - (concurrency ?? 0)).toBeLessThan(0.03 * 3000);
    expect(reason).toContain("Too slow.");
  });
});
