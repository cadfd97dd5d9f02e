/** Recordings of the held-out sentences by the synthesizers that taught the voices: what the model is measured against. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeAudio } from "../audio/decode.ts";
import { type Engine, resample } from "../engine/engine.ts";
import { forRecogniser, toMono } from "./eval-speak.ts";
import { type PitchKept, pitchKept, sumPitchKept } from "./eval-voice-likeness.ts";
import { melDistance } from "./eval-voice-mel.ts";

/**
 * Files of a teacher's recordings of sentences: `NAME_NNN.wav`, NNN the place of the sentence in the list of held-out ones.
 * Undefined for a voice of which the folder has no file at all.
 * @throws Error naming the first file that is missing
 */
export async function teacherFiles(
  folder: string,
  voice: string,
  places: readonly number[],
): Promise<string[] | undefined> {
  const found = new Set(await readdir(folder));
  if (![...found].some((file) => file.startsWith(`${voice}_`))) return undefined;
  const files = places.map((place) => `${voice}_${`${place}`.padStart(3, "0")}.wav`);
  const missing = files.find((file) => !found.has(file));
  if (missing !== undefined) {
    throw new Error(`${folder} has recordings of ${voice}, but not ${missing}.`);
  }
  return files.map((file) => join(folder, file));
}

/**
 * Recordings of any format that the server takes, one channel each at `hertz`.
 * @throws AudioError, EngineError
 */
export async function readMono(files: readonly string[], hertz: number): Promise<Float32Array[]> {
  const recordings: Float32Array[] = [];
  for (const file of files) {
    const { pcm, channels, sampleRate } = await decodeAudio(await readFile(file));
    recordings.push(await resample(toMono(pcm, channels), sampleRate, hertz));
  }
  return recordings;
}

/** What the codec alone makes of recordings. */
export interface CodecCopies {
  /** Mean mel distance of the copies. */
  readonly melDistance: number;
  readonly pitch: PitchKept;
}

/**
 * Measures the codec's copies of recordings [n], each of one channel at the codec's rate.
 * @throws EngineError
 */
export async function codecCopies(
  engine: Engine,
  recordings: readonly Float32Array[],
): Promise<CodecCopies> {
  const { sampleRate = 0, nCodebooks = 0 } = engine.info.codec ?? {};
  const pitches: PitchKept[] = [];
  let total = 0;
  for (const wanted of recordings) {
    const codes = await engine.encode(wanted, 1, sampleRate);
    const { pcm, channels } = await engine.decode(codes, nCodebooks);
    const copy = toMono(pcm, channels);
    total += melDistance(copy, wanted);
    const mono = { channels: 1, sampleRate };
    pitches.push(pitchKept(await forRecogniser(copy, mono), await forRecogniser(wanted, mono)));
  }
  return { melDistance: total / recordings.length, pitch: sumPitchKept(pitches) };
}
