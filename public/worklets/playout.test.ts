/** What leaves the playout under a mocked clock: every sample once, in order, and silence only where it is counted. */
import { describe, expect, it } from "vitest";
import { RING_FRAMES } from "./ring.js";
import { arrivals, Bench, distinctFrames, RATE, sine } from "./test-feed.js";

const FADE_FRAMES = 144;

/** The channels of interleaved samples, 16-bit ones as exact floats. */
function planes(samples: Int16Array | Float32Array): [Float32Array, Float32Array] {
  const scale = samples instanceof Int16Array ? 32_768 : 1;
  const plane = (channel: number) =>
    Float32Array.from(
      { length: samples.length / 2 },
      (_, i) => (samples[2 * i + channel] ?? 0) / scale,
    );
  return [plane(0), plane(1)];
}

/** Where two stretches of samples differ first, their lengths included; -1 if they are equal. */
function firstDifference(actual: Float32Array, expected: Float32Array): number {
  const length = Math.max(actual.length, expected.length);
  for (let i = 0; i < length; i++) if (actual[i] !== expected[i]) return i;
  return -1;
}

function loudest(samples: Float32Array): number {
  return samples.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
}

function largestStep(samples: Float32Array): number {
  return samples.reduce((most, x, i) => Math.max(most, Math.abs(x - (samples[i - 1] ?? x))), 0);
}

describe("a stream that comes in time", () => {
  it.each([1, 7, 127, 128, 129, 3840, 15_360, 60_000])(
    "leaves sample for sample, %i frames",
    (n) => {
      const samples = distinctFrames(n);
      const bench = new Bench();
      bench.open();
      bench.run(arrivals(samples, { chunkSeconds: 0.08, speed: 4 }));
      const [left, right] = planes(samples);
      expect(firstDifference(bench.left.slice(0, n), left)).toBe(-1);
      expect(firstDifference(bench.right.slice(0, n), right)).toBe(-1);
      expect(loudest(bench.left.slice(n))).toBe(0);
      expect(bench.of("underrun")).toEqual([]);
      expect(bench.of("drained")).toMatchObject([{ at: n, position: n }]);
    },
  );

  it("starts with the quantum after its first chunk", () => {
    const bench = new Bench();
    bench.open();
    bench.renderUntil(0.5);
    bench.playout.write(1, distinctFrames(3840), true);
    bench.renderUntil(0.6);
    expect(bench.of("first")).toMatchObject([
      { at: RATE / 2 + ((128 - ((RATE / 2) % 128)) % 128) },
    ]);
  });

  it("gives mono to both sides", () => {
    const bench = new Bench();
    bench.open({ channels: 1 });
    bench.playout.write(
      1,
      Float32Array.from({ length: 1000 }, (_, i) => i / 1000),
      true,
    );
    bench.playout.finish(1, 1000);
    bench.renderUntil(0.05);
    expect(Array.from(bench.left.slice(0, 1000))).toEqual(
      Array.from({ length: 1000 }, (_, i) => Math.fround(i / 1000)),
    );
    expect(bench.right).toEqual(bench.left);
  });

  it("ends at once when it is empty", () => {
    const bench = new Bench();
    bench.open();
    bench.run([]);
    expect(bench.events.map((event) => event.type)).toEqual(["drained"]);
  });

  it("says that there is no room instead of overwriting what was not heard", () => {
    const bench = new Bench();
    bench.open({ paused: true });
    expect(bench.playout.write(1, new Int16Array(RING_FRAMES), true)).toBe(true);
    expect(bench.playout.write(1, new Int16Array(RING_FRAMES * 2), true)).toBe(false);
  });

  it("goes round the ring without a seam", () => {
    const frames = RING_FRAMES + 50_000;
    // An odd start, so that no quantum ends where the ring does.
    const from = 7;
    const samples = distinctFrames(frames);
    const bench = new Bench();
    bench.open({ from });
    for (const piece of arrivals(samples.slice(2 * from), { chunkSeconds: 0.32, speed: 1.2 })) {
      bench.renderUntil(piece.atSeconds);
      bench.playout.write(1, piece.samples, true);
    }
    bench.playout.finish(1, frames);
    bench.renderUntil(frames / RATE);
    const start = from + FADE_FRAMES;
    const [left] = planes(samples);
    expect(firstDifference(bench.left.slice(FADE_FRAMES, frames - from), left.slice(start))).toBe(
      -1,
    );
  });
});

