/** `npm run eval -- voice` as Markdown: what was aimed at and whether it was reached, and the figures behind it. */
import { type Figures, sum, summarise, table } from "./eval-figures.ts";
import type { Clone } from "./eval-voice-clones.ts";
import { type PitchKept, sumPitchKept } from "./eval-voice-likeness.ts";
import { type Lines, linePowers, linesBelow, sumLines } from "./eval-voice-lines.ts";
import type { Errors, PresetFigures } from "./eval-voice-presets.ts";
import { sumSounds } from "./eval-voice-sound.ts";

export interface VoiceFigures {
  readonly presets: ReadonlyMap<string, PresetFigures>;
  /** Clones by the folder of their references. */
  readonly clones: ReadonlyMap<string, readonly Clone[]>;
}

const rate = ({ words, errors }: Errors) => (words > 0 ? (100 * errors) / words : 0);
const fixed = (value: number | undefined, digits = 1) => value?.toFixed(digits) ?? "";

/** Word error rate of a set as a multiple of the teacher's; undefined without a teacher or where he makes no error. */
export function timesTeacher(figures: PresetFigures, set: "interface" | "dictionary") {
  const teacher = figures.teacher === undefined ? 0 : rate(figures.teacher.sets[set]);
  return teacher > 0 ? rate(figures.sets[set]) / teacher : undefined;
}

/** How far a preset's lines are below the compared model's, of several presets those that both models have. */
function below(presets: readonly PresetFigures[]): string {
  const both = presets.flatMap(({ sound, against }) =>
    against === undefined ? [] : [{ own: sound.lines, against }],
  );
  const found = linesBelow(
    sumLines(both.map(({ own }) => own)),
    sumLines(both.map(({ against }) => against)),
  );
  return found ? `${found.isAtLeast ? "≥ " : ""}${found.db.toFixed(1)}` : "";
}

function understoodTable(presets: VoiceFigures["presets"]): string {
  const row = (name: string, figures: PresetFigures) => [
    name,
    ...(["interface", "dictionary"] as const).flatMap((set) => [
      fixed(rate(figures.sets[set])),
      fixed(figures.teacher && rate(figures.teacher.sets[set])),
      fixed(timesTeacher(figures, set), 2),
    ]),
  ];
  const taught = [...presets.values()].filter(({ teacher }) => teacher !== undefined);
  return table(
    ["voice", "everyday WER %", "teacher", "times", "rare words WER %", "teacher", "times"],
    [
      ...[...presets].map(([name, figures]) => row(name, figures)),
      ...(taught.length > 0 ? [row("those with a teacher", together(taught))] : []),
      row("all", together([...presets.values()].map(({ sets, sound }) => ({ sets, sound })))),
    ],
  );
}

/** Several presets as if they were one. */
function together(all: readonly PresetFigures[]): PresetFigures {
  const errors = (set: "interface" | "dictionary") => ({
    words: all.reduce((n, { teacher }) => n + (teacher?.sets[set].words ?? 0), 0),
    errors: all.reduce((n, { teacher }) => n + (teacher?.sets[set].errors ?? 0), 0),
  });
  const some = <T>(of: (one: PresetFigures) => T | undefined) =>
    all.map(of).filter((one) => one !== undefined);
  const teachers = some(({ teacher }) => teacher);
  const against = some((one) => one.against);
  const mean = teachers.reduce((n, { codec }) => n + codec.melDistance / teachers.length, 0);
  return {
    sets: {
      interface: sum(all.map(({ sets }) => sets.interface)),
      dictionary: sum(all.map(({ sets }) => sets.dictionary)),
    },
    sound: sumSounds(all.map(({ sound }) => sound)),
    ...(teachers.length > 0 && {
      teacher: {
        sets: { interface: errors("interface"), dictionary: errors("dictionary") },
        lines: sumLines(teachers.map(({ lines }) => lines)),
        codec: { melDistance: mean, pitch: sumPitchKept(teachers.map(({ codec }) => codec.pitch)) },
      },
    }),
    ...(against.length > 0 && { against: sumLines(against) }),
  };
}

const generations = ({ sets }: PresetFigures): Figures => sum([sets.interface, sets.dictionary]);

function soundTable(presets: VoiceFigures["presets"]): string {
  const rows = [...presets, ["all", together([...presets.values()])] as const];
  return table(
    [
      ...["voice", "generations", "stopped %", "seconds a character", "too long", "too short"],
      ...["longest silence s", "level dBFS", "least", "most", "clipped %"],
    ],
    rows.map(([name, figures]) => {
      const { stops, clipped, secondsPerCharacter } = summarise(generations(figures));
      const { recordings, runOn, cutShort, longestSilence, levels, levelRange } = figures.sound;
      return [
        name,
        `${recordings}`,
        stops.toFixed(1),
        secondsPerCharacter.map((pace) => pace.toFixed(3)).join(" to "),
        `${runOn}`,
        `${cutShort}`,
        fixed(longestSilence, 2),
        ...[levels / recordings, ...levelRange].map((level) => level.toFixed(1)),
        clipped.toFixed(3),
      ];
    }),
  );
}

