/** Clones of recordings in a folder: how near they come to them in pitch and timbre, and whether they are understood. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { concatSamples } from "../audio/pcm.ts";
import { type Engine, resample } from "../engine/engine.ts";
import type { Model } from "../models/types.ts";
import { type Figures, figuresOf, sum } from "./eval-figures.ts";
import { forRecogniser, recordAll } from "./eval-speak.ts";
import {
  type Likeness,
  likenessOf,
  middlePitch,
  placeOf,
  semitones,
} from "./eval-voice-likeness.ts";
import { understand } from "./eval-voice-understand.ts";
import { RECOGNISER_HZ } from "./recognise.ts";
import { type ClonePrompt, promptOf, readReference } from "./speaker.ts";

/** What was found out about one clone. */
export interface Clone {
  /** File name of the reference. */
  readonly name: string;
  /** Middle pitch in hertz; undefined if nothing is voiced. */
  readonly referenceHz: number | undefined;
  /** The same of what the codec makes of the reference: what the language model gets to hear. */
  readonly copyHz: number | undefined;
  readonly cloneHz: number | undefined;
  /** How much higher the clone speaks, in semitones. */
  readonly semitones: number | undefined;
  /** Place of its own reference among all, by likeness to the clone; 1 is the nearest. */
  readonly place: number;
  readonly figures: Figures;
}

const RECORDING = /\.(wav|flac|mp3|ogg|opus|m4a|webm)$/i;

/**
 * Recordings of a folder, sorted by name.
 * @throws Error when there are fewer than two: the nearest of one says nothing
 */
export async function referencesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => RECORDING.test(name)).sort();
  if (names.length < 2) {
    throw new Error(
      `--references needs a folder with two recordings at least; ${folder} has ${names.length}.`,
    );
  }
  return names;
}

/**
 * Has the clone of each recording speak the sentences. Sentence i is spoken with seed `seed` + i by each.
 * @throws AudioError, EngineError, ModelError, and Error when the recogniser fails
 */
export async function evaluateClones(
  engine: Engine,
  model: Model,
  folder: string,
  sentences: readonly string[],
  { seed, done }: { seed: number; done(name: string): void },
): Promise<Clone[]> {
  const requests = sentences.map((text, i) => ({ text, seed: seed + i }));
  const heard: (Pick<Clone, "name" | "copyHz" | "figures"> & {
    own: Likeness;
    clone: Likeness;
  })[] = [];
  for (const name of await referencesIn(folder)) {
    const reference = await readReference(join(folder, name));
    const voice = await promptOf(engine, model, reference);
    const recordings = await recordAll(engine, model, voice, requests);
    const audible = await Promise.all(recordings.map(({ pcm }) => forRecogniser(pcm, model.audio)));
    const words = await understand(audible);
    heard.push({
      name,
      own: likenessOf(await resample(reference.pcm, reference.sampleRate, RECOGNISER_HZ)),
      copyHz: middlePitch(await copyOf(engine, model, voice)),
      clone: likenessOf(concatSamples(audible)),
      figures: sum(recordings.map((recording, i) => figuresOf(recording, words[i] ?? []))),
    });
    done(name);
  }
  const speakers = heard.map(({ own }) => own);
  return heard.map(({ name, own, copyHz, clone, figures }, i) => ({
    name,
    referenceHz: own.pitchHz,
    copyHz,
    cloneHz: clone.pitchHz,
    semitones: semitones(clone.pitchHz, own.pitchHz),
    place: placeOf(i, clone, speakers),
    figures,
  }));
}

/** What the codec makes of a reference, at the recogniser's rate. */
async function copyOf(engine: Engine, model: Model, { codes }: ClonePrompt): Promise<Float32Array> {
  const { pcm } = await engine.decode(Int32Array.from(codes.data), codes.books);
  return forRecogniser(pcm, model.audio);
}
