/**
 * The speech engine: native code behind promises and async iterables. Owns the addon's engine; nothing else in the server
 * touches the addon. Knows nothing of text, voices or requests from outside.
 */
import { asEngineError, EngineError } from "./errors.ts";
import {
  type Addon,
  type EventListener,
  loadAddon,
  type NativeEngine,
  type NativeEvent,
} from "./native.ts";
import { EngineStream } from "./stream.ts";
import type { AudioChunk, EngineInfo, EngineStats, GenerateOptions, LoadOptions } from "./types.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export class Engine {
  /** What was loaded: device, precision and sizes. */
  readonly info: EngineInfo;
  readonly #native: NativeEngine;
  #closing: Promise<void> | undefined;

  /** Engines come from `load`; the constructor is for tests that bring an engine of their own. */
  constructor(native: NativeEngine) {
    this.#native = native;
    this.info = native.info();
  }

  /**
   * Loads a model off the main thread; a full-size one takes seconds.
   * @throws EngineError `addon_missing`, `model_missing`, `model_invalid`, `unsupported` or `bad_request`
   */
  static async load(options: LoadOptions, addon: Addon = loadAddon()): Promise<Engine> {
    try {
      return new Engine(await addon.Engine.load(options));
    } catch (error) {
      throw EngineError.from(error);
    }
  }

  /**
   * Starts a generation. Audio is made as long as it is read: at most `bufferFrames` are ahead of the reader. Aborting
   * ends the stream; `finished` then says "cancelled".
   * @throws EngineError `bad_request`, `overloaded`, `unsupported` or `closed`
   */
  generate(options: GenerateOptions, { signal }: CallOptions = {}): EngineStream {
    return EngineStream.start(this.#native, options, signal);
  }

  /**
   * A recording as codes, [frames][codebooks]. Any sample rate, one channel or two (interleaved); an incomplete last
   * frame is dropped. Rejects with the signal's reason when aborted, else with an EngineError.
   */
  async encode(
    pcm: Float32Array,
    channels: number,
    sampleRate: number,
    { signal }: CallOptions = {},
  ): Promise<Int32Array> {
    const start = (listener: EventListener) =>
      this.#native.encode(pcm, channels, sampleRate, listener);
    const { codes } = await this.#job("encoded", start, signal);
    return codes;
  }

  /** Codes [frames][nBooks] as audio, the whole of it. Rejects like `encode`. */
  async decode(
    codes: Int32Array,
    nBooks: number,
    { signal }: CallOptions = {},
  ): Promise<AudioChunk> {
    const start = (listener: EventListener) => this.#native.decode(codes, nBooks, listener);
    const { pcm, frames } = await this.#job("decoded", start, signal);
    const { sampleRate, channels } = this.info.codec ?? { sampleRate: 0, channels: 0 };
    return { pcm, frames, firstFrame: 0, sampleRate, channels };
  }

  /** @throws EngineError `closed` */
  stats(): EngineStats {
    return asEngineError(() => this.#native.stats());
  }

  /** Cancels what is running and frees the model. Streams that are being read then throw `closed`. */
  close(): Promise<void> {
    this.#closing ??= this.#native.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #job<Kind extends "encoded" | "decoded">(
    kind: Kind,
    start: (listener: EventListener) => number,
    signal: AbortSignal | undefined,
  ): Promise<Extract<NativeEvent, { kind: Kind }>> {
    type Result = Extract<NativeEvent, { kind: Kind }>;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let id = -1;
      const cancel = () => {
        this.#native.cancel(id);
        reject(signal?.reason);
      };
      id = asEngineError(() =>
        start((event) => {
          if (event.kind === kind) return resolve(event as Result);
          if (event.kind !== "done") return;
          signal?.removeEventListener("abort", cancel);
          // Settled already, unless it failed or the engine was closed.
          reject(
            event.reason === "error"
              ? EngineError.reported(event.errorCode, event.errorMessage)
              : new EngineError("closed", "The engine was closed while it was at work."),
          );
        }),
      );
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }
}

/**
 * Resamples one channel of audio off the main thread.
 * @throws EngineError `bad_request` for rates outside 1000 to 768000 Hz
 */
export async function resample(
  pcm: Float32Array,
  fromHz: number,
  toHz: number,
): Promise<Float32Array> {
  try {
    return await loadAddon().resample(pcm, fromHz, toHz);
  } catch (error) {
    throw EngineError.from(error);
  }
}
