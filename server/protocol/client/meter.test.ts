/** The meter on arrivals that were worked out by hand, and against the published measure of continuity. */
import { describe, expect, it } from "vitest";
import { continuity } from "../continuity.ts";
import { type MeterOptions, PlaybackMeter } from "./meter.ts";

/** A meter that is told chunks as [time, length] in milliseconds; the request was sent at 1000. */
function measured(chunks: readonly (readonly [number, number])[], options: MeterOptions = {}) {
  const meter = new PlaybackMeter({ now: () => 1000, ...options });
  for (const [at, ms] of chunks) meter.chunk(ms, 1000 + at);
  return meter;
}

describe("PlaybackMeter", () => {
  it("measures a stream that keeps ahead", () => {
    const meter = measured([
      [50, 80],
      [60, 160],
      [150, 240],
    ]);
    meter.end(1160);
    expect(meter.read(1200)).toEqual({
      ttfpMs: 50,
      elapsedMs: 160,
      audioMs: 480,
      chunks: 3,
      playedMs: 150,
      leadMs: 330,
      minLeadMs: 70,
      underruns: 0,
      underrunMs: 0,
      continuity: { underrunSeconds: 0, events: 0, ok: true },
      rtf: 150 / 480,
      arrivals: [
        { atMs: 50, audioMs: 80, totalMs: 80, leadMs: 80, gapMs: 0 },
        { atMs: 60, audioMs: 160, totalMs: 240, leadMs: 230, gapMs: 0 },
        { atMs: 150, audioMs: 240, totalMs: 480, leadMs: 380, gapMs: 0 },
      ],
    });
  });

  it("adds up the silence that a player would have made", () => {
    const meter = measured([
      [0, 100],
      [150, 100], // 50 ms late
      [200, 100],
      [390, 10], // the sound ended at 350
    ]);
    const { underruns, underrunMs, leadMs, playedMs, arrivals, minLeadMs } = meter.read(1500);
    expect({ underruns, underrunMs, leadMs, playedMs, minLeadMs }).toEqual({
      underruns: 2,
      underrunMs: 90,
      leadMs: 0,
      playedMs: 310,
      minLeadMs: 0,
    });
    expect(arrivals.map(({ gapMs }) => gapMs)).toEqual([0, 50, 0, 40]);
  });

  it("starts later with a cushion, and then runs dry later", () => {
    const chunks = [
      [0, 100],
      [150, 100],
    ] as const;
    expect(measured(chunks).read().underruns).toBe(1);
    const meter = measured(chunks, { cushionMs: 60 });
    expect(meter.read(1150)).toMatchObject({ underruns: 0, leadMs: 110, playedMs: 90 });
    expect(measured([[0, 100]], { cushionMs: 60 }).read(1030)).toMatchObject({
      leadMs: 100,
      playedMs: 0,
    });
  });

  it("knows nothing before the first sound, and forgets when it begins anew", () => {
    const meter = measured([[5, 0]]);
    expect(meter.read(1010)).toMatchObject({
      ttfpMs: undefined,
      rtf: undefined,
      chunks: 0,
      leadMs: 0,
      elapsedMs: 10,
    });
    meter.chunk(100, 1100);
    meter.end(1200);
    meter.begin(2000);
    meter.chunk(80, 2030);
    expect(meter.read(2040)).toMatchObject({ ttfpMs: 30, audioMs: 80, elapsedMs: 40, chunks: 1 });
  });

  it("keeps as many arrivals as it may", () => {
    const chunks = Array.from({ length: 9 }, (_, i) => [i, 10] as const);
    const { arrivals, chunks: count } = measured(chunks, { maxArrivals: 4 }).read();
    expect(count).toBe(9);
    expect(arrivals.map(({ atMs }) => atMs)).toEqual([5, 6, 7, 8]);
  });

  it("judges continuity as it is published", () => {
    for (const times of [
      [0, 500],
      [0, 300, 450],
      [0, 200],
    ]) {
      const meter = measured(times.map((at) => [at, 100] as const));
      const seconds = times.map((at) => 1 + at / 1000);
      const lengths = times.map(() => 0.1);
      expect(meter.read().continuity).toEqual(continuity(seconds, lengths));
    }
  });
});
