/** What the commands that speak have in common: options, a loaded engine, a voice from a name or a recording. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { decodeAudio } from "../audio/decode.ts";
import { prepareReference, RECOMMENDED_WINDOW, type Reference } from "../audio/reference.ts";
import { Engine } from "../engine/engine.ts";
import { loadModel } from "../models/registry.ts";
import type { Model, VoicePrompt } from "../models/types.ts";
import { ROOT, usage } from "./native-tool.ts";

export const STARTER = join(ROOT, "native/models/starter");

/** `parseArgs` options of every command that loads a model. */
export const ENGINE_OPTIONS = {
  model: { type: "string", default: STARTER },
  device: { type: "string", default: "auto" },
  precision: { type: "string" },
  threads: { type: "string", default: "0" },
} as const;

export interface EngineValues {
  readonly model: string;
  readonly device: string;
  /** Absent: what suits the device. */
  readonly precision?: string | undefined;
  readonly threads: string;
}

/** A whole number within bounds, or the end of the command with a sentence. */
export function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || value < min || value > max) {
    usage(`--${name} must be a whole number from ${min} to ${max}, not '${text}'`);
  }
  return value;
}

/** A number within bounds, or the end of the command with a sentence. */
export function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= min && value <= max)) {
    usage(`--${name} must be a number from ${min} to ${max}, not '${text}'`);
  }
  return value;
}

/** One of a few words, or the end of the command with a sentence. */
export function choice<T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((word) => word === text);
  return found ?? usage(`--${name} must be ${allowed.join(", ")}, not '${text}'`);
}

/** Loads engine and model. Paths are relative to the caller's folder. */
export async function loadSpeaker(values: EngineValues): Promise<{ engine: Engine; model: Model }> {
  const folder = resolve(values.model);
  const model = await loadModel(folder);
  const engine = await Engine.load({
    lmFolder: join(folder, "lm"),
    codecFolder: join(folder, "codec"),
    device: choice("device", values.device, ["auto", "cpu", "cuda"]),
    ...(values.precision === undefined
      ? {}
      : { precision: choice("precision", values.precision, ["int8", "fp32", "bf16"]) }),
    threads: integer("threads", values.threads, 0, 256),
  });
  return { engine, model };
}

/**
 * The best few seconds of a recording of any format that the server takes: one channel, silence cut off, levelled.
 * @throws AudioError
 */
export async function readReference(file: string): Promise<Reference> {
  return prepareReference(await decodeAudio(await readFile(resolve(file))), {
    channels: "mono",
    level: true,
    window: RECOMMENDED_WINDOW,
  });
}

export type ClonePrompt = Extract<VoicePrompt, { kind: "clone" }>;

/**
 * A voice out of a prepared recording.
 * @throws EngineError
 */
export async function promptOf(
  engine: Engine,
  model: Model,
  reference: Reference,
): Promise<ClonePrompt> {
  const codes = await engine.encode(reference.pcm, reference.channels, reference.sampleRate);
  const books = engine.info.codec?.nCodebooks ?? 0;
  const frames = Math.min(codes.length / books, model.limits.maxReferenceFrames);
  return {
    kind: "clone",
    codes: { frames, books, data: Uint16Array.from(codes.subarray(0, frames * books)) },
  };
}

/**
 * A voice out of a recording of any format that the server takes: the best few seconds, silence cut off, levelled.
 * @throws AudioError, EngineError
 */
export async function cloneVoice(engine: Engine, model: Model, file: string): Promise<VoicePrompt> {
  return promptOf(engine, model, await readReference(file));
}
