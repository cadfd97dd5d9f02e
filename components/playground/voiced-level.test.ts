import { expect, it } from "vitest";
import { gainToMatch, voicedLevel } from "./voiced-level.ts";

const RATE = 48_000;

function tone(amplitude: number, seconds: number): number[] {
  return Array.from({ length: RATE * seconds }, (_, i) => amplitude * Math.sin(i / 20));
}

it("is the level of the speech, whatever pauses stand beside it", () => {
  const dense = Float32Array.from(tone(0.1, 0.9));
  const sparse = Float32Array.from([...tone(0.1, 0.9), ...new Array(3 * RATE).fill(0)]);
  expect(voicedLevel(dense, RATE)).toBeCloseTo(-23.0, 1);
  expect(voicedLevel(sparse, RATE)).toBeCloseTo(-23.0, 1);
  expect(voicedLevel(new Float32Array(RATE), RATE)).toBeUndefined();
});

it("brings quiet and loud voices to one level, without clipping", () => {
  const after = (amplitude: number) => {
    const mono = Float32Array.from(tone(amplitude, 1));
    return (voicedLevel(mono, RATE) ?? 0) + gainToMatch(mono, RATE);
  };
  expect(after(0.1)).toBeCloseTo(-17, 1);
  expect(after(0.5)).toBeCloseTo(-17, 1);
  const spiky = Float32Array.from(tone(0.05, 1));
  spiky[100] = 0.9;
  expect(gainToMatch(spiky, RATE)).toBeCloseTo(-20 * Math.log10(0.9), 5);
});
