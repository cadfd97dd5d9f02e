import { describe, expect, it, vi } from "vitest";
import { AudioError } from "./error.ts";
import { deinterleave, rms } from "./pcm.ts";
import { createTimeStretch } from "./speed.ts";
import {
  babble,
  chunked,
  frequency,
  largestStep,
  noise,
  runSamples,
  same,
  sine,
} from "./test-audio.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const SPEEDS = [0.25, 0.5, 0.8, 1.1, 1.5, 2, 4];

function stretch(pcm: Float32Array, speed: number, channels = 1): Float32Array {
  return runSamples(createTimeStretch(speed, 48_000, channels), [pcm]);
}

const cents = (a: number, b: number) => 1200 * Math.abs(Math.log2(a / b));

describe("time stretch", () => {
  it.each(SPEEDS)("at %f has the exact length", (speed) => {
    for (const frames of [0, 1, 500, 30_003]) {
      expect(stretch(noise(frames), speed).length).toBe(Math.trunc(frames / speed));
    }
  });

  it.each(SPEEDS)("at %f keeps pitch and level of a tone, without clicks", (speed) => {
    for (const hertz of [97, 220, 1000]) {
      const tone = sine(hertz, 1);
      const out = stretch(tone, speed);
      const middle = out.subarray(out.length * 0.1, out.length * 0.9);
      expect(cents(frequency(middle, 48_000), hertz)).toBeLessThan(3);
      expect(20 * Math.log10(rms(middle) / rms(tone))).toBeCloseTo(0, 0);
      expect(largestStep(out)).toBeLessThan(1.3 * largestStep(tone));
    }
  });

  it.each([0.5, 0.8, 1.5, 2])("at %f keeps the level of a voice, without clicks", (speed) => {
    const voice = babble(1.42);
    const out = stretch(voice, speed);
    expect(20 * Math.log10(rms(out) / rms(voice))).toBeCloseTo(0, 0);
    expect(largestStep(out)).toBeLessThan(1.3 * largestStep(voice));
  });

  it("does not depend on how the input is chunked", () => {
    const voice = babble(0.7);
    for (const speed of [0.7, 1.7]) {
      const chunks = chunked(voice, 1);
      const cut = runSamples(createTimeStretch(speed, 48_000, 1), chunks);
      expect(same(cut, stretch(voice, speed))).toBe(true);
    }
  });

  it("moves both channels together", () => {
    const mono = babble(1);
    const stereo = new Float32Array(mono.length * 2).map((_, i) => {
      const sample = mono[i >> 1] ?? 0;
      return i % 2 === 0 ? sample : sample / 2;
    });
    const [left, right] = deinterleave(stretch(stereo, 1.3, 2), 2);
    const halved = left?.map((sample) => sample / 2) ?? mono;
    expect(same(right ?? mono, halved)).toBe(true);
  });

  it("gives the first audio after 60 ms of input", () => {
    const stage = createTimeStretch(1.5, 48_000, 1);
    expect(stage.push(babble(0.06)).length).toBeGreaterThan(0);
  });

  it("begins with the input itself", () => {
    const voice = babble(0.5);
    expect(same(stretch(voice, 2).subarray(0, 700), voice.subarray(0, 700))).toBe(true);
  });

  it("at 1 returns every chunk as it came", () => {
    const pcm = noise(100);
    const stage = createTimeStretch(1, 48_000, 1);
    expect(stage.push(pcm)).toBe(pcm);
    expect(stage.end().length).toBe(0);
  });

  it("is refused outside of its range", () => {
    for (const speed of [0.2, 4.1, Number.NaN]) {
      expect(() => createTimeStretch(speed, 48_000, 1)).toThrow(AudioError);
      expect(() => createTimeStretch(speed, 48_000, 1)).toThrow("0.25 to 4");
    }
  });
});
