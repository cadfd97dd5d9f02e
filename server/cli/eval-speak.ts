/** Speaks the test sentences of `npm run eval`, as many side by side as the engine takes, and has them recognised. */
import { readFile } from "node:fs/promises";
import { type Engine, resample } from "../engine/engine.ts";
import type { Model } from "../models/types.ts";
import { synthesise } from "../speech/synthesise.ts";
import { normalise } from "../text/normalise.ts";
import { type Figures, figuresOf, type Recording } from "./eval-figures.ts";
import { RECOGNISER_HZ, recognise } from "./recognise.ts";

/** The recogniser knows English only. */
const LANGUAGE = "en";
const SIDE_BY_SIDE = 16;

/** Sentences that never occurred in the training of the starter, of the kind that an interface speaks. */
export async function heldOutSentences(file: string): Promise<string[]> {
  const entries = JSON.parse(await readFile(file, "utf8")) as { text: string; set: string }[];
  return entries.filter(({ set }) => set === "interface").map(({ text }) => text);
}

/** Speaks one text to its end. */
export async function record(
  engine: Engine,
  model: Model,
  request: { text: string; voice: string; seed: number },
): Promise<Recording> {
  const speech = synthesise(engine, model, { ...request, language: LANGUAGE });
  const chunks: Float32Array[] = [];
  for await (const { pcm } of speech) chunks.push(pcm);
  const pcm = new Float32Array(chunks.reduce((n, chunk) => n + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    pcm.set(chunk, at);
    at += chunk.length;
  }
  return {
    spoken: normalise(request.text, { language: LANGUAGE }).spoken,
    pcm,
    seconds: pcm.length / model.audio.channels / model.audio.sampleRate,
    stopped: speech.segments.every(({ reason }) => reason === "stop"),
  };
}

/** What the recogniser gets: the mean of the channels at its own rate. */
export function forRecogniser(
  pcm: Float32Array,
  { channels, sampleRate }: Model["audio"],
): Promise<Float32Array> {
  const mono = new Float32Array(pcm.length / channels);
  for (let i = 0; i < mono.length; i++) {
    let total = 0;
    for (let c = 0; c < channels; c++) total += pcm[i * channels + c] ?? 0;
    mono[i] = total / channels;
  }
  return resample(mono, sampleRate, RECOGNISER_HZ);
}

/**
 * Figures of each sentence, in order. Sentence i is spoken with seed `seed` + i, so the result is the same for the same
 * arguments.
 * @throws EngineError, ModelError, and Error when the recogniser fails
 */
export async function evaluateVoice(
  engine: Engine,
  model: Model,
  voice: string,
  sentences: readonly string[],
  seed: number,
): Promise<Figures[]> {
  const recordings: Recording[] = [];
  const left = sentences.entries();
  const worker = async () => {
    for (const [i, text] of left) {
      recordings[i] = await record(engine, model, { text, voice, seed: seed + i });
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  const audible = recordings.map(({ pcm }) => forRecogniser(pcm, model.audio));
  const heard = await recognise(await Promise.all(audible));
  return recordings.map((recording, i) => figuresOf(recording, heard[i] ?? []));
}
