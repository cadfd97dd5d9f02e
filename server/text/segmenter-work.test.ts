/**
 * How much work a long text makes: as much as it is long, and little in one go. Counted in characters that were measured,
 * so that the machine has no say in it.
 */
import { describe, expect, it } from "vitest";
import { type Granularity, type Segment, Segmenter } from "./segmenter.ts";

const TEXTS = {
  prose: "The ferry timetable changes on the first weekend of every month, so please look. ",
  "one long sentence": "one two three, four five six; seven eight nine ",
  "short lines": "a\n",
  "no spaces": "abcdefghij",
  "no spaces, wide": "今天天气很好我们去公园玩吧",
  exclamations: "“Oh! ",
  numbers: "1,234.5 $3.20 12:30 ",
} as const;
const MODES: readonly Granularity[] = ["auto", "sentence", "clause", "none"];

const CASES = Object.entries(TEXTS).flatMap(([name, text]) =>
  MODES.map((mode) => [name, mode, text] as const),
);

/** Cuts `length` units of a text that is pushed in pieces of `size`, and counts what is measured. */
function cut(text: string, length: number, granularity: Granularity, size = length) {
  let measured = 0;
  const segmenter = new Segmenter({
    granularity,
    countTokens: (spoken) => {
      measured += spoken.length;
      return Math.ceil(spoken.length / 3);
    },
  });
  const whole = text.repeat(Math.ceil(length / text.length)).slice(0, length);
  const segments: Segment[] = [];
  for (let at = 0; at < length; at += size) {
    segments.push(...segmenter.push(whole.slice(at, at + size)));
  }
  const before = measured;
  segments.push(...segmenter.end());
  return { segments, measured, atEnd: measured - before };
}

describe.each(CASES)("%s, %s", (_, mode, text) => {
  it("four times the text is four times the work", () => {
    const short = cut(text, 3_000, mode);
    const long = cut(text, 12_000, mode);
    expect(short.measured).toBeGreaterThan(0);
    expect(long.measured).toBeLessThan(4.4 * short.measured);
  });

  it("the end of a long text is no more work than that of a short one", () => {
    // A flush cannot be spread over time: it has to find nearly everything done.
    expect(cut(text, 12_000, mode).atEnd).toBeLessThan(25_000);
  });

  it("gives at once what it gives letter by letter", () => {
    expect(cut(text, 2_000, mode).segments).toEqual(cut(text, 2_000, mode, 1).segments);
  });
});
