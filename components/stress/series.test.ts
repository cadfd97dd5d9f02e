/** Readings of a run as lines, rows and lanes. */
import { describe, expect, it } from "vitest";
import type { StressLane } from "../../server/stress/types.ts";
import { LaneHistory, lookOf, SHOWN_TICKS } from "./lane-history.ts";
import { latest, ninesOf, overlaid, percentAt, rangeOf, rowsOf, thinned } from "./series.ts";

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);

describe("readings of a long run", () => {
  it("become fewer when there are too many, and keep the last one", () => {
    expect(thinned(numbers(4), 4)).toEqual([0, 1, 2, 3]);
    expect(thinned(numbers(5), 4)).toEqual([0, 2, 4]);
    expect(thinned(numbers(6), 4)).toEqual([1, 3, 5]);
  });

  it("are a table of every n-th, the last one among them", () => {
    expect(rowsOf(numbers(3), 60)).toEqual({ rows: [0, 1, 2], every: 1 });
    const { rows, every } = rowsOf(numbers(100), 30);
    expect(every).toBe(4);
    expect(rows).toHaveLength(25);
    expect(rows.at(-1)).toBe(99);
  });

  it("have a range of what was measured, and a latest value", () => {
    expect(rangeOf([null, 3, 1, null])).toEqual({ last: 1, low: 1, high: 3 });
    expect(rangeOf([null])).toBeUndefined();
    expect(latest([4, 0, null], (value) => value)).toBe(0);
  });
});

describe("two runs over one axis", () => {
  it("have all points of both in order, and nothing where one has none", () => {
    const a = [
      [0, 5],
      [2, 7],
    ] as const;
    const b = [
      [1, 9],
      [2, null],
    ] as const;
    expect(overlaid(a, b)).toEqual({ x: [0, 1, 2], a: [5, null, 7], b: [null, 9, null] });
  });
});

describe("the axis of shares", () => {
  it("is finer towards the end, and ends", () => {
    expect(ninesOf(0.9)).toBeCloseTo(1);
    expect(ninesOf(0.999)).toBeCloseTo(3);
    expect(ninesOf(1)).toBe(4.5);
    expect([0, 1, 2, 3, 4].map(percentAt)).toEqual(["0", "90", "99", "99.9", "99.99"]);
    // Neighbours on the axis are told apart.
    expect([1.75, 2, 2.25, 2.5].map(percentAt)).toEqual(["98", "99", "99.4", "99.7"]);
  });
});

describe("lanes", () => {
  const lane = (id: number, state: StressLane["state"], leadMs = 0): StressLane => ({
    id,
    state,
    leadMs,
  });

  it("look like what they have in hand", () => {
    const states = [
      lane(0, "wait"),
      lane(0, "ask", 900),
      lane(0, "speak", 300),
      lane(0, "speak", 299),
      lane(0, "speak", 0),
      lane(0, "refused"),
      lane(0, "failed"),
    ];
    expect(states.map(lookOf)).toEqual(["wait", "ask", "good", "close", "dry", "wrong", "wrong"]);
  });

  it("keep their place while others come and go, for as long as the strip shows", () => {
    const history = new LaneHistory();
    history.add([lane(0, "ask"), lane(5, "speak", 1000)]);
    history.add([lane(5, "failed")]);
    expect(history.lanes).toBe(6);
    expect([history.at(0, 0), history.at(0, 5), history.at(1, 0), history.at(1, 5)]).toEqual([
      "ask",
      "good",
      "none",
      "wrong",
    ]);
    for (let tick = 0; tick < SHOWN_TICKS; tick++) history.add([lane(0, "ask")]);
    expect(history.length).toBe(SHOWN_TICKS);
    expect(history.lanes).toBe(1);
  });
});
