import { expect, it } from "vitest";
import {
  comparisonTable,
  type Figures,
  figuresOf,
  sum,
  summarise,
  table,
  voicesTable,
} from "./eval-figures.ts";

const recording = (spoken: string, pcm: number[], seconds: number, stopped = true) => ({
  spoken,
  pcm: Float32Array.from(pcm),
  seconds,
  stopped,
});

it("counts one recording", () => {
  const spoken = "One, two.";
  expect(figuresOf(recording(spoken, [0.5, -1, 1.5, 0], 0.9), ["one", "tooth"])).toEqual({
    words: 2,
    errors: 1,
    recordings: 1,
    stopped: 1,
    samples: 4,
    clipped: 2,
    energy: 0.25 + 1 + 2.25,
    pace: [0.9 / 9, 0.9 / 9],
  });
});

it("adds up by words and samples, not by recordings", () => {
  const long = figuresOf(
    recording("a b c d e f", Array(10).fill(0.1), 1.1),
    "a b c d e f".split(" "),
  );
  const short = figuresOf(recording("a b", [1, 1], 1, false), []);
  const { wer, stops, clipped, secondsPerCharacter, levelDb } = summarise(sum([long, short]));
  expect([wer, stops]).toEqual([25, 50]);
  expect(clipped).toBeCloseTo((100 * 2) / 12);
  expect(secondsPerCharacter[0]).toBeCloseTo(0.1);
  expect(secondsPerCharacter[1]).toBeCloseTo(1 / 3);
  expect(levelDb).toBeCloseTo(10 * Math.log10(2.1 / 12));
  expect(sum([])).toMatchObject({ words: 0, recordings: 0 });
});

it("aligns tables as Markdown", () => {
  expect(
    table(
      ["voice", "WER %"],
      [
        ["clara", "1.0"],
        ["all", "100.0"],
      ],
    ),
  ).toBe(
    ["| voice | WER % |", "| ----- | ----: |", "| clara |   1.0 |", "| all   | 100.0 |"].join("\n"),
  );
});

const voice = (errors: number): Figures => ({
  words: 100,
  errors,
  recordings: 1,
  stopped: 1,
  samples: 100,
  clipped: 0,
  energy: 1,
  pace: [0.05, 0.07],
});

it("ends with a row for all voices together", () => {
  const lines = voicesTable(
    new Map([
      ["a", voice(10)],
      ["b", voice(20)],
    ]),
  ).split("\n");
  expect(lines.at(-1)).toBe(
    "| all   |  15.0 |     100 |     0.000 |      0.050 to 0.070 |    -20.0 |",
  );
});

it("shows precisions side by side and how far each is from the last", () => {
  const lines = comparisonTable(
    new Map([
      [
        "int8",
        new Map([
          ["a", voice(12)],
          ["b", voice(20)],
        ]),
      ],
      [
        "fp32",
        new Map([
          ["a", voice(10)],
          ["b", voice(23)],
        ]),
      ],
    ]),
  ).split("\n");
  expect(lines[0]).toBe("| WER % | int8 | fp32 | int8 minus fp32 |");
  expect(lines.slice(2)).toEqual([
    "| a     | 12.0 | 10.0 |            +2.0 |",
    "| b     | 20.0 | 23.0 |            -3.0 |",
    "| all   | 16.0 | 16.5 |            -0.5 |",
  ]);
});
