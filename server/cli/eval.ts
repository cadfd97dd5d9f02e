/**
 * `npm run eval -- wer [--voices a,b] [--sentences N] [--takes N] [--precision int8]... [--model FOLDER] [--seed N] [--json]`:
 * how well a model's voices are understood. Speaks held-out sentences and has them recognised by pocketsphinx; several
 * precisions are shown side by side. The figures depend on nothing but the arguments. `npm run eval -- voice` measures all
 * there is to know of the voices, `npm run eval -- greedy` compares codes; each in a file of its own.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { loadModel } from "../models/registry.ts";
import { comparisonTable, type Figures, sum, summarise, voicesTable } from "./eval-figures.ts";
import { evalGreedy, GREEDY_USAGE } from "./eval-greedy.ts";
import { evaluateVoice, heldOutSentences } from "./eval-speak.ts";
import { evalVoice, VOICE_USAGE } from "./eval-voice.ts";
import { usage } from "./native-tool.ts";
import { recogniserMissing } from "./recognise.ts";
import { ENGINE_OPTIONS, integer, loadSpeaker, STARTER } from "./speaker.ts";

const WER_USAGE = `
npm run eval -- wer [--voices clara,ryan] [--sentences N] [--takes N] [--seed N] [--json]
                    [--precision int8]... [--model FOLDER] [--device auto|cpu|cuda] [--threads N]

  --voices LIST       presets, separated by commas; without it all
  --sentences N       the first N of the held-out sentences; without it all 40
  --takes N           speak each sentence N times, each time with another seed (1)
  --precision NAME    int8, fp32 or bf16; repeat it to compare (int8)
  --seed N            of the first sentence; the others count on from it (1)`;

const USAGE = `${WER_USAGE}\n${VOICE_USAGE}\n${GREEDY_USAGE}`;

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...ENGINE_OPTIONS,
      precision: { type: "string", multiple: true },
      voices: { type: "string" },
      sentences: { type: "string", default: "40" },
      takes: { type: "string", default: "1" },
      seed: { type: "string", default: "1" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help || positionals.length !== 1 || positionals[0] !== "wer") usage(USAGE);
  return {
    ...values,
    precision: values.precision ?? ["int8"],
    voices: values.voices?.split(","),
    sentences: integer("sentences", values.sentences, 1, 40),
    takes: integer("takes", values.takes, 1, 100),
    seed: integer("seed", values.seed, 0, 2 ** 40),
  };
}

type Options = ReturnType<typeof readOptions>;

/** Figures of every voice with one precision. */
async function evaluate(options: Options, precision: string): Promise<Map<string, Figures>> {
  const heldOut = await heldOutSentences(join(STARTER, "heldout.json"));
  const sentences = heldOut.slice(0, options.sentences).map(({ text }) => text);
  const takes = Array.from({ length: options.takes }, () => sentences).flat();
  const { engine, model } = await loadSpeaker({ ...options, precision });
  try {
    const voices = new Map<string, Figures>();
    for (const voice of options.voices ?? model.presets.keys()) {
      process.stderr.write(`${precision}: ${voice} …\n`);
      voices.set(voice, sum(await evaluateVoice(engine, model, voice, takes, options.seed)));
    }
    return voices;
  } finally {
    await engine.close();
  }
}

function print(options: Options, results: ReadonlyMap<string, ReadonlyMap<string, Figures>>): void {
  const { sentences, takes, seed, model } = options;
  if (options.json) {
    const precisions = Object.fromEntries(
      [...results].map(([precision, voices]) => [
        precision,
        Object.fromEntries(
          [...voices, ["all", sum([...voices.values()])] as const].map(([voice, figures]) => [
            voice,
            { ...summarise(figures), words: figures.words, errors: figures.errors },
          ]),
        ),
      ]),
    );
    process.stdout.write(`${JSON.stringify({ model, sentences, takes, seed, precisions })}\n`);
    return;
  }
  for (const [precision, voices] of results) {
    process.stdout.write(`\n${precision}\n\n${voicesTable(voices)}\n`);
  }
  if (results.size > 1) process.stdout.write(`\n${comparisonTable(results)}\n`);
}

async function run(options: Options): Promise<void> {
  const missing = recogniserMissing();
  if (missing !== undefined) throw new Error(missing);
  const { presets } = await loadModel(resolve(options.model));
  const unknown = options.voices?.find((voice) => !presets.has(voice));
  if (unknown !== undefined) {
    usage(`--voices takes names out of ${[...presets.keys()].join(", ")}, not '${unknown}'`);
  }
  const results = new Map<string, ReadonlyMap<string, Figures>>();
  for (const precision of options.precision) {
    results.set(precision, await evaluate(options, precision));
  }
  print(options, results);
}

try {
  const [kind, ...rest] = process.argv.slice(2);
  if (kind === "greedy") await evalGreedy(rest);
  else if (kind === "voice") await evalVoice(rest);
  else await run(readOptions());
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  if (code?.startsWith("ERR_PARSE_ARGS")) usage(`${message}\n${USAGE}`);
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
