import { describe, expect, it } from "vitest";
import { measureActivity } from "../audio/activity.ts";
import { babble, noise, sine } from "../audio/test-audio.ts";
import { likenessOf, pitchKept, placeOf, semitones, sumPitchKept } from "./eval-voice-likeness.ts";
import { LINES_HZ, linePowers, linesBelow, measureLines, sumLines } from "./eval-voice-lines.ts";
import { melDistance } from "./eval-voice-mel.ts";
import { longestSilence, measureSound, sumSounds } from "./eval-voice-sound.ts";

const quiet = (samples: Float32Array, gain: number) => samples.map((sample) => gain * sample);
const plus = (a: Float32Array, b: Float32Array) => a.map((sample, i) => sample + (b[i] ?? 0));
const silence = (seconds: number, rate = 48_000) => new Float32Array(seconds * rate);
const joined = (...parts: Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));

/** A stretch of noise, again and again. */
function repeated(period: number, length: number): Float32Array {
  const stretch = noise(period);
  return Float32Array.from({ length }, (_, i) => stretch[i % period] ?? 0);
}

describe("lines", () => {
  const hiss = quiet(noise(2 * LINES_HZ, 3), 0.2);

  it("has the power of noise everywhere in noise", () => {
    const powers = linePowers(measureLines(hiss));
    expect(Math.abs((powers?.on400 ?? 0) - 1)).toBeLessThan(3 * (powers?.error ?? 0));
    expect(powers?.on50).toBeCloseTo(1, 1);
  });

  it("finds noise that repeats after 2.5 ms at 400 Hz, after 20 ms at 50 Hz", () => {
    // Of four neighbouring bins only one carries power, and what the window spills into the two beside it: 1 of 1.5.
    const after20 = linePowers(measureLines(repeated(LINES_HZ / 50, 2 * LINES_HZ)));
    expect(after20?.on50).toBeCloseTo(4 / 1.5, 1);
    const after2 = linePowers(measureLines(repeated(LINES_HZ / 400, 2 * LINES_HZ)));
    expect(after2?.on400).toBeCloseTo(32 / 1.5, 0);
  });

  it("looks at fricatives only", () => {
    expect(measureLines(babble(1, LINES_HZ)).windows).toBe(0);
    expect(measureLines(quiet(hiss, 0.005)).windows).toBe(0);
    expect(linePowers(measureLines(silence(1, LINES_HZ)))).toBeUndefined();
  });

  it("tells how far lines are below others', and what it can say at least where there are none", () => {
    const lines = quiet(repeated(LINES_HZ / 400, hiss.length), 0.2);
    const loud = measureLines(plus(hiss, quiet(lines, 0.5)));
    const faint = measureLines(plus(hiss, quiet(lines, 0.25)));
    const one = linesBelow(faint, loud);
    expect(one?.isAtLeast).toBe(false);
    // Half the amplitude: 6 dB, and a little more since the mean that they are compared with is lower.
    expect(one?.db).toBeGreaterThan(4);
    expect(one?.db).toBeLessThan(7);
    const none = linesBelow(measureLines(hiss), loud);
    expect(none?.isAtLeast).toBe(true);
    expect(none?.db).toBeGreaterThan(10);
    expect(linesBelow(loud, measureLines(hiss))).toBeUndefined();
  });

  it("adds up by windows", () => {
    const once = measureLines(hiss);
    expect(sumLines([once, once])).toEqual({
      windows: 2 * once.windows,
      on400: 2 * once.on400,
      on400Squares: 2 * once.on400Squares,
      on50: 2 * once.on50,
    });
  });
});

describe("sound", () => {
  it("finds the longest silence between two sounds, not those at the ends", () => {
    const tone = sine(200, 0.3);
    const recording = joined(
      silence(0.9),
      tone,
      silence(0.2),
      tone,
      silence(0.5),
      tone,
      silence(2),
    );
    expect(longestSilence(measureActivity(recording, 48_000), 48_000)).toBeCloseTo(0.5, 1);
    expect(longestSilence(measureActivity(tone, 48_000), 48_000)).toBe(0);
    expect(longestSilence(measureActivity(silence(1), 48_000), 48_000)).toBe(0);
  });

  it("counts what is too long, too short or falls silent, and the level of what sounds", () => {
    const nothing = measureLines(new Float32Array(0));
    const measure = (spoken: string, seconds: number, mono: Float32Array) =>
      measureSound({ spoken, seconds }, mono, 48_000, nothing);
    const tone = sine(200, 1, { amplitude: 0.1 * Math.SQRT2 });
    const total = sumSounds([
      measure("twenty characters ok", 1, tone),
      measure("twenty characters ok", 3.3, joined(tone, silence(1.3), quiet(tone, 0.5))),
      measure("twenty characters ok", 0.7, tone),
    ]);
    expect(total).toMatchObject({ recordings: 3, runOn: 1, cutShort: 1, longSilences: 1 });
    expect(total.seconds).toBeCloseTo(5);
    expect(total.levelRange[1]).toBeCloseTo(-20, 1);
    expect(total.levelRange[0]).toBeCloseTo(-20 + 10 * Math.log10((1 + 0.25) / 2), 1);
  });
});