describe("underruns", () => {
  const tone = sine(2, 440);

  it("are counted with place and length, and lose no sample", () => {
    const samples = distinctFrames(RATE);
    const half = RATE; // of interleaved samples: half a second
    const bench = new Bench();
    bench.open();
    bench.run([
      { atSeconds: 0, samples: samples.slice(0, half) },
      { atSeconds: 0.8, samples: samples.slice(half) },
    ]);
    const [underrun] = bench.of("underrun");
    expect(bench.of("underrun")).toHaveLength(1);
    expect(underrun?.position).toBe(RATE / 2);
    const resumed = underrun?.at ?? 0;
    expect(underrun?.frames).toBe(resumed - RATE / 2);
    expect(Math.abs((underrun?.frames ?? 0) - 0.3 * RATE)).toBeLessThanOrEqual(128);
    const [left] = planes(samples);
    expect(firstDifference(bench.left.slice(0, RATE / 2), left.slice(0, RATE / 2))).toBe(-1);
    const rest = left.slice(RATE / 2 + FADE_FRAMES);
    expect(firstDifference(bench.left.slice(resumed + FADE_FRAMES, resumed + RATE / 2), rest)).toBe(
      -1,
    );
  });

  it("fade instead of clicking", () => {
    const bench = new Bench();
    bench.open();
    bench.run([
      { atSeconds: 0, samples: tone.slice(0, 50_001 * 2) },
      { atSeconds: 2, samples: tone.slice(50_001 * 2) },
    ]);
    expect(bench.of("underrun")).toHaveLength(1);
    expect(largestStep(bench.left)).toBeLessThan(0.03);
  });

  it("are none when the stream just ended late", () => {
    const bench = new Bench();
    bench.open();
    bench.run([{ atSeconds: 0, samples: tone }], 3);
    expect(bench.of("underrun")).toEqual([]);
    expect(bench.of("drained")).toHaveLength(1);
  });

  it("build a cushion of 0.3 s each, up to 1.5 s, for this take and the next", () => {
    const bench = new Bench();
    const levels: number[] = [];
    for (let take = 1; take <= 7; take++) {
      bench.playout.open({ stream: take, channels: 2, sampleRate: RATE, from: 0 });
      const start = bench.seconds;
      bench.playout.write(take, sine(2, 440), true);
      bench.renderUntil(start + 2.2);
      levels.push(bench.playout.cushionSeconds);
    }
    expect(levels).toEqual([0.3, 0.6, 0.9, 1.2, 1.5, 1.5, 1.5]);
  });

  it("are forgotten after some seconds of good lead", () => {
    const bench = new Bench();
    bench.open();
    bench.playout.write(1, sine(0.1, 440), true);
    bench.renderUntil(0.2);
    expect(bench.playout.cushionSeconds).toBe(0.3);
    bench.playout.write(1, sine(12, 440), true);
    bench.renderUntil(4.9);
    expect(bench.playout.cushionSeconds).toBe(0.3);
    bench.renderUntil(5.4);
    expect(bench.playout.cushionSeconds).toBe(0);
  });

  it("are forgotten over several short takes, each well ahead for 1.2 s", () => {
    const bench = new Bench();
    bench.open();
    bench.playout.write(1, sine(0.1, 440), true);
    bench.renderUntil(0.2);
    const levels: number[] = [];
    for (let take = 2; take <= 6; take++) {
      bench.open({ stream: take });
      const start = bench.seconds;
      bench.playout.write(take, sine(2, 440), true);
      bench.playout.finish(take, 2 * RATE);
      bench.renderUntil(start + 2.2);
      levels.push(bench.playout.cushionSeconds);
    }
    expect(levels).toEqual([0.3, 0.3, 0.3, 0.3, 0]);
  });
});

