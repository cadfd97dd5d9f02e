/**
 * A tiny model that speaks for as long as it is let: the repository's test weights with the decision to stop made
 * very unlikely. For tests that need many short or endless generations in little time.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineInfo, GenerateOptions, LoadOptions } from "./types.ts";

const FIXTURES = join(import.meta.dirname, "../../native/test/fixtures");
const SPEAK_ID = 9;
const STOP_ID = 7;

interface TensorHeader {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** The tensors of an F32 safetensors file as views that write through to `bytes`. */
function tensorsOf(bytes: Buffer): (name: string) => Float32Array {
  const headerEnd = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, headerEnd)) as Record<string, TensorHeader>;
  return (name) => {
    const tensor = header[name];
    if (tensor?.dtype !== "F32") throw new Error(`The test model has no F32 tensor ${name}`);
    const [begin, end] = tensor.data_offsets;
    const offset = bytes.byteOffset + headerEnd + begin;
    return new Float32Array(bytes.buffer, offset, (end - begin) / 4);
  };
}

/** Pushes the hidden state that decides towards "go on" by adding to the bias of the norm before it. */
function makeTalkative(file: string): Buffer {
  const source = readFileSync(file);
  const bytes = Buffer.from(new ArrayBuffer(source.length));
  source.copy(bytes);
  const tensor = tensorsOf(bytes);
  const embeddings = tensor("transformer.wte.weight");
  const bias = tensor("local_transformer.ln_f.bias");
  const row = (id: number) => embeddings.subarray(id * bias.length, (id + 1) * bias.length);
  const direction = row(SPEAK_ID).map((value, i) => value - (row(STOP_ID)[i] ?? 0));
  const square = direction.reduce((sum, value) => sum + value * value, 0);
  for (const [i, value] of direction.entries()) bias[i] = (bias[i] ?? 0) + (40 * value) / square;
  return bytes;
}

/** Writes the model to a temporary folder; `remove` deletes it. */
export function talkativeModel(): { readonly options: LoadOptions; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "sonant-talkative-"));
  const lmFolder = join(folder, "lm");
  mkdirSync(lmFolder);
  copyFileSync(join(FIXTURES, "lm-tiny/config.json"), join(lmFolder, "config.json"));
  writeFileSync(
    join(lmFolder, "model.safetensors"),
    makeTalkative(join(FIXTURES, "lm-tiny/model.safetensors")),
  );
  return {
    options: {
      lmFolder,
      codecFolder: join(FIXTURES, "codec-tiny"),
      device: "cpu",
      precision: "fp32",
      threads: 1,
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** `n` prompt rows of text that differ with `flavour`. */
export function textRows(info: EngineInfo, n: number, flavour = 0): Int32Array {
  if (info.lm === null) throw new Error("No language model is loaded");
  const { nVq, audioPadId, vocabSize } = info.lm;
  const rows = new Int32Array(n * (1 + nVq)).fill(audioPadId);
  for (let i = 0; i < n; i++) rows[i * (1 + nVq)] = (flavour * 31 + i * 7) % vocabSize;
  return rows;
}

/** A generation of exactly `frames` frames with a shared voice prefix. */
export function talk(info: EngineInfo, frames: number, flavour = 0): GenerateOptions {
  return {
    prefixKey: `voice-${flavour % 3}`,
    prefixRows: textRows(info, 30, flavour % 3),
    textRows: textRows(info, 4 + (flavour % 5), flavour),
    maxFrames: frames,
    sampling: { seed: flavour },
  };
}
