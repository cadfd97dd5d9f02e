/** Distributions, counts and limits: merging, coordinated omission, and what crosses a limit. */
import { JsHistogram } from "hdr-histogram-js";
import { describe, expect, it } from "vitest";
import { Distribution, distributionOf } from "./distribution.ts";
import { judge } from "./limits.ts";
import { Sums } from "./sums.ts";
import { mergeWindows, packWindow, unpackWindow } from "./window.ts";

function distribution(values: readonly number[]): Distribution {
  const all = Distribution.of("ttfpMs");
  for (const value of values) all.add(value);
  return all;
}

describe("a distribution", () => {
  const values = Array.from({ length: 1000 }, (_, i) => i + 1);

  it("has the percentiles of its values, to three digits", () => {
    const { count, mean, p50, p95, p999, max } = distribution(values).percentiles();
    expect(count).toBe(1000);
    for (const [figure, expected] of [
      [mean, 500.5],
      [p50, 500],
      [p95, 950],
      [p999, 999],
      [max, 1000],
    ]) {
      expect(Math.abs((figure ?? 0) - (expected ?? 0))).toBeLessThan(0.002 * (expected ?? 0));
    }
  });

  it("of nothing has none, however it has travelled", () => {
    const nothing = Distribution.from(distribution([]).encoded());
    expect(nothing.percentiles()).toMatchObject({ count: 0, mean: null, p50: null, max: null });
    expect(distributionOf(nothing.encoded())).toEqual([]);
  });

  it("that was split, sent and merged is the whole one", () => {
    const whole = distribution(values);
    const merged = Distribution.of("ttfpMs");
    for (const rest of [0, 1, 2]) {
      const part = distribution(values.filter((value) => value % 3 === rest));
      merged.merge(Distribution.from(part.encoded()));
    }
    expect(merged.percentiles()).toEqual(whole.percentiles());
  });

  it("is kept in a form that HdrHistogram itself reads, and nothing else passes for one", () => {
    const { data } = distribution(values).encoded();
    const { decode } = JsHistogram as unknown as { decode(bytes: Uint8Array): JsHistogram };
    const read = decode(new Uint8Array(Buffer.from(data, "base64")));
    expect(read.totalCount).toBe(1000);
    expect(read.getValueAtPercentile(95) / 1000).toBe(distribution(values).at(0.95));
    const bytes = Buffer.from(data, "base64");
    const damaged = [bytes.subarray(0, -1), bytes.subarray(0, 8), Buffer.concat([bytes, bytes])];
    for (const one of damaged) {
      expect(() => Distribution.from({ data: one.toString("base64"), scale: 1 })).toThrow();
    }
  });

  it("tells small ratios apart", () => {
    const rtf = Distribution.of("rtf");
    for (const value of [0.009, 0.0093]) rtf.add(value);
    expect(rtf.at(0)).toBeCloseTo(0.009, 5);
    expect(rtf.at(1)).toBeCloseTo(0.0093, 5);
  });

  it("is drawn from its least to its largest value", () => {
    const points = distributionOf(distribution(values).encoded());
    expect(points[0]?.share).toBe(0);
    expect(points.at(-1)).toMatchObject({ share: 1 });
    const drawn = points.map(({ value }) => value);
    expect([...drawn].sort((a, b) => a - b)).toEqual(drawn);
  });
});

describe("coordinated omission", () => {
  // 99 requests of 10 ms at a pace of one each 100 ms, and one that stalled its stream for 10 s.
  const sums = new Sums();
  for (let i = 0; i < 99; i++) {
    sums.record("ttfpMs", 10);
    sums.record("cycleMs", 100);
  }
  sums.record("ttfpMs", 10_000);
  sums.record("cycleMs", 10_000);

  it("is mended in closed loops: the requests that were not made meanwhile are counted", () => {
    expect(sums.get("ttfpMs").at(0.95)).toBeCloseTo(10, 1);
    const corrected = sums.correctedTtfp(false);
    // 9900, 9800 … 100 ms: one for each that the stalled stream did not make.
    expect(Math.abs(corrected.count - 199)).toBeLessThanOrEqual(1);
    expect(corrected.at(0.95)).toBeGreaterThan(8900);
    expect(corrected.at(0.4)).toBeCloseTo(10, 1);
  });

  it("does not happen in open loops, whose times run from when a request was due", () => {
    expect(sums.correctedTtfp(true).percentiles()).toEqual(sums.get("ttfpMs").percentiles());
  });
});

describe("limits", () => {
  function measured(ttfpMs: number, changes: Partial<Sums["counts"]> = {}): Sums {
    const sums = new Sums();
    for (let i = 0; i < 10; i++) sums.record("ttfpMs", ttfpMs);
    Object.assign(sums.counts, { spoken: 10, continuous: 10, ...changes });
    return sums;
  }

  it.each([
    [{ ttfpP95Ms: 100 }, measured(50), true, ""],
    [{ ttfpP95Ms: 100 }, measured(120), false, "above the limit of 100 ms"],
    [{ continuity: 0.9 }, measured(1, { continuous: 8 }), false, "80.0 % of the streams"],
    [{ errorShare: 0.2 }, measured(1, { refused: 2 }), true, ""],
    [{ errorShare: 0.2 }, measured(1, { refused: 2, failed: 2 }), false, "28.6 % of the requests"],
    [{ ttfpP95Ms: 100 }, Object.assign(new Sums(), {}), null, ""],
    [{}, measured(1e6), null, ""],
  ] as const)("%j", (limits, sums, met, text) => {
    const verdict = judge(limits, sums);
    expect(verdict.met).toBe(met);
    expect(verdict.text).toContain(text);
  });

  it("of sound are not met where everything was refused", () => {
    const sums = new Sums();
    sums.counts.refused = 5;
    expect(judge({ continuity: 0.5 }, sums)).toMatchObject({ met: false });
  });
});

it("windows of processes add up, step by step, and survive their way", () => {
  const window = (active: number, lane: number, spoken: number) => {
    const sums = new Sums();
    sums.counts.spoken = spoken;
    sums.counts.codes = { overloaded: spoken };
    sums.counts.longestShortfallMs = spoken;
    for (let i = 0; i < spoken; i++) sums.record("ttfpMs", 10 * spoken);
    return {
      steps: new Map([[2, sums]]),
      audioSeconds: 1.5,
      active,
      lanes: [{ id: lane, state: "speak" as const, leadMs: 5 }],
      lanesLeftOut: 0,
      lagMs: active,
      behindMs: 0,
      processes: 1,
      probe: null,
      isSpent: lane === 0,
    };
  };
  const sent = [window(3, 1, 4), window(5, 0, 6)].map((one) =>
    unpackWindow(structuredClone(packWindow(one))),
  );
  const merged = mergeWindows(sent);
  expect(merged).toMatchObject({ active: 8, audioSeconds: 3, lagMs: 5, processes: 2 });
  expect(merged.isSpent).toBe(false);
  expect(merged.lanes.map(({ id }) => id)).toEqual([0, 1]);
  const sums = merged.steps.get(2);
  expect(sums?.counts).toMatchObject({ spoken: 10, codes: { overloaded: 10 } });
  expect(sums?.counts.longestShortfallMs).toBe(6);
  expect(sums?.get("ttfpMs").count).toBe(10);
  expect(sums?.get("ttfpMs").at(1)).toBeCloseTo(60, 0);
});