describe("a stream that is made more slowly than it is heard", () => {
  /** Words of 0.3 s with gaps of 0.1 s. */
  const words = (seconds: number) =>
    sine(seconds, 300).map((x, i) => ((i / 2 / RATE) % 0.4 < 0.3 ? x : 0));

  it.each([0.3, 0.4, 0.6, 0.8, 0.9])(
    "pauses at most twice, and says so, at %f of real time",
    (speed) => {
      const bench = new Bench();
      bench.open({ expectedSeconds: 20 });
      bench.run(arrivals(words(20), { chunkSeconds: 0.32, speed }));
      expect(bench.of("underrun").length).toBeLessThanOrEqual(2);
      const told = bench.of("waiting").map((event) => event.rate ?? 1);
      expect(Math.min(...told)).toBeCloseTo(speed, 1);
      for (const { frames = 0 } of bench.of("underrun")) expect(frames).toBeGreaterThan(0.2 * RATE);
    },
  );

  it("pauses between words once it knows", () => {
    const bench = new Bench();
    bench.open();
    bench.run(arrivals(words(50), { chunkSeconds: 0.32, speed: 0.4 }));
    const [, ...later] = bench.of("underrun");
    expect(later.length).toBeGreaterThan(0);
    for (const { position } of later) {
      const place = (position / RATE) % 0.4;
      expect(place).toBeGreaterThanOrEqual(0.299);
    }
  });

  it("starts the next take with what it learned", () => {
    const bench = new Bench();
    bench.open();
    bench.run(arrivals(sine(4, 440), { chunkSeconds: 0.32, speed: 0.5 }));
    bench.events = [];
    const start = bench.seconds;
    bench.playout.open({ stream: 2, channels: 2, sampleRate: RATE, from: 0, expectedSeconds: 2 });
    bench.playout.write(2, sine(0.32, 440), true);
    bench.renderUntil(start + 0.5);
    expect(bench.of("first")).toEqual([]);
    expect(bench.of("waiting")).toHaveLength(1);
  });
});

describe("control", () => {
  it("pauses within 3 ms and goes on with the next sample", () => {
    const samples = distinctFrames(RATE);
    const [left] = planes(samples);
    const bench = new Bench();
    bench.open();
    bench.playout.write(1, samples, true);
    bench.playout.finish(1, RATE);
    bench.renderUntil(0.2);
    const played = bench.left.length;
    bench.playout.pause(1);
    bench.renderUntil(0.5);
    expect(loudest(bench.left.slice(played + FADE_FRAMES))).toBe(0);
    const paused = bench.left.length;
    bench.playout.resume(1);
    bench.renderUntil(1.5);
    expect(firstDifference(bench.left.slice(0, played), left.slice(0, played))).toBe(-1);
    const rest = left.slice(played + FADE_FRAMES);
    expect(
      firstDifference(bench.left.slice(paused + FADE_FRAMES).slice(0, rest.length), rest),
    ).toBe(-1);
    expect(bench.of("paused")).toMatchObject([{ position: played }]);
    expect(bench.of("drained")).toHaveLength(1);
  });

  it("stops within 3 ms, and what comes late is never heard", () => {
    const bench = new Bench();
    bench.open();
    bench.playout.write(1, sine(1, 440), true);
    bench.renderUntil(0.2);
    const stopped = bench.left.length;
    bench.playout.stop(1);
    bench.playout.write(1, sine(1, 440), true);
    bench.playout.resume(1);
    bench.renderUntil(0.5);
    bench.playout.open({ stream: 2, channels: 2, sampleRate: RATE, from: 0 });
    bench.playout.write(1, sine(1, 440), true);
    bench.renderUntil(0.7);
    expect(loudest(bench.left.slice(stopped + FADE_FRAMES))).toBe(0);
    expect(largestStep(bench.left)).toBeLessThan(0.04);
    expect(bench.of("stopped")).toMatchObject([{ stream: 1, at: stopped }]);
  });

  it("changes to another place or take without a click", () => {
    const bench = new Bench();
    bench.open();
    bench.playout.write(1, sine(1, 440), true);
    bench.renderUntil(0.2);
    const moved = bench.left.length;
    bench.playout.open({ stream: 2, channels: 2, sampleRate: RATE, from: 1000, continues: true });
    const samples = sine(1, 440).map((x) => -x);
    bench.playout.write(2, samples.slice(2000), false);
    bench.playout.finish(2, RATE);
    bench.renderUntil(0.5);
    expect(largestStep(bench.left)).toBeLessThan(0.06);
    const from = moved + FADE_FRAMES;
    const [left] = planes(samples);
    const expected = left.slice(1000 + FADE_FRAMES, 1000 + FADE_FRAMES + 5000);
    expect(firstDifference(bench.left.slice(from, from + 5000), expected)).toBe(-1);
  });

  it("applies a gain to one play alone", () => {
    const bench = new Bench();
    bench.open({ gain: 0.5 });
    bench.playout.write(1, new Int16Array(2000).fill(16_384), true);
    bench.renderUntil(0.02);
    expect(bench.left.slice(0, 900).every((x) => x === 0.25)).toBe(true);
  });
});