describe("mel distance", () => {
  it("is nothing for the same, and the logarithm of a gain", () => {
    const hiss = quiet(noise(24_000), 0.3);
    expect(melDistance(hiss, hiss)).toBe(0);
    // Half as loud: ln 2 in every cell, and half of the loudness as the linear part.
    expect(melDistance(quiet(hiss, 0.5), hiss)).toBeCloseTo(Math.log(2) + 0.3 * 0.5, 2);
    expect(() => melDistance(hiss.subarray(0, 1000), hiss)).toThrow(/2048 samples/);
  });
});

describe("likeness", () => {
  const RATE = 16_000;

  const buzz = (hertz: number) =>
    [1, 2, 3, 4].map((k) => sine(k * hertz, 1, { rate: RATE, amplitude: 0.2 / k })).reduce(plus);

  it("hears an octave as twelve semitones", () => {
    const [low, high] = [125, 250].map((hertz) => likenessOf(buzz(hertz)));
    expect([low?.pitchHz, high?.pitchHz]).toEqual([125, 250]);
    expect(semitones(high?.pitchHz, low?.pitchHz)).toBe(12);
    expect(semitones(undefined, 100)).toBeUndefined();
    expect(likenessOf(quiet(noise(RATE), 0.3)).pitchHz).toBeUndefined();
  });

  it("counts what of a voice's pitch a copy keeps", () => {
    const original = buzz(113);
    const windows = pitchKept(original, original).voiced;
    expect(windows).toBeGreaterThan(40);
    expect(pitchKept(original, original)).toEqual({ voiced: windows, kept: windows, wrong: 0 });
    expect(pitchKept(buzz(115), original).wrong).toBe(0);
    expect(pitchKept(buzz(100), original)).toEqual({
      voiced: windows,
      kept: windows,
      wrong: windows,
    });
    // The second half only hisses.
    const half = Float32Array.from(original, (sample, i) => (i < RATE / 2 ? sample : 0));
    const hoarse = plus(half, quiet(noise(RATE), 0.3).fill(0, 0, RATE / 2));
    const { kept, wrong } = pitchKept(hoarse, original);
    expect(kept / windows).toBeGreaterThan(0.4);
    expect(kept / windows).toBeLessThan(0.6);
    expect(sumPitchKept([pitchKept(hoarse, original), pitchKept(original, original)])).toEqual({
      voiced: 2 * windows,
      kept: windows + kept,
      wrong,
    });
    expect(pitchKept(original, quiet(noise(RATE), 0.3))).toEqual({ voiced: 0, kept: 0, wrong: 0 });
  });

  it("places a speaker's other words nearest to himself", () => {
    /** A buzz in syllables; the faster the harmonics fall, the duller. */
    const speak = (hertz: number, fall: number, syllables: number) =>
      Float32Array.from({ length: 2 * RATE }, (_, i) => {
        const t = i / RATE;
        let sample = 0;
        for (let k = 1; k * hertz < 7000; k++) {
          sample += Math.sin(2 * Math.PI * k * hertz * t) / k ** fall;
        }
        return 0.1 * sample * Math.abs(Math.sin(Math.PI * syllables * t));
      });
    const speakers = [
      { hertz: 110, fall: 1 },
      { hertz: 115, fall: 1.6 },
      { hertz: 210, fall: 1.6 },
    ];
    const known = speakers.map(({ hertz, fall }) => likenessOf(speak(hertz, fall, 4)));
    for (const [i, { hertz, fall }] of speakers.entries()) {
      const words = likenessOf(quiet(speak(1.02 * hertz, fall, 5), 0.3));
      const places = speakers.map((_, other) => placeOf(other, words, known));
      expect(places[i]).toBe(1);
      expect(places.toSorted()).toEqual([1, 2, 3]);
    }
  });
});
