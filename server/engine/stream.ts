/**
 * One generation as its reader sees it. Reading acknowledges, leaving the loop cancels, and so does forgetting the stream
 * altogether.
 */
import { Delivery, NO_STATS, type ReaderWatch } from "./delivery.ts";
import { asEngineError } from "./errors.ts";
import type { NativeEngine } from "./native.ts";
import type { AudioChunk, Finished, GenerateOptions } from "./types.ts";

/** Cancels the generations whose streams have been collected. */
const forgotten = new FinalizationRegistry<{ native: NativeEngine; id: number }>(({ native, id }) =>
  native.cancel(id),
);

/** Tells the engine what has been read; while it is held, keeps that to itself. */
class Acknowledgement implements ReaderWatch {
  lagging: (isLagging: boolean) => void = () => {};
  readonly #consumed: (frames: number) => void;
  #isHeld = false;
  #owed = 0;

  constructor(consumed: (frames: number) => void) {
    this.#consumed = consumed;
  }

  taken(frames: number): void {
    if (this.#isHeld) this.#owed += frames;
    else this.#consumed(frames);
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    if (this.#owed > 0) this.#consumed(this.#owed);
    this.#owed = 0;
  }
}

/**
 * An async iterable of audio that can be read once. Ends when the model stops, at `maxFrames`, or when cancelled, and
 * `finished` says which; throws EngineError where the engine failed.
 */
export class EngineStream implements AsyncIterableIterator<AudioChunk, undefined> {
  readonly #delivery: Delivery;
  readonly #cancel: () => void;
  readonly #acknowledge: Acknowledgement;

  private constructor(delivery: Delivery, cancel: () => void, acknowledge: Acknowledgement) {
    this.#delivery = delivery;
    this.#cancel = cancel;
    this.#acknowledge = acknowledge;
  }

  /**
   * Starts a generation.
   * @throws EngineError `bad_request`, `overloaded`, `unsupported` or `closed`
   */
  static start(
    native: NativeEngine,
    options: GenerateOptions,
    signal: AbortSignal | undefined,
  ): EngineStream {
    const { codec } = native.info();
    const format = {
      sampleRate: codec?.sampleRate ?? 0,
      channels: options.channels ?? codec?.channels ?? 0,
    };
    let id = -1;
    const acknowledge = new Acknowledgement((frames) => {
      if (!delivery.ended) native.consumed(id, frames);
    });
    const delivery = new Delivery(format, acknowledge, options.bufferFrames);
    if (signal?.aborted) {
      delivery.discard();
      delivery.receive({ kind: "done", reason: "cancelled", stats: NO_STATS });
      return new EngineStream(delivery, () => {}, acknowledge);
    }
    id = asEngineError(() => native.generate(options, (event) => delivery.receive(event)));
    const cancel = () => {
      delivery.discard();
      if (!delivery.ended) native.cancel(id);
    };
    const stream = new EngineStream(delivery, cancel, acknowledge);
    forgotten.register(stream, { native, id }, delivery);
    signal?.addEventListener("abort", cancel, { once: true });
    void delivery.finished.then(() => {
      signal?.removeEventListener("abort", cancel);
      forgotten.unregister(delivery);
    });
    return stream;
  }

  /** How the generation ended and what it cost; settles when the engine has let go of it. Never rejects. */
  get finished(): Promise<Finished> {
    return this.#delivery.finished;
  }

  /** Calls `listener` when the reader has become so slow that the engine pauses, and when he has caught up. */
  onLagging(listener: (isLagging: boolean) => void): void {
    this.#acknowledge.lagging = listener;
  }

  /** Keeps the engine paused whatever is read, until `release`. Only for a stream that lags. */
  hold(): void {
    this.#acknowledge.hold();
  }

  /** Lets the engine go on. */
  release(): void {
    this.#acknowledge.release();
  }

  /** Stops the generation; what is unread is dropped. Harmless at any time. */
  cancel(): void {
    this.#cancel();
  }

  next(): Promise<IteratorResult<AudioChunk, undefined>> {
    return this.#delivery.next();
  }

  /** Called when a reader leaves the loop early. */
  return(): Promise<IteratorResult<AudioChunk, undefined>> {
    this.#cancel();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel();
  }
}
