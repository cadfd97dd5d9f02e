/**
 * `npm run eval -- greedy [--device cuda] [--precision bf16] [--sentences N] [--frames N] [--json FILE]`: how often an engine
 * makes the frame that the CPU makes in fp32. Each frame is asked for after the CPU's frames before it, so that one
 * difference does not make all that follows another utterance. With `--prompts FILE` it only writes the rows that the
 * engines would get, for `sonant_parity --greedy`, which sees scores and needs no Node.
 */
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Engine } from "../engine/engine.ts";
import type { EngineInfo, GenerateOptions, LoadOptions } from "../engine/types.ts";
import { loadModel } from "../models/registry.ts";
import type { Model, SegmentPlan } from "../models/types.ts";
import { normalise } from "../text/normalise.ts";
import { type Agreement, compareFrames, equalShare, sumAgreements } from "./eval-agreement.ts";
import { table } from "./eval-figures.ts";
import { heldOutSentences } from "./eval-speak.ts";
import { usage } from "./native-tool.ts";
import { choice, ENGINE_OPTIONS, integer, STARTER } from "./speaker.ts";

export const GREEDY_USAGE = `
npm run eval -- greedy [--device cuda|cpu] [--precision NAME] [--sentences N] [--frames N] [--json FILE]
                       [--model FOLDER] [--threads N]
npm run eval -- greedy --prompts FILE [--sentences N] [--model FOLDER]

  --device NAME       whose frames are compared with the CPU's in fp32 (cuda)
  --precision NAME    int8, fp32 or bf16; without it the device's own
  --sentences N       the first N of the held-out sentences, each with the next voice (8)
  --frames N          at most so many frames of each (60)
  --json FILE         all figures as JSON as well
  --prompts FILE      compare nothing: write the sentences as prompt rows, for sonant_parity --greedy`;

function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      ...ENGINE_OPTIONS,
      device: { type: "string", default: "cuda" },
      sentences: { type: "string", default: "8" },
      frames: { type: "string", default: "60" },
      json: { type: "string" },
      prompts: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) usage(GREEDY_USAGE);
  return {
    model: values.model,
    device: choice("device", values.device, ["cuda", "cpu"]),
    precision:
      values.precision === undefined
        ? undefined
        : choice("precision", values.precision, ["int8", "fp32", "bf16"]),
    threads: integer("threads", values.threads, 0, 256),
    sentences: integer("sentences", values.sentences, 1, 40),
    frames: integer("frames", values.frames, 1, 1000),
    json: values.json,
    prompts: values.prompts,
  };
}

/** The most likely codes, and nothing but codes. */
async function greedyFrames(
  engine: Engine,
  prompt: Pick<GenerateOptions, "prefixKey" | "prefixRows" | "textRows">,
  maxFrames: number,
): Promise<Int32Array[]> {
  const { prefixKey, prefixRows, textRows } = prompt;
  const stream = engine.generate({
    ...(prefixKey === undefined ? {} : { prefixKey }),
    ...(prefixRows === undefined ? {} : { prefixRows }),
    textRows,
    maxFrames,
    sampling: { doSample: false, repetitionPenalty: 1 },
    wantAudio: false,
    wantCodes: true,
  });
  const books = engine.info.lm?.nVq ?? 0;
  const frames: Int32Array[] = [];
  for await (const { codes } of stream) {
    for (let at = 0; at < (codes?.length ?? 0); at += books) {
      frames.push(Int32Array.from(codes?.subarray(at, at + books) ?? []));
    }
  }
  return frames;
}

/** The text rows with frames behind them, in the rows that the engine itself appends for frames it has made. */
function continued(plan: SegmentPlan, slotId: number, frames: readonly Int32Array[]): Int32Array {
  const rows = new Int32Array(plan.textRows.length + frames.length * plan.rowWidth);
  rows.set(plan.textRows);
  for (const [i, codes] of frames.entries()) {
    rows.set([slotId, ...codes], plan.textRows.length + i * plan.rowWidth);
  }
  return rows;
}

