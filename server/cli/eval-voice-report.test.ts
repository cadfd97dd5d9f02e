import { expect, it } from "vitest";
import type { Figures } from "./eval-figures.ts";
import { withPart } from "./eval-voice.ts";
import type { Lines } from "./eval-voice-lines.ts";
import type { PresetFigures } from "./eval-voice-presets.ts";
import { markdown, timesTeacher } from "./eval-voice-report.ts";

const figures = (errors: number, stopped = 10): Figures => ({
  words: 100,
  errors,
  recordings: 10,
  stopped,
  samples: 1000,
  clipped: 0,
  energy: 10,
  pace: [0.05, 0.08],
});

/** Lines of a tenth of the windows' spread, `on400` times as strong as noise. */
const lines = (on400: number): Lines => ({
  windows: 100,
  on400: 100 * on400,
  on400Squares: 100 * (on400 ** 2 + 0.01),
  on50: 200,
});

function preset(errors: number, teacherErrors?: number, on400 = 1.5): PresetFigures {
  return {
    sets: { interface: figures(errors), dictionary: figures(2 * errors, 9) },
    sound: {
      recordings: 20,
      seconds: 50,
      runOn: 0,
      cutShort: 0,
      longestSilence: 0.4,
      longSilences: 0,
      levels: -440,
      levelRange: [-23, -21],
      lines: lines(on400),
    },
    ...(teacherErrors !== undefined && {
      teacher: {
        sets: {
          interface: { words: 100, errors: teacherErrors },
          dictionary: { words: 100, errors: teacherErrors },
        },
        lines: lines(1),
        codec: { melDistance: 0.6, pitch: { voiced: 200, kept: 160, wrong: 40 } },
      },
      against: lines(6),
    }),
  };
}

/** Cells of the first row under a heading whose first cell begins with a name. */
const rowOf = (text: string, heading: string, name: string) => {
  const part = text.slice(text.indexOf(heading));
  const line = part.split("\n").find((row) => row.startsWith(`| ${name}`)) ?? "";
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
};

it("sets each voice beside its teacher, and sums over those that have one", () => {
  const presets = new Map([
    ["near", preset(12, 10)],
    ["far", preset(20, 10)],
    ["untaught", preset(40, undefined, 9)],
  ]);
  const text = markdown({ presets, clones: new Map() });
  expect(timesTeacher(preset(12, 10), "interface")).toBeCloseTo(1.2);
  expect(timesTeacher(preset(12, 0), "interface")).toBeUndefined();
  const row = (name: string) => rowOf(text, "### Understood", name).slice(1);
  expect(row("near")).toEqual(["12.0", "10.0", "1.20", "24.0", "10.0", "2.40"]);
  expect(row("those with a teacher")).toEqual(["16.0", "10.0", "1.60", "32.0", "10.0", "3.20"]);
  expect(row("all")).toEqual(["24.0", "", "", "48.0", "", ""]);
  const aim = (name: string) => rowOf(text, "### Aims", name).at(-1);
  expect(aim("everyday words")).toBe("1 of 2: near");
  expect(aim("rare words")).toBe("0 of 2");
  expect(aim("every generation stops")).toBe("57 of 60");
  expect(aim("no silence over 1 s")).toBe("60 of 60, longest 0.40 s");
  expect(rowOf(text, "### Fricatives", "near").slice(-3)).toEqual(["0.600", "25.0", "20.0"]);
  expect(rowOf(text, "### Fricatives", "untaught").slice(-3)).toEqual(["", "", ""]);
  const whispers = preset(12, 10);
  const silenced = {
    ...whispers,
    ...(whispers.teacher && {
      teacher: {
        ...whispers.teacher,
        codec: { melDistance: 0.6, pitch: { voiced: 200, kept: 0, wrong: 0 } },
      },
    }),
  };
  const hushed = markdown({ presets: new Map([["hushed", silenced]]), clones: new Map() });
  expect(rowOf(hushed, "### Fricatives", "hushed").slice(-3)).toEqual(["0.600", "", "100.0"]);
  // 0.5 above noise beside 5 above it: ten times less. Who is not in the other model does not count.
  expect(aim("400 Hz lines")).toBe("10.0");
});

it("counts clones that are near in pitch and nearest in likeness", () => {
  const clone = (name: string, semitones: number | undefined, place: number) => ({
    name,
    referenceHz: 100,
    copyHz: 100,
    cloneHz: 100,
    semitones,
    place,
    figures: figures(20),
  });
  const clones = [clone("a.wav", -1.5, 1), clone("b.wav", 1.6, 1), clone("c.wav", undefined, 2)];
  const text = markdown({ presets: new Map(), clones: new Map([["some", clones]]) });
  expect(text).toContain("### Clones of the recordings in some");
  expect(text).toContain(
    "Pitch within 1.5 semitones: 1 of 3. Nearest to its own reference: 2 of 3 (67 %). Word error rate 20.0 %.",
  );
});

it("replaces its part of a file and nothing else", () => {
  const first = withPart("", "one");
  expect(first).toBe("<!-- eval voice: begin -->\n\none\n<!-- eval voice: end -->\n");
  expect(withPart(first, "two")).toBe(first.replace("one", "two"));
  expect(withPart("# Head\n", "one")).toBe(`# Head\n\n${first}`);
  expect(withPart(`before ${first}after`, "two")).toBe(
    `before ${first.replace("one", "two")}after`,
  );
});
