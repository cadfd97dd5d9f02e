import { expect, it } from "vitest";
import { pitchOf } from "./pitch.ts";

/** One second of a sawtooth-like tone with the given pitch. */
function tone(hertz: number, sampleRate: number): Float32Array {
  return Float32Array.from({ length: sampleRate }, (_, i) => {
    const phase = (2 * Math.PI * hertz * i) / sampleRate;
    return 0.3 * Math.sin(phase) + 0.15 * Math.sin(2 * phase) + 0.1 * Math.sin(3 * phase);
  });
}

it.each([
  [85, 48_000],
  [120, 44_100],
  [210, 48_000],
  [300, 16_000],
])("finds %d Hz at a rate of %d Hz within 3 %", (hertz, sampleRate) => {
  const { median } = pitchOf(tone(hertz, sampleRate), sampleRate);
  expect(Math.abs((median ?? 0) / hertz - 1)).toBeLessThan(0.03);
});

it("finds none in silence", () => {
  const { median, trace } = pitchOf(new Float32Array(48_000), 48_000);
  expect(median).toBeUndefined();
  expect(trace.every((hertz) => hertz === 0)).toBe(true);
});
