/** A take gives back what it was given, wherever it was cut, and knows what came when. */
import { describe, expect, it } from "vitest";
import { randomly } from "../../server/stress/random.ts";
import { PlayClock } from "./play-clock.ts";
import { TakeAudio } from "./take-audio.ts";

/** Far faster than a comparison that explains every difference. */
function isEqual(actual: ArrayLike<number>, expected: ArrayLike<number>): boolean {
  if (actual.length !== expected.length) return false;
  for (let i = 0; i < actual.length; i++) if (actual[i] !== expected[i]) return false;
  return true;
}

describe("a take", () => {
  const random = randomly(3);
  const samples = Int16Array.from({ length: 2 * 150_001 }, () => random() * 65_535 - 32_768);
  const bytes = new Uint8Array(samples.buffer);

  it.each([1, 3, 4097, 1_000_000])("puts bytes together that were cut every %i", (length) => {
    const limit = length === 1 ? 40_000 : bytes.length;
    const take = new TakeAudio({ sampleRate: 48_000, channels: 2 });
    let frames = 0;
    for (let at = 0; at < limit; at += length) {
      frames += take.push(bytes.subarray(at, Math.min(limit, at + length)));
    }
    expect(frames).toBe(limit / 4);
    expect(take.frames).toBe(frames);
    expect(isEqual(take.read(0, frames), samples.slice(0, 2 * frames))).toBe(true);
    expect(
      isEqual(take.read(65_000, 70_000), samples.slice(130_000, 2 * Math.min(135_000, frames))),
    ).toBe(true);
    expect(take.read(frames, 10)).toHaveLength(0);
  });

  it("reads bytes that lie at an odd place in memory", () => {
    const memory = new Uint8Array(9);
    memory.set([1, 0, 255, 255], 5);
    const take = new TakeAudio({ sampleRate: 48_000, channels: 2 });
    take.push(memory.subarray(5));
    expect(take.read(0, 1)).toEqual(Int16Array.of(1, -1));
  });

  it("finds the chunk of a frame", () => {
    const take = new TakeAudio<string>({ sampleRate: 48_000, channels: 1 });
    take.push(new Int16Array(10), "a");
    take.push(new Int16Array(0), "nothing");
    take.push(new Int16Array(5), "b");
    expect([-1, 0, 9, 10, 14, 15].map((frame) => take.chunkAt(frame)?.tag)).toEqual([
      undefined,
      "a",
      "a",
      "b",
      "b",
      undefined,
    ]);
    expect(take.chunks.map(({ start, frames }) => [start, frames])).toEqual([
      [0, 10],
      [10, 5],
    ]);
  });

  it("takes nothing after its end, and only its own kind of samples", () => {
    const take = new TakeAudio({ sampleRate: 48_000, channels: 1, format: "float32" });
    let changes = 0;
    const unsubscribe = take.onChange(() => changes++);
    take.push(Float32Array.of(0.1));
    expect(() => take.push(new Int16Array(1))).toThrow("float32");
    take.finish();
    expect(take.push(Float32Array.of(0.2))).toBe(0);
    expect([take.frames, changes]).toEqual([1, 2]);
    unsubscribe();
    expect(TakeAudio.of(Int16Array.of(1, 2), 48_000, 2)).toMatchObject({
      frames: 1,
      finished: true,
    });
  });
});

describe("a peak", () => {
  it("is the largest sample of either channel, across blocks, and 0 where nothing is", () => {
    const samples = new Int16Array(2 * 70_000);
    samples[2 * 100] = 1000;
    samples[2 * 65_536 + 1] = -16_384;
    const take = TakeAudio.of(samples, 48_000, 2);
    expect(take.peakBetween(0, 70_000, 70_000)).toBe(0.5);
    expect(take.peakBetween(65_530, 65_540)).toBe(0.5);
    expect(take.peakBetween(0, 200, 200)).toBe(1000 / 32_768);
    expect(take.peakBetween(101, 65_536)).toBe(0);
    expect(take.peakBetween(70_000, 80_000)).toBe(0);
  });

  it("is judged by no more frames than it may look at", () => {
    const take = TakeAudio.of(
      Float32Array.from({ length: 1000 }, (_, i) => i / 1000),
      48_000,
      1,
    );
    expect(take.peakBetween(0, 1000, 10)).toBeCloseTo(0.9, 6);
  });
});

describe("the clock of a play", () => {
  it("moves between anchors, stands where playback stands, and never passes what is known", () => {
    const clock = new PlayClock(48_000, 48_000);
    clock.jump(500);
    expect(clock.positionAt(1e9)).toBe(500);
    clock.anchor(1000, 500, true);
    clock.anchor(3000, 2400, false);
    clock.anchor(4000, 2400, true);
    expect([0, 1000, 1500, 2999, 3500, 4100].map((at) => clock.positionAt(at))).toEqual([
      500, 500, 1000, 2400, 2400, 2500,
    ]);
  });

  it("counts in frames of the stream", () => {
    const clock = new PlayClock(24_000, 48_000);
    clock.anchor(0, 100, true);
    expect(clock.positionAt(48_000)).toBe(24_100);
  });
});
