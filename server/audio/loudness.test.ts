import { describe, expect, it, vi } from "vitest";
import { integratedLoudness } from "./loudness.ts";
import { concatSamples } from "./pcm.ts";
import { sine } from "./test-audio.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** A 1 kHz stereo sine whose peak lies at `db`, the test signal of EBU Tech 3341. */
function tone(db: number, seconds: number, rate = 48_000): Float32Array {
  return sine(1000, seconds, { channels: 2, rate, amplitude: 10 ** (db / 20) });
}

describe("integrated loudness", () => {
  it("of a stereo tone at -23 dBFS is -23 LUFS, at any rate", () => {
    for (const rate of [16_000, 44_100, 48_000]) {
      expect(integratedLoudness(tone(-23, 1, rate), 2, rate)).toBeCloseTo(-23, 1);
    }
  });

  it("of one channel is 3 LU lower than of two", () => {
    const mono = sine(1000, 1, { amplitude: 10 ** (-23 / 20) });
    expect(integratedLoudness(mono, 1, 48_000)).toBeCloseTo(-26.0, 1);
  });

  it("leaves out quiet stretches", () => {
    const parts = [tone(-36, 2, 16_000), tone(-23, 12, 16_000), tone(-36, 2, 16_000)];
    const loudness = integratedLoudness(concatSamples(parts), 2, 16_000);
    expect(Math.abs(loudness + 23)).toBeLessThan(0.1);
  });

  it("of silence and of next to nothing is minus infinity", () => {
    expect(integratedLoudness(new Float32Array(96_000), 2, 48_000)).toBe(-Infinity);
    expect(integratedLoudness(tone(-23, 0.3), 2, 48_000)).toBe(-Infinity);
  });
});
