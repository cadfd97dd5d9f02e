/**
 * `npm run eval -- voice`: all that is measured of a model's preset voices with the engine that ships. Speaks both sets of
 * held-out sentences with every preset; compares with teachers, with another model's lines and with recordings to clone
 * where their folders are given. Figures are saved as they come. They depend on nothing but the arguments.
 */
import { readFile, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { loadModel } from "../models/registry.ts";
import { heldOutSentences } from "./eval-speak.ts";
import { type Clone, evaluateClones, referencesIn } from "./eval-voice-clones.ts";
import { evaluatePreset, type PresetFigures, type Sentence } from "./eval-voice-presets.ts";
import { markdown } from "./eval-voice-report.ts";
import { teacherFiles } from "./eval-voice-teachers.ts";
import { usage } from "./native-tool.ts";
import { recogniserMissing } from "./recognise.ts";
import { ENGINE_OPTIONS, integer, loadSpeaker, STARTER } from "./speaker.ts";

export const VOICE_USAGE = `
npm run eval -- voice [--voices clara,ryan] [--sentences N] [--takes N] [--seed N] [--teachers FOLDER] [--against FOLDER]
                      [--references FOLDER]... [--json FILE] [--metrics FILE]
                      [--precision int8] [--model FOLDER] [--device auto|cpu|cuda] [--threads N]

  --sentences N       the first N of the everyday sentences and of those with rare words; without it all 40 and 60
  --takes N           speak each sentence N times, each time with another seed (1)
  --teachers FOLDER   recordings NAME_NNN.wav of the same sentences by the voices' teachers, to measure against
  --against FOLDER    another model, whose lines at multiples of 400 Hz are measured as well
  --references FOLDER recordings of speakers to clone, one file each, with 10 everyday sentences; repeat it for more folders
  --json FILE         all figures as JSON, written anew after each voice
  --metrics FILE      the figures as the part of a Markdown file between its two "eval voice" comments`;

const PART = { begin: "<!-- eval voice: begin -->", end: "<!-- eval voice: end -->" } as const;

/** Sentences of a set that every clone speaks. */
const CLONE_SENTENCES = 10;

function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      ...ENGINE_OPTIONS,
      voices: { type: "string" },
      sentences: { type: "string", default: "60" },
      takes: { type: "string", default: "1" },
      seed: { type: "string", default: "1" },
      teachers: { type: "string" },
      against: { type: "string" },
      references: { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      metrics: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) usage(VOICE_USAGE);
  return {
    ...values,
    voices: values.voices?.split(","),
    sentences: integer("sentences", values.sentences, 1, 60),
    takes: integer("takes", values.takes, 1, 100),
    seed: integer("seed", values.seed, 0, 2 ** 40),
  };
}

type Options = ReturnType<typeof readOptions>;

async function sentencesOf({ sentences }: Options): Promise<Sentence[]> {
  const file = join(STARTER, "heldout.json");
  const sets = (["interface", "dictionary"] as const).map(async (set) =>
    (await heldOutSentences(file, set)).slice(0, sentences).map((one) => ({ ...one, set })),
  );
  return (await Promise.all(sets)).flat();
}

/** Says what is done, and how long the rest may take. */
function progress(total: number): (what: string) => void {
  const begun = performance.now();
  let done = 0;
  return (what) => {
    done++;
    const minutes = ((performance.now() - begun) / 60_000 / done) * (total - done);
    const left = done < total ? `, about ${Math.max(1, Math.round(minutes))} min left` : "";
    process.stderr.write(`${done} of ${total}: ${what}${left}\n`);
  };
}

/**
 * Puts the part between its comments; a file without them gets it at its end.
 * @param old what the file says; empty for a new one
 */
export function withPart(old: string, part: string): string {
  const [begin, end] = [old.indexOf(PART.begin), old.indexOf(PART.end)];
  const [before, after] =
    begin >= 0 && end > begin
      ? [old.slice(0, begin), old.slice(end + PART.end.length)]
      : [old === "" ? "" : `${old.trimEnd()}\n\n`, "\n"];
  return `${before}${PART.begin}\n\n${part}\n${PART.end}${after}`;
}

/** What a file says; nothing where there is none. */
async function textOf(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
}

/** Names of the voices to measure; ends the command where one is not a preset. */
async function voicesOf({ model, voices }: Options): Promise<string[]> {
  const { presets } = await loadModel(resolve(model));
  const unknown = voices?.find((voice) => !presets.has(voice));
  if (unknown !== undefined) {
    usage(`--voices takes names out of ${[...presets.keys()].join(", ")}, not '${unknown}'`);
  }
  return voices ?? [...presets.keys()];
}

/**
 * Looks into all folders before minutes are spent.
 * @returns how many recordings there are to clone
 * @throws Error that names the folder and what it lacks
 */
async function checkFolders(
  { teachers, against, references }: Options,
  names: readonly string[],
  sentences: readonly Sentence[],
): Promise<number> {
  if (teachers !== undefined) {
    const places = sentences.map(({ index }) => index);
    await Promise.all(names.map((name) => teacherFiles(teachers, name, places)));
  }
  if (against !== undefined) {
    const { presets } = await loadModel(resolve(against));
    if (!names.some((name) => presets.has(name))) {
      throw new Error(`${against} has none of the voices ${names.join(", ")}.`);
    }
  }
  return (await Promise.all(references.map(referencesIn))).flat().length;
}

/**
 * Runs the command.
 * @throws EngineError, ModelError, AudioError, Error of `parseArgs`, and Error when the recogniser is missing or fails
 */
export async function evalVoice(args: string[]): Promise<void> {
  const options = readOptions(args);
  const missing = recogniserMissing();
  if (missing !== undefined) throw new Error(missing);
  const names = await voicesOf(options);
  const sentences = await sentencesOf(options);
  const counts = await checkFolders(options, names, sentences);
  const report = progress(names.length + counts);

  const presets = new Map<string, PresetFigures>();
  const clones = new Map<string, readonly Clone[]>();
  const { engine, model } = await loadSpeaker(options);
  const other =
    options.against === undefined
      ? undefined
      : await loadSpeaker({ ...options, model: options.against });
  const save = async () => {
    if (options.json === undefined) return;
    const { device, precision, description } = engine.info;
    const all = {
      date: new Date().toISOString(),
      command: ["npm run eval -- voice", ...args].join(" "),
      engine: { device, precision, description },
      presets: Object.fromEntries(presets),
      clones: Object.fromEntries(clones),
    };
    await writeFile(options.json, `${JSON.stringify(all, null, 2)}\n`);
  };
  try {
    const { takes, seed, teachers } = options;
    for (const name of names) {
      const setting = { engine, model, sentences, takes, seed, teachers, against: other };
      presets.set(name, await evaluatePreset(setting, name));
      await save();
      report(name);
    }
    const texts = sentences.filter(({ set }) => set === "interface").map(({ text }) => text);
    for (const folder of options.references) {
      const spoken = texts.slice(0, CLONE_SENTENCES);
      const found = await evaluateClones(engine, model, folder, spoken, { seed, done: report });
      clones.set(basename(folder), found);
      await save();
    }
  } finally {
    await engine.close();
    await other?.engine.close();
  }
  const part = markdown({ presets, clones });
  if (options.metrics === undefined) process.stdout.write(part);
  else await writeFile(options.metrics, withPart(await textOf(options.metrics), part));
}
