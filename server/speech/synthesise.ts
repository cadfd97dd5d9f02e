/**
 * Text to speech, the simple way: one text, one voice, audio in order. Drives segmenter, model and engine; owns the
 * streams it starts and cancels them however the listener leaves.
 */
import { randomInt } from "node:crypto";
import type { Engine } from "../engine/engine.ts";
import type { EngineStream } from "../engine/stream.ts";
import type {
  AudioChunk,
  ChunkPolicy,
  FinishReason,
  GenerateStats,
  SamplingOptions,
} from "../engine/types.ts";
import type { Model, Sampling, VoicePrompt } from "../models/types.ts";
import type { Granularity, Segment } from "../text/segment.ts";
import { Segmenter } from "../text/segmenter.ts";
import { SegmentFeed } from "./segment-feed.ts";

export interface SynthesisOptions {
  /** All of it, or pieces of any size as they come. */
  readonly text: string | AsyncIterable<string>;
  /** Name of a preset, or a prompt; the model's default voice if absent. */
  readonly voice?: string | VoicePrompt | undefined;
  /** 0 to 2^53 - 1; drawn at random if absent. The same seed, text and voice give the same audio. */
  readonly seed?: number | undefined;
  /** What differs from the model's own. */
  readonly sampling?: Partial<Sampling> & Pick<SamplingOptions, "doSample" | "nVq">;
  /** Language of the text; detected for each sentence if absent. */
  readonly language?: string | undefined;
  readonly granularity?: Granularity | undefined;
  /** A lower cap on each segment than the model's, in frames. */
  readonly maxFrames?: number | undefined;
  readonly bufferFrames?: number | undefined;
  readonly chunks?: ChunkPolicy | undefined;
  readonly wantCodes?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A piece of the speech. The silence between two segments is a chunk of 0 frames in front of the second. */
export interface SpokenChunk extends AudioChunk {
  readonly segment: number;
}

/** What became of a segment. */
export interface SegmentReport {
  readonly segment: Segment;
  /** "length": the audio was cut at the cap. */
  readonly reason: FinishReason;
  readonly stats: GenerateStats;
}

interface Part {
  readonly segment: Segment;
  readonly stream: EngineStream;
}

/** A promise that is settled from outside. */
function latch(): { readonly opened: Promise<undefined>; open(): void } {
  let open: () => void = () => {};
  const opened = new Promise<undefined>((resolve) => {
    open = () => resolve(undefined);
  });
  return { opened, open };
}

/** Speech in the making. Can be read once; nothing is computed before. */
export class Synthesis implements AsyncIterable<SpokenChunk> {
  /** The seed in use, given or drawn. */
  readonly seed: number;
  readonly #engine: Pick<Engine, "generate">;
  readonly #model: Model;
  readonly #options: SynthesisOptions;
  readonly #reports: SegmentReport[] = [];

  constructor(engine: Pick<Engine, "generate">, model: Model, options: SynthesisOptions) {
    this.#engine = engine;
    this.#model = model;
    this.#options = options;
    this.seed = options.seed ?? randomInt(2 ** 47);
  }

  /** The segments that have been generated so far, in order. */
  get segments(): readonly SegmentReport[] {
    return this.#reports;
  }

  /** Whether a segment was cut before it had been spoken to its end. */
  get isTruncated(): boolean {
    return this.#reports.some(({ reason }) => reason === "length");
  }

  /**
   * Ends early and quietly when aborted.
   * @throws EngineError, ModelError, and what the source of the text throws, after the audio before it
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<SpokenChunk, void> {
    const left = new AbortController();
    const outer = this.#options.signal;
    const signal = outer === undefined ? left.signal : AbortSignal.any([outer, left.signal]);
    if (signal.aborted) return;
    const aborted = latch();
    signal.addEventListener("abort", aborted.open, { once: true });
    const feed = new SegmentFeed(this.#options.text, this.#segmenter());
    try {
      let next = this.#start(feed, Promise.resolve(), Promise.resolve(), signal);
      for (let isFirst = true; ; isFirst = false) {
        const part = await Promise.race([next, aborted.opened]);
        if (part === undefined || signal.aborted) return;
        const { segment, stream } = part;
        const heard = latch();
        next = this.#start(feed, heard.opened, this.#report(part), signal);
        next.catch(() => {}); // thrown in its turn
        if (!isFirst && segment.pauseBeforeMs > 0) yield this.#silence(segment);
        for await (const chunk of stream) yield { ...chunk, segment: segment.index };
        heard.open();
      }
    } finally {
      left.abort();
      feed.close();
    }
  }

  /** Starts the next segment once the one before is generated: early enough to be ready, too late to slow it down. */
  async #start(
    feed: SegmentFeed,
    hungry: Promise<unknown>,
    previous: Promise<unknown>,
    signal: AbortSignal,
  ): Promise<Part | undefined> {
    await previous;
    for (;;) {
      const segment = await feed.next(hungry);
      if (segment === undefined || signal.aborted) return undefined;
      if (this.#model.countTokens(segment.spoken) === 0) continue;
      return { segment, stream: this.#generate(segment, signal) };
    }
  }

  #generate(segment: Segment, signal: AbortSignal): EngineStream {
    const { voice, maxFrames, bufferFrames, chunks, wantCodes } = this.#options;
    const plan = this.#model.planSegment({
      text: segment.spoken,
      ...(voice === undefined ? {} : { voice }),
      ...(maxFrames === undefined ? {} : { maxFrames }),
    });
    return this.#engine.generate(
      {
        prefixKey: plan.prefixKey,
        prefixRows: plan.prefixRows,
        textRows: plan.textRows,
        maxFrames: plan.maxFrames,
        sampling: this.#sampling(segment.index),
        ...(bufferFrames === undefined ? {} : { bufferFrames }),
        ...(chunks === undefined ? {} : { chunks }),
        ...(wantCodes === undefined ? {} : { wantCodes }),
      },
      { signal },
    );
  }

  #sampling(segment: number): SamplingOptions {
    const { audioRepetitionPenalty, ...rest } = {
      ...this.#model.sampling,
      ...this.#options.sampling,
    };
    return { ...rest, repetitionPenalty: audioRepetitionPenalty, seed: this.seed, segment };
  }

  async #report({ segment, stream }: Part): Promise<void> {
    const { reason, stats } = await stream.finished;
    this.#reports.push({ segment, reason, stats });
  }

  #segmenter(): Segmenter {
    const { granularity, language } = this.#options;
    return new Segmenter({
      limits: this.#model.limits,
      countTokens: (spoken) => this.#model.countTokens(spoken),
      ...(granularity === undefined ? {} : { granularity }),
      ...(language === undefined ? {} : { language }),
    });
  }

  #silence({ index, pauseBeforeMs }: Segment): SpokenChunk {
    const { sampleRate, channels } = this.#model.audio;
    const samples = Math.round((pauseBeforeMs / 1000) * sampleRate);
    const pcm = new Float32Array(samples * channels);
    return { pcm, frames: 0, firstFrame: 0, sampleRate, channels, segment: index };
  }
}

/**
 * Speaks a text. Nothing happens before the result is read; leaving the loop or aborting the signal cancels all of it.
 */
export function synthesise(
  engine: Pick<Engine, "generate">,
  model: Model,
  options: SynthesisOptions,
): Synthesis {
  return new Synthesis(engine, model, options);
}
