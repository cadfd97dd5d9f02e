/**
 * The text of one utterance on its way to segments. Text of any size comes in at once; it is cut only when a segment is
 * asked for, a little at a time, so that a long text blocks nobody. When text arrives never changes the segments.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Segment } from "../text/segment.ts";
import { Segmenter, type SegmenterOptions } from "../text/segmenter.ts";

/** UTF-16 units that the segmenter gets at a time. */
const SLICE = 256;

const FLUSH = Symbol("flush");

/** Unicode characters of a text. */
export function codePoints(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count += 1;
  return count;
}

export class TextFeed {
  readonly #segmenter: Segmenter;
  readonly #ready: Segment[] = [];
  #input: (string | typeof FLUSH)[] = [];
  /** Raw text from offset `#base` on: what is not being spoken yet. */
  #unspoken = "";
  #base = 0;
  #chars = 0;
  #marks = 0;
  #ended = false;
  #isDone = false;
  #isEmpty = true;

  /** @param canRelease whether complete sentences may leave early when the listener runs dry */
  constructor(
    options: SegmenterOptions,
    readonly canRelease: boolean,
  ) {
    this.#segmenter = new Segmenter(options);
  }

  /** Code points that wait to be spoken. */
  get waitingChars(): number {
    return this.#chars;
  }

  /** Flushes that wait for their turn. */
  get waitingFlushes(): number {
    return this.#marks;
  }

  /** Whether text has never come. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Whether something can be cut without more text. */
  get isPending(): boolean {
    return this.#input.length + this.#ready.length > 0 || (this.#ended && !this.#isDone);
  }

  /** Whether the last segment has left and no text can follow. */
  get isDone(): boolean {
    return this.#isDone;
  }

  push(text: string): void {
    if (text === "") return;
    this.#isEmpty = false;
    this.#input.push(text);
    this.#unspoken += text;
    this.#chars += codePoints(text);
  }

  /** What has come so far is to be spoken without waiting for more. */
  flush(): void {
    if (this.#input.length > 0 ? this.#input.at(-1) === FLUSH : this.#segmenter.waiting === 0)
      return;
    this.#input.push(FLUSH);
    this.#marks += 1;
  }

  /** No more text comes. */
  end(): void {
    this.#ended = true;
  }

  /** The text up to `end`, in UTF-16 units of the utterance, is being spoken. */
  spokenTo(end: number): void {
    const spoken = this.#unspoken.slice(0, Math.max(0, end - this.#base));
    this.#unspoken = this.#unspoken.slice(spoken.length);
    this.#base += spoken.length;
    this.#chars -= codePoints(spoken);
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.#input = [];
    this.#ready.length = 0;
    this.#unspoken = "";
    this.#chars = 0;
    this.#marks = 0;
  }

  /** The next segment; undefined if the text that is there is not enough for one, or if it was the last. */
  async next(): Promise<Segment | undefined> {
    for (;;) {
      const segment = this.#ready.shift();
      if (segment !== undefined) return segment;
      const item = this.#input.shift();
      if (item === undefined) {
        if (!this.#ended) return undefined;
        this.#ready.push(...this.#segmenter.end());
        this.#isDone = this.#ready.length === 0;
        return this.#ready.shift();
      }
      if (item === FLUSH) {
        this.#marks = Math.max(0, this.#marks - 1);
        this.#ready.push(...this.#segmenter.flush());
        continue;
      }
      if (item.length > SLICE) this.#input.unshift(item.slice(SLICE));
      this.#ready.push(...this.#segmenter.push(item.slice(0, SLICE)));
      if (this.#ready.length === 0) await turn();
    }
  }

  /** For a listener who is about to hear a gap: lets complete sentences go that wait for company. */
  release(): boolean {
    if (this.canRelease) this.#ready.push(...this.#segmenter.release());
    return this.#ready.length > 0;
  }
}
