/**
 * Events that wait for their reader, and what the server is told of it: sound counts as heard when it is taken, so a
 * reader who falls behind makes the server pause once it is `max_lead_ms` ahead. Bounded in bytes all the same.
 */
import type { ChunkEvent, SocketEvent } from "./socket-types.ts";

/** Time between two reports to the server. */
const REPORT_MS = 250;

export interface BufferOptions {
  readonly maxBytes: number;
  /** Tells the server what was taken of an utterance; undefined if somebody else does. */
  readonly report: ((utterance: number, playedMs: number) => void) | undefined;
  /** There is more in the buffer than it may hold. */
  readonly overflow: () => void;
}

export class SocketBuffer implements AsyncIterableIterator<SocketEvent> {
  readonly #options: BufferOptions;
  #events: SocketEvent[] = [];
  #bytes = 0;
  #end: { readonly error: Error | undefined } | undefined;
  #wake: () => void = () => {};
  /** What was taken of the utterance that is being read. */
  #utterance = 0;
  #takenMs = 0;
  #isReported = true;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: BufferOptions) {
    this.#options = options;
  }

  /** Whether there is a reader: he has not left, and has more to hear. */
  get isRead(): boolean {
    return this.#end === undefined || this.#events.length > 0;
  }

  /** Sound that waits, in milliseconds. */
  get waitingMs(): number {
    return this.#events.reduce(
      (sum, event) => sum + (event.type === "chunk" ? (event.durationMs ?? 0) : 0),
      0,
    );
  }

  push(event: SocketEvent): void {
    if (this.#end !== undefined) return;
    // The listener stopped: what has not been played yet belongs to what was stopped.
    if (event.type === "cancelled") this.#dropChunks();
    this.#events.push(event);
    if (event.type === "chunk") {
      this.#bytes += event.bytes.length;
      this.#schedule();
      if (this.#bytes > this.#options.maxBytes) this.#options.overflow();
    }
    this.#wake();
  }

  /** Nothing more comes; what is there can still be read, and then the error is thrown. */
  finish(error?: Error): void {
    this.#end ??= { error };
    clearTimeout(this.#timer);
    this.#wake();
  }

  async next(): Promise<IteratorResult<SocketEvent, undefined>> {
    while (this.#events.length === 0) {
      if (this.#end !== undefined) {
        const { error } = this.#end;
        this.#end = { error: undefined };
        if (error !== undefined) throw error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const event = this.#events.shift() as SocketEvent;
    if (event.type === "chunk") this.#taken(event);
    return { done: false, value: event };
  }

  /** The reader has left; events are thrown away from now on. */
  async return(): Promise<IteratorResult<SocketEvent, undefined>> {
    this.#events = [];
    this.finish();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #taken({ utterance, durationMs = 0, bytes }: ChunkEvent): void {
    if (utterance !== this.#utterance) {
      this.#utterance = utterance;
      this.#takenMs = 0;
    }
    this.#takenMs += durationMs;
    this.#bytes -= bytes.length;
    this.#isReported = false;
    this.#schedule();
  }

  #dropChunks(): void {
    this.#events = this.#events.filter(({ type }) => type !== "chunk");
    this.#bytes = 0;
  }

  /** The server's clock goes on between reports, so one who stands still has to say so as well. */
  #schedule(): void {
    if (this.#options.report === undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isReported && this.#bytes === 0) return;
      this.#isReported = true;
      this.#options.report?.(this.#utterance, this.#takenMs);
      if (this.#bytes > 0) this.#schedule();
    }, REPORT_MS);
  }
}