describe("an output at another rate", () => {
  it.each([
    [48_000, 44_100],
    [48_000, 96_000],
    [44_100, 48_000],
    [24_000, 44_100],
  ])("keeps a sine a sine from %i to %i Hz, over odd chunks", (sampleRate, outputRate) => {
    const seconds = 1;
    const samples = sine(seconds, 1000, 0.5, sampleRate);
    const bench = new Bench(outputRate);
    bench.open({ sampleRate });
    for (let at = 0, n = 1; at < samples.length; at += n * 2, n = (n * 7 + 3) % 1009) {
      bench.playout.write(1, samples.slice(at, at + n * 2), true);
    }
    bench.playout.finish(1, seconds * sampleRate);
    bench.renderUntil(1.2);
    let worst = 0;
    for (let i = 200; i < outputRate - 200; i++) {
      const exact = 0.5 * Math.sin((2 * Math.PI * 1000 * i) / outputRate);
      worst = Math.max(worst, Math.abs((bench.left[i] ?? 0) - exact));
    }
    expect(20 * Math.log10(worst / 0.5)).toBeLessThan(-80);
    expect(bench.of("drained")).toMatchObject([{ at: outputRate }]);
  });

  it("removes what the lower rate cannot carry", () => {
    const bench = new Bench(24_000);
    bench.open();
    bench.playout.write(1, sine(1, 15_000), true);
    bench.playout.finish(1, RATE);
    bench.renderUntil(1);
    const middle = bench.left.slice(1000, 20_000);
    expect(loudest(middle)).toBeLessThan(1e-4);
  });
});

describe("a line with jitter", () => {
  const tone = sine(3, 440);
  const uneven = (seed: number) =>
    arrivals(tone, { chunkSeconds: 0.08, speed: 1.5, jitterSeconds: 0.12, seed });

  it("costs nothing once playback is under way, and nothing at all with a small cushion", () => {
    for (let seed = 1; seed <= 15; seed++) {
      const atOnce = new Bench();
      atOnce.open();
      atOnce.run(uneven(seed));
      expect(atOnce.of("underrun").filter(({ at }) => at > 0.6 * RATE)).toEqual([]);
      expect(largestStep(atOnce.left)).toBeLessThan(0.06);
      const cushioned = new Bench();
      cushioned.open({ cushionSeconds: 0.2 });
      cushioned.run(uneven(seed));
      expect(cushioned.of("underrun")).toEqual([]);
    }
  });
});
