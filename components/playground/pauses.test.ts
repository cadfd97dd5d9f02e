import { describe, expect, it } from "vitest";
import { wasWritersPause } from "./pauses.ts";

describe("silence in a take that is typed live", () => {
  const sentences = [
    { startMs: 0, givenAt: 1000 },
    { startMs: 1800, givenAt: 5000 },
  ];

  it("is the writer's where the next sentence was not there yet", () => {
    expect(wasWritersPause(sentences, 1800, 3000)).toBe(true);
    expect(wasWritersPause(sentences, 1799.98, 3000)).toBe(true);
  });

  it("is an underrun where the text had been there before, or in the middle of a sentence", () => {
    expect(wasWritersPause(sentences, 1800, 5001)).toBe(false);
    expect(wasWritersPause(sentences, 900, 3000)).toBe(false);
    expect(wasWritersPause([], 900, 3000)).toBe(false);
  });
});
