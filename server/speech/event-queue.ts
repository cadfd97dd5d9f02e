/**
 * What a session has to tell and nobody has read yet, in order. Counts the audio in it, so that the session can stop
 * generating; can take things back as long as they have not been read. One reader.
 */
import type { SpeechEvent } from "./types.ts";

interface Entry {
  readonly event: SpeechEvent;
  /** Codec frames of an audio event. */
  readonly frames: number;
}

type Result = IteratorResult<SpeechEvent, undefined>;

const END = { done: true, value: undefined } as const;

/** Length of an audio event; 0 for all others. */
export function audioMs(event: SpeechEvent): number {
  if (event.kind !== "audio") return 0;
  return (event.pcm.length / event.channels / event.sampleRate) * 1000;
}

export interface EventReader {
  /** Called with each event at the moment it leaves; what it returns is what the reader gets. */
  taken(event: SpeechEvent, frames: number): SpeechEvent;
  /** The reader left its loop. */
  left(): void;
}

export class EventQueue implements AsyncIterableIterator<SpeechEvent, undefined> {
  readonly #reader: EventReader;
  #entries: Entry[] = [];
  #waiting: ((result: Result) => void)[] = [];
  #bufferedMs = 0;
  #ended = false;

  constructor(reader: EventReader) {
    this.#reader = reader;
  }

  /** Audio that has not been read, in milliseconds. */
  get bufferedMs(): number {
    return this.#bufferedMs;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Appends; dropped silently after `end`. */
  push(event: SpeechEvent, frames = 0): void {
    this.#insert(this.#entries.length, { event, frames });
  }

  /** Removes what matches and has not been read, and puts `instead` in its place. Returns what was removed. */
  replace(
    matches: (event: SpeechEvent) => boolean,
    instead: (removed: readonly SpeechEvent[]) => readonly SpeechEvent[] = () => [],
  ): readonly SpeechEvent[] {
    const first = this.#entries.findIndex(({ event }) => matches(event));
    const removed = this.#entries.filter(({ event }) => matches(event)).map(({ event }) => event);
    this.#entries = this.#entries.filter(({ event }) => !matches(event));
    this.#bufferedMs -= removed.reduce((sum, event) => sum + audioMs(event), 0);
    let at = first < 0 ? this.#entries.length : first;
    for (const event of instead(removed)) this.#insert(at++, { event, frames: 0 });
    return removed;
  }

  /** Nothing more comes; what is there can still be read. */
  end(): void {
    this.#ended = true;
    this.#serve();
  }

  next(): Promise<Result> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#serve();
    });
  }

  return(): Promise<Result> {
    this.#entries = [];
    this.#bufferedMs = 0;
    this.end();
    this.#reader.left();
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #insert(at: number, entry: Entry): void {
    if (this.#ended) return;
    this.#entries.splice(at, 0, entry);
    this.#bufferedMs += audioMs(entry.event);
    this.#serve();
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const entry = this.#entries.shift();
      if (entry === undefined && !this.#ended) return;
      const resolve = this.#waiting.shift();
      if (entry === undefined) {
        resolve?.(END);
        continue;
      }
      this.#bufferedMs = this.#entries.length === 0 ? 0 : this.#bufferedMs - audioMs(entry.event);
      resolve?.({ done: false, value: this.#reader.taken(entry.event, entry.frames) });
    }
  }
}
