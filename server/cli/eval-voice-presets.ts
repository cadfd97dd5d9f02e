/** Speaks the held-out sentences with one preset, and counts all that is measured of it. */
import { type Engine, resample } from "../engine/engine.ts";
import type { Model } from "../models/types.ts";
import { type Figures, figuresOf, sum } from "./eval-figures.ts";
import { forRecogniser, recordAll, type SentenceSet, spokenForm, toMono } from "./eval-speak.ts";
import { LINES_HZ, type Lines, measureLines, sumLines } from "./eval-voice-lines.ts";
import { measureSound, type Sound, sumSounds } from "./eval-voice-sound.ts";
import { type CodecCopies, codecCopies, readMono, teacherFiles } from "./eval-voice-teachers.ts";
import { understand } from "./eval-voice-understand.ts";
import { split, wordErrors } from "./recognise.ts";

/** A held-out sentence and its place in the file. */
export interface Sentence {
  readonly text: string;
  readonly index: number;
  readonly set: SentenceSet;
}

/** Word errors of a teacher's recordings. */
export interface Errors {
  readonly words: number;
  readonly errors: number;
}

/** What was measured of one preset. */
export interface PresetFigures {
  readonly sets: Readonly<Record<SentenceSet, Figures>>;
  readonly sound: Sound;
  /** Absent for a voice that has no teacher. */
  readonly teacher?: {
    readonly sets: Readonly<Record<SentenceSet, Errors>>;
    readonly lines: Lines;
    /** What the codec makes of the teacher's recordings. */
    readonly codec: CodecCopies;
  };
  /** Lines of the model that is compared with; absent where it lacks the voice. */
  readonly against?: Lines;
}

/** Everything that speaks or is compared with. */
export interface Setting {
  readonly engine: Engine;
  readonly model: Model;
  readonly sentences: readonly Sentence[];
  readonly takes: number;
  readonly seed: number;
  readonly teachers?: string | undefined;
  readonly against?: { readonly engine: Engine; readonly model: Model } | undefined;
}

/** Recordings of a teacher that go through the codec. */
const CODEC_RECORDINGS = 10;

function bySet<T>(of: (set: SentenceSet) => T): Record<SentenceSet, T> {
  return { interface: of("interface"), dictionary: of("dictionary") };
}

/** Each take of each sentence has a seed of its own, the same for every voice, however many sentences are spoken. */
function requestsOf(sentences: readonly Sentence[], seed: number, take: number) {
  return sentences.map(({ text, index }) => ({ text, seed: seed + 1000 * take + index }));
}

/**
 * Figures of one preset.
 * @throws EngineError, ModelError, AudioError, and Error when the recogniser fails or a teacher's file is missing
 */
export async function evaluatePreset(setting: Setting, voice: string): Promise<PresetFigures> {
  const { engine, model, sentences, takes, seed } = setting;
  const figures = bySet((): Figures[] => []);
  const sounds: Sound[] = [];
  for (let take = 0; take < takes; take++) {
    const recordings = await recordAll(engine, model, voice, requestsOf(sentences, seed, take));
    const heard = await understand(
      await Promise.all(recordings.map(({ pcm }) => forRecogniser(pcm, model.audio))),
    );
    for (const [i, recording] of recordings.entries()) {
      const set = sentences[i]?.set ?? "interface";
      figures[set].push(figuresOf(recording, heard[i] ?? []));
      const mono = toMono(recording.pcm, model.audio.channels);
      const { sampleRate } = model.audio;
      sounds.push(measureSound(recording, mono, sampleRate, await linesOf(mono, sampleRate)));
    }
  }
  const teacher = await teacherFigures(setting, voice);
  const against = await otherLines(setting, voice);
  return {
    sets: bySet((set) => sum(figures[set])),
    sound: sumSounds(sounds),
    ...(teacher === undefined ? {} : { teacher }),
    ...(against === undefined ? {} : { against }),
  };
}

async function teacherFigures(
  { engine, model, sentences, teachers }: Setting,
  voice: string,
): Promise<PresetFigures["teacher"]> {
  if (teachers === undefined) return undefined;
  const places = sentences.map(({ index }) => index);
  const { sampleRate } = model.audio;
  const files = await teacherFiles(teachers, voice, places);
  if (files === undefined) return undefined;
  const recordings = await readMono(files, sampleRate);
  const audible = recordings.map((mono) => forRecogniser(mono, { channels: 1, sampleRate }));
  const heard = await understand(await Promise.all(audible));
  const errors = sentences.map(({ text }, i) => {
    const words = split(spokenForm(text));
    return { words: words.length, errors: wordErrors(words, heard[i] ?? []) };
  });
  const total = (set: SentenceSet, of: (one: Errors) => number) =>
    errors.reduce((n, one, i) => (sentences[i]?.set === set ? n + of(one) : n), 0);
  return {
    sets: bySet((set) => ({
      words: total(set, ({ words }) => words),
      errors: total(set, ({ errors }) => errors),
    })),
    lines: sumLines(await Promise.all(recordings.map((mono) => linesOf(mono, sampleRate)))),
    codec: await codecCopies(engine, recordings.slice(0, CODEC_RECORDINGS)),
  };
}

async function otherLines(
  { against, sentences, seed }: Setting,
  voice: string,
): Promise<Lines | undefined> {
  if (!against?.model.presets.has(voice)) return undefined;
  const { engine, model } = against;
  const recordings = await recordAll(engine, model, voice, requestsOf(sentences, seed, 0));
  const { channels, sampleRate } = model.audio;
  const lines = recordings.map(({ pcm }) => linesOf(toMono(pcm, channels), sampleRate));
  return sumLines(await Promise.all(lines));
}

async function linesOf(mono: Float32Array, sampleRate: number): Promise<Lines> {
  return measureLines(await resample(mono, sampleRate, LINES_HZ));
}