async function compare(
  reference: Engine,
  engine: Engine,
  plan: SegmentPlan,
  maxFrames: number,
): Promise<Agreement> {
  const { prefixKey, prefixRows } = plan;
  const slotId = engine.info.lm?.assistantSlotId ?? 0;
  const wanted = await greedyFrames(reference, plan, maxFrames);
  const got: (Int32Array | undefined)[] = [];
  for (let i = 0; i < wanted.length; i++) {
    const textRows = continued(plan, slotId, wanted.slice(0, i));
    const [frame] = await greedyFrames(engine, { prefixKey, prefixRows, textRows }, 1);
    got.push(frame);
  }
  return compareFrames(wanted, got);
}

interface Sentence {
  readonly text: string;
  readonly voice: string;
  readonly agreement: Agreement;
}

interface Planned {
  readonly text: string;
  readonly voice: string;
  readonly plan: SegmentPlan;
}

/** The first held-out sentences, each with the next voice. */
async function planSentences(
  model: Model,
  options: ReturnType<typeof readOptions>,
): Promise<Planned[]> {
  const heldOut = await heldOutSentences(join(STARTER, "heldout.json"));
  const voices = [...model.presets.keys()];
  return heldOut.slice(0, options.sentences).map(({ text }, i) => {
    const voice = voices[i % voices.length];
    if (voice === undefined) throw new Error(`${options.model} has no preset voices.`);
    const { spoken } = normalise(text, { language: "en" });
    const plan = model.planSegment({ text: spoken, voice, maxFrames: options.frames });
    return { text, voice, plan };
  });
}

/** Writes the rows of whole prompts, one prompt a line. */
async function writePrompts(file: string, planned: readonly Planned[]): Promise<void> {
  const rowWidth = planned[0]?.plan.rowWidth;
  const prompts = planned.map(({ plan }) => `[${[...plan.prefixRows, ...plan.textRows].join()}]`);
  await writeFile(file, `{"rowWidth":${rowWidth},"prompts":[\n${prompts.join(",\n")}\n]}\n`);
}

async function compareSentences(
  reference: Engine,
  engine: Engine,
  planned: readonly Planned[],
): Promise<Sentence[]> {
  const sentences: Sentence[] = [];
  for (const { text, voice, plan } of planned) {
    const agreement = await compare(reference, engine, plan, plan.maxFrames);
    process.stderr.write(`${voice}: ${agreement.equal} of ${agreement.frames} frames equal\n`);
    sentences.push({ text, voice, agreement });
  }
  return sentences;
}

const describe = ({ device, precision, description }: EngineInfo) => ({
  device,
  precision,
  description,
});

const nameOf = ({ device, description }: EngineInfo) => `${device} (${description})`;

function print(info: EngineInfo, reference: EngineInfo, all: Agreement): void {
  const { frames, equal, stopped, firstDifferences } = all;
  const rows = firstDifferences.map((count, book) => [`${book}`, `${count}`]);
  process.stdout.write(
    `${nameOf(info)} beside ${nameOf(reference)}, greedy:\n` +
      `${equal} of ${frames} frames equal, ${equalShare(all).toFixed(2)} %; ` +
      `would have stopped at ${stopped}\n\n` +
      `${table(["codebook", "differs first"], rows)}\n`,
  );
}

/**
 * Runs the command.
 * @throws EngineError, ModelError, and Error of `parseArgs`
 */
export async function evalGreedy(args: string[]): Promise<void> {
  const options = readOptions(args);
  const folder = resolve(options.model);
  const planned = await planSentences(await loadModel(folder), options);
  if (options.prompts !== undefined) return writePrompts(options.prompts, planned);
  const load = (of: Pick<LoadOptions, "device" | "precision">) =>
    Engine.load({ lmFolder: join(folder, "lm"), threads: options.threads, ...of });
  const { device, precision } = options;
  await using reference = await load({ device: "cpu", precision: "fp32" });
  await using engine = await load({ device, ...(precision === undefined ? {} : { precision }) });
  const sentences = await compareSentences(reference, engine, planned);
  const all = sumAgreements(sentences.map(({ agreement }) => agreement));
  print(engine.info, reference.info, all);
  if (options.json === undefined) return;
  const report = {
    date: new Date().toISOString(),
    command: ["npm run eval -- greedy", ...args].join(" "),
    reference: describe(reference.info),
    engine: describe(engine.info),
    share: equalShare(all) / 100,
    ...all,
    sentences: sentences.map(({ text, voice, agreement }) => ({ text, voice, ...agreement })),
  };
  await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
}
