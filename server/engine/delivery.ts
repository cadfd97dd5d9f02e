/**
 * The receiving end of one generation: what has come from the engine and has not been read. The engine's callback holds
 * this object, and it holds the readers who wait; it must never hold the stream that the caller has, or a
 * stream that nobody wants any more could not be noticed.
 */
import { EngineError } from "./errors.ts";
import type { NativeEvent } from "./native.ts";
import type { AudioChunk, Finished, GenerateStats } from "./types.ts";

export const NO_STATS: GenerateStats = {
  queueMs: 0,
  prefillMs: 0,
  firstAudioMs: 0,
  firstCodecMs: 0,
  frameMs: 0,
  codecMs: 0,
  totalMs: 0,
  pausedMs: 0,
  starvedMs: 0,
  cancelMs: 0,
  promptRows: 0,
  cachedRows: 0,
  frames: 0,
  lateFrames: 0,
};

const NO_SAMPLES = new Float32Array(0);

/** Frames that a reader may be behind before the engine pauses, where a request does not say. */
const DEFAULT_BUFFER_FRAMES = 125;
/** Share of these below which a reader has caught up. */
const CAUGHT_UP = 0.5;

/** What a delivery reports of its reader. */
export interface ReaderWatch {
  /** Frames of a chunk that has been taken. */
  taken(frames: number): void;
  /** The reader is so far behind that the engine pauses, or has caught up with half of that. */
  lagging(isLagging: boolean): void;
}

interface Reader {
  resolve(result: IteratorResult<AudioChunk, undefined>): void;
  reject(error: EngineError): void;
}

const END = { done: true, value: undefined } as const;

export class Delivery {
  /** Settles when the engine has let go of the generation. Never rejects. */
  readonly finished: Promise<Finished>;
  readonly #format: { readonly sampleRate: number; readonly channels: number };
  readonly #watch: ReaderWatch;
  readonly #bufferFrames: number;
  readonly #chunks: AudioChunk[] = [];
  readonly #readers: Reader[] = [];
  #finish!: (finished: Finished) => void;
  #unread = 0;
  #isLagging = false;
  #unwanted = false;
  #ended = false;
  #failure: EngineError | undefined;

  constructor(
    format: { readonly sampleRate: number; readonly channels: number },
    watch: ReaderWatch,
    bufferFrames = DEFAULT_BUFFER_FRAMES,
  ) {
    this.#format = format;
    this.#watch = watch;
    this.#bufferFrames = bufferFrames;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Whether the engine has let go of the generation. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Takes one event of the engine. */
  receive(event: NativeEvent): void {
    if (event.kind === "chunk") {
      if (this.#unwanted) return;
      const { pcm = NO_SAMPLES, pcm16, frames, firstFrame, codes } = event;
      const chunk = { pcm, frames, firstFrame, ...this.#format };
      this.#chunks.push({ ...chunk, ...(pcm16 && { pcm16 }), ...(codes && { codes }) });
      this.#count(frames);
    } else if (event.kind === "done") {
      this.#ended = true;
      if (event.reason === "error") {
        this.#failure = EngineError.reported(event.errorCode, event.errorMessage);
      } else if (event.reason === "cancelled" && !this.#unwanted) {
        this.#failure = new EngineError("closed", "The engine was closed while it was speaking.");
      }
      this.#finish({ reason: event.reason, stats: event.stats });
    }
    this.#serve();
  }

  /** Drops what is unread and lets readers go; whatever still comes is dropped too. */
  discard(): void {
    this.#unwanted = true;
    this.#chunks.length = 0;
    this.#serve();
  }

  /** The next chunk, as soon as there is one. */
  next(): Promise<IteratorResult<AudioChunk, undefined>> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#serve();
    });
  }

  #count(frames: number): void {
    this.#unread += frames;
    const isLagging = this.#unread >= this.#bufferFrames * (this.#isLagging ? CAUGHT_UP : 1);
    if (isLagging === this.#isLagging || this.#ended) return;
    this.#isLagging = isLagging;
    this.#watch.lagging(isLagging);
  }

  #serve(): void {
    while (this.#readers.length > 0) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined && !this.#unwanted && !this.#ended) return;
      const reader = this.#readers.shift();
      if (chunk !== undefined) {
        this.#watch.taken(chunk.frames);
        this.#count(-chunk.frames);
        reader?.resolve({ done: false, value: chunk });
      } else if (this.#failure !== undefined && !this.#unwanted) {
        reader?.reject(this.#failure);
        this.#failure = undefined; // told once; a reader who asks again hears the end
      } else {
        reader?.resolve(END);
      }
    }
  }
}