function codecTable(presets: VoiceFigures["presets"]): string {
  const all = [...presets.values()];
  const rows = [
    ...[...presets].map(([name, figures]) => ({ name, figures, own: [figures] })),
    { name: "all", figures: together(all), own: all },
  ];
  const db = (lines: Lines | undefined, line: "on400" | "on50") => {
    const powers = lines && linePowers(lines);
    return powers ? (10 * Math.log10(powers[line])).toFixed(1) : "";
  };
  return table(
    [
      ...["voice", "windows", "400 Hz dB", "teacher", "compared", "below compared dB"],
      ...["50 Hz dB", "teacher", "compared", "mel distance", "pitch wrong %", "voicing lost %"],
    ],
    rows.map(({ name, figures: { sound, teacher, against }, own }) => [
      name,
      `${sound.lines.windows}`,
      ...[sound.lines, teacher?.lines, against].map((lines) => db(lines, "on400")),
      below(own),
      ...[sound.lines, teacher?.lines, against].map((lines) => db(lines, "on50")),
      fixed(teacher?.codec.melDistance, 3),
      ...(teacher ? pitchCells(teacher.codec.pitch) : ["", ""]),
    ]),
  );
}

/** Shares in percent of what is voiced in both recordings, and of what is in the original. */
function pitchCells({ voiced, kept, wrong }: PitchKept): string[] {
  const percent = (part: number, of: number) => (of > 0 ? (100 * part) / of : undefined);
  return [percent(wrong, kept), percent(voiced - kept, voiced)].map((share) => fixed(share));
}

function cloneTable(clones: readonly Clone[]): string {
  return table(
    [
      ...["reference", "its pitch Hz", "the codec's copy", "the clone's", "semitones"],
      ...["own reference's place", "WER %"],
    ],
    clones.map(({ name, referenceHz, copyHz, cloneHz, semitones, place, figures }) => [
      name,
      fixed(referenceHz, 0),
      fixed(copyHz, 0),
      fixed(cloneHz, 0),
      fixed(semitones),
      `${place}`,
      fixed(rate(figures)),
    ]),
  );
}

/** Semitones within which a clone's pitch counts as its reference's. */
const NEAR_SEMITONES = 1.5;

function cloneSummary(clones: readonly Clone[]): string {
  const near = clones.filter((one) => Math.abs(one.semitones ?? 99) <= NEAR_SEMITONES).length;
  const nearest = clones.filter(({ place }) => place === 1).length;
  const wer = rate(sum(clones.map(({ figures }) => figures)));
  return (
    `Pitch within ${NEAR_SEMITONES} semitones: ${near} of ${clones.length}. Nearest to its own reference: ` +
    `${nearest} of ${clones.length} (${((100 * nearest) / clones.length).toFixed(0)} %). ` +
    `Word error rate ${wer.toFixed(1)} %.`
  );
}

/** The presets that are at most `limit` times as bad as their teacher, as a sentence. */
function withinTimes(
  presets: VoiceFigures["presets"],
  set: "interface" | "dictionary",
  limit: number,
) {
  const all = [...presets].flatMap(([name, figures]) => {
    const times = timesTeacher(figures, set);
    return times === undefined ? [] : [{ name, isWithin: times <= limit }];
  });
  const names = all.flatMap(({ name, isWithin }) => (isWithin ? [name] : []));
  return `${names.length} of ${all.length}${names.length > 0 ? `: ${names.join(", ")}` : ""}`;
}

function aimsTable(presets: VoiceFigures["presets"]): string {
  const all = together([...presets.values()]);
  const { recordings, stopped, clipped } = generations(all);
  const { longSilences, longestSilence, runOn } = all.sound;
  const rows: [string, string][] = [
    ["every generation stops", `${stopped} of ${recordings}`],
    ["none runs on after its text", `${recordings - runOn} of ${recordings}`],
    [
      "no silence over 1 s inside a sentence",
      `${recordings - longSilences} of ${recordings}, longest ${longestSilence.toFixed(2)} s`,
    ],
    ["nothing clipped", clipped === 0 ? "0 samples" : `${clipped} samples`],
  ];
  if (all.teacher !== undefined) {
    rows.unshift(
      [
        "everyday words: at most 1.3 times the teacher's errors",
        withinTimes(presets, "interface", 1.3),
      ],
      ["rare words: at most 1.6 times", withinTimes(presets, "dictionary", 1.6)],
    );
  }
  if (all.against !== undefined) {
    rows.push([
      "400 Hz lines at least 20 dB below the compared model's",
      below([...presets.values()]) || "the compared model has none",
    ]);
  }
  return table(["aim", "measured"], rows);
}

/** All of it, with headings of the third level. */
export function markdown({ presets, clones }: VoiceFigures): string {
  const parts = [
    ["Aims", aimsTable(presets)],
    ["Understood by pocketsphinx", understoodTable(presets)],
    ["Stops, length, silence, level", soundTable(presets)],
    [
      "Fricatives, and the codec alone",
      `Power at multiples of 400 and 50 Hz above that of noise.\n\n${codecTable(presets)}`,
    ],
    ...[...clones].map(([folder, all]) => [
      `Clones of the recordings in ${folder}`,
      `${cloneTable(all)}\n\n${cloneSummary(all)}`,
    ]),
  ];
  return parts.map(([heading, text]) => `### ${heading}\n\n${text}\n`).join("\n");
}
