/** Speaks the test sentences of `npm run eval`, as many side by side as the engine takes, and has them recognised. */
import { readFile } from "node:fs/promises";
import { concatSamples } from "../audio/pcm.ts";
import { type Engine, resample } from "../engine/engine.ts";
import type { Model, VoicePrompt } from "../models/types.ts";
import { synthesise } from "../speech/synthesise.ts";
import { normalise } from "../text/normalise.ts";
import { type Figures, figuresOf, type Recording } from "./eval-figures.ts";
import { RECOGNISER_HZ, recognise } from "./recognise.ts";

/** The recogniser knows English only. */
const LANGUAGE = "en";
const SIDE_BY_SIDE = 16;

/** Kinds of held-out sentences: everyday language of interfaces, and dictionary examples with rare words. */
export type SentenceSet = "interface" | "dictionary";

/** Sentences that never occurred in the training of the starter, each with its place in the file. */
export async function heldOutSentences(
  file: string,
  set: SentenceSet = "interface",
): Promise<{ text: string; index: number }[]> {
  const entries = JSON.parse(await readFile(file, "utf8")) as { text: string; set: string }[];
  return entries
    .map((entry, index) => ({ ...entry, index }))
    .filter((entry) => entry.set === set)
    .map(({ text, index }) => ({ text, index }));
}

/** What is said where a text is written. */
export function spokenForm(text: string): string {
  return normalise(text, { language: LANGUAGE }).spoken;
}

/** Speaks one text to its end. */
export async function record(
  engine: Engine,
  model: Model,
  request: { text: string; voice: string | VoicePrompt; seed: number },
): Promise<Recording> {
  const speech = synthesise(engine, model, { ...request, language: LANGUAGE });
  const chunks: Float32Array[] = [];
  for await (const { pcm } of speech) chunks.push(pcm);
  const pcm = concatSamples(chunks);
  return {
    spoken: spokenForm(request.text),
    pcm,
    seconds: pcm.length / model.audio.channels / model.audio.sampleRate,
    stopped: speech.segments.every(({ reason }) => reason === "stop"),
  };
}

/** The mean of the channels. */
export function toMono(pcm: Float32Array, channels: number): Float32Array {
  const mono = new Float32Array(pcm.length / channels);
  for (let i = 0; i < mono.length; i++) {
    let total = 0;
    for (let c = 0; c < channels; c++) total += pcm[i * channels + c] ?? 0;
    mono[i] = total / channels;
  }
  return mono;
}

/** What the recogniser gets: the mean of the channels at its own rate. */
export function forRecogniser(
  pcm: Float32Array,
  { channels, sampleRate }: Pick<Model["audio"], "channels" | "sampleRate">,
): Promise<Float32Array> {
  return resample(toMono(pcm, channels), sampleRate, RECOGNISER_HZ);
}

/**
 * Speaks texts to their ends, in order; the result is the same for the same arguments.
 * @throws EngineError, ModelError
 */
export async function recordAll(
  engine: Engine,
  model: Model,
  voice: string | VoicePrompt,
  requests: readonly { text: string; seed: number }[],
): Promise<Recording[]> {
  const recordings: Recording[] = [];
  const left = requests.entries();
  const worker = async () => {
    for (const [i, request] of left) {
      recordings[i] = await record(engine, model, { ...request, voice });
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return recordings;
}

/**
 * Figures of each sentence, in order; sentence i is spoken with seed `seed` + i.
 * @throws EngineError, ModelError, and Error when the recogniser fails
 */
export async function evaluateVoice(
  engine: Engine,
  model: Model,
  voice: string,
  sentences: readonly string[],
  seed: number,
): Promise<Figures[]> {
  const requests = sentences.map((text, i) => ({ text, seed: seed + i }));
  const recordings = await recordAll(engine, model, voice, requests);
  const audible = recordings.map(({ pcm }) => forRecogniser(pcm, model.audio));
  const heard = await recognise(await Promise.all(audible));
  return recordings.map((recording, i) => figuresOf(recording, heard[i] ?? []));
}
