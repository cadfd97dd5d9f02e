/** Arithmetic of `npm run eval`: what is counted for one recording, how counts add up, and how they read as a table. */
import { split, wordErrors } from "./recognise.ts";

/** What was counted for one recording, or for many of them together. */
export interface Figures {
  readonly words: number;
  readonly errors: number;
  readonly recordings: number;
  /** Recordings that the model ended by itself. */
  readonly stopped: number;
  readonly samples: number;
  /** Samples at full scale or beyond. */
  readonly clipped: number;
  /** Sum of the squares of all samples. */
  readonly energy: number;
  /** Least and most seconds for a character of spoken text. */
  readonly pace: readonly [number, number];
}

/** What there is to know about a recording before anybody has listened to it. */
export interface Recording {
  /** Spoken form of the text. */
  readonly spoken: string;
  /** Interleaved samples as the engine made them. */
  readonly pcm: Float32Array;
  readonly seconds: number;
  readonly stopped: boolean;
}

/** The figures of one recording of which `heard` was understood. */
export function figuresOf({ spoken, pcm, seconds, stopped }: Recording, heard: readonly string[]) {
  const wanted = split(spoken);
  const pace = seconds / spoken.length;
  let clipped = 0;
  let energy = 0;
  for (const sample of pcm) {
    if (Math.abs(sample) >= 1) clipped++;
    energy += sample * sample;
  }
  return {
    words: wanted.length,
    errors: wordErrors(wanted, heard),
    recordings: 1,
    stopped: stopped ? 1 : 0,
    samples: pcm.length,
    clipped,
    energy,
    pace: [pace, pace],
  } satisfies Figures;
}

const NOTHING: Figures = {
  words: 0,
  errors: 0,
  recordings: 0,
  stopped: 0,
  samples: 0,
  clipped: 0,
  energy: 0,
  pace: [Number.POSITIVE_INFINITY, 0],
};

/** Figures of several recordings or groups together: each word and sample counts the same. */
export function sum(all: readonly Figures[]): Figures {
  return all.reduce(
    (a, b) => ({
      words: a.words + b.words,
      errors: a.errors + b.errors,
      recordings: a.recordings + b.recordings,
      stopped: a.stopped + b.stopped,
      samples: a.samples + b.samples,
      clipped: a.clipped + b.clipped,
      energy: a.energy + b.energy,
      pace: [Math.min(a.pace[0], b.pace[0]), Math.max(a.pace[1], b.pace[1])],
    }),
    NOTHING,
  );
}

/** `part` of `whole` in percent; 0 of nothing. */
const percent = (part: number, whole: number) => (whole > 0 ? (100 * part) / whole : 0);

/** What people read. Rates in percent, level in dB below full scale. */
export interface Summary {
  readonly wer: number;
  readonly stops: number;
  readonly clipped: number;
  readonly secondsPerCharacter: readonly [number, number];
  readonly levelDb: number;
}

export function summarise(figures: Figures): Summary {
  return {
    wer: percent(figures.errors, figures.words),
    stops: percent(figures.stopped, figures.recordings),
    clipped: percent(figures.clipped, figures.samples),
    secondsPerCharacter: figures.pace,
    levelDb: 10 * Math.log10(figures.energy / figures.samples),
  };
}

/** A Markdown table with its columns aligned: words to the left, numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, k) =>
    Math.max(cell.length, ...rows.map((row) => row[k]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, k) => (k === 0 ? cell.padEnd(widths[k] ?? 0) : cell.padStart(widths[k] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, k) =>
    k === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** One precision's figures, a row for each voice and one for all. */
export function voicesTable(voices: ReadonlyMap<string, Figures>): string {
  const rows = [...voices, ["all", sum([...voices.values()])] as const].map(([voice, figures]) => {
    const { wer, stops, clipped, secondsPerCharacter, levelDb } = summarise(figures);
    const [least, most] = secondsPerCharacter;
    return [
      voice,
      wer.toFixed(1),
      stops.toFixed(0),
      clipped.toFixed(3),
      `${least.toFixed(3)} to ${most.toFixed(3)}`,
      levelDb.toFixed(1),
    ];
  });
  return table(["voice", "WER %", "stops %", "clipped %", "seconds a character", "level dB"], rows);
}

/** Word error rates of several precisions side by side, each with its distance from the last one. */
export function comparisonTable(
  results: ReadonlyMap<string, ReadonlyMap<string, Figures>>,
): string {
  const all = new Map(
    [...results].map(([precision, voices]) => [
      precision,
      new Map([...voices, ["all", sum([...voices.values()])] as const]),
    ]),
  );
  const names = [...all.keys()];
  const reference = names.at(-1) ?? "";
  const others = names.slice(0, -1);
  const wer = (precision: string, voice: string) =>
    summarise(all.get(precision)?.get(voice) ?? NOTHING).wer;
  const rows = [...(all.get(reference)?.keys() ?? [])].map((voice) => [
    voice,
    ...names.map((name) => wer(name, voice).toFixed(1)),
    ...others.map((name) => signed(wer(name, voice) - wer(reference, voice))),
  ]);
  return table(["WER %", ...names, ...others.map((name) => `${name} minus ${reference}`)], rows);
}

function signed(value: number): string {
  const text = value.toFixed(1);
  return value > 0 && text !== "0.0" ? `+${text}` : text.replace(/^-0\.0$/, "0.0");
}
