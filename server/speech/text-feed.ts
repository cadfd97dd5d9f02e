/**
 * The text of one utterance on its way to segments. Text of any size comes in at once; it is cut only when a segment is
 * asked for, a little at a time, so that a long text blocks nobody. When text arrives never changes the segments.
 */
import { setImmediate as turn } from "node:timers/promises";
import { PauseTags, type TaggedPart } from "../text/pause-tags.ts";
import type { Segment } from "../text/segment.ts";
import { Segmenter, type SegmenterOptions } from "../text/segmenter.ts";

/** UTF-16 units that the segmenter gets at a time. */
const SLICE = 256;

const FLUSH = Symbol("flush");

/** A segment, and the silence that the text itself asks for in front of it: exact, and instead of the usual pause. */
export interface FedSegment extends Segment {
  /** Milliseconds; undefined where the text asks for none. */
  readonly silenceMs?: number | undefined;
}

/** Unicode characters of a text. */
export function codePoints(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count += 1;
  return count;
}

export class TextFeed {
  readonly #segmenter: Segmenter;
  readonly #tags: PauseTags | undefined;
  readonly #ready: FedSegment[] = [];
  /** Silence in front of the next segment, if tags have asked for some. */
  #silenceMs: number | undefined;
  #input: (string | typeof FLUSH)[] = [];
  /** Raw text from offset `#base` on: what is not being spoken yet. */
  #unspoken = "";
  #base = 0;
  #chars = 0;
  #marks = 0;
  #ended = false;
  #isDone = false;
  #isEmpty = true;

  /**
   * @param canRelease whether complete sentences may leave early when the listener runs dry
   * @param pauseTags whether `[pause 0.5s]` is silence
   */
  constructor(
    options: SegmenterOptions,
    readonly canRelease: boolean,
    pauseTags = false,
  ) {
    this.#segmenter = new Segmenter(options);
    this.#tags = pauseTags ? new PauseTags() : undefined;
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

  /** Whether the next segment takes work: text that is there has not been cut. */
  get isUncut(): boolean {
    if (this.#ready.length > 0) return false;
    return this.#input.length > 0 || (this.#ended && this.#held > 0);
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
    if (this.#input.length > 0 ? this.#input.at(-1) === FLUSH : this.#held === 0) return;
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
    this.#silenceMs = undefined;
  }

  /** A segment that turned out to have nothing to say; its silence goes to the one after it. */
  skip({ silenceMs }: FedSegment): void {
    if (silenceMs === undefined) return;
    const next = this.#ready[0];
    if (next === undefined) this.#silenceMs = silenceMs + (this.#silenceMs ?? 0);
    else this.#ready[0] = { ...next, silenceMs: silenceMs + (next.silenceMs ?? 0) };
  }

  /** The next segment; undefined if the text that is there is not enough for one, or if it was the last. */
  async next(): Promise<FedSegment | undefined> {
    for (;;) {
      const segment = this.#ready.shift();
      if (segment !== undefined) return segment;
      const item = this.#input.shift();
      if (item === undefined) {
        if (!this.#ended) return undefined;
        this.#cut(this.#tags?.flush());
        this.#add(this.#segmenter.end());
        this.#isDone = this.#ready.length === 0;
        return this.#ready.shift();
      }
      if (item === FLUSH) {
        this.#marks = Math.max(0, this.#marks - 1);
        this.#cut(this.#tags?.flush());
        this.#add(this.#segmenter.flush());
        continue;
      }
      if (item.length > SLICE) this.#input.unshift(item.slice(SLICE));
      const text = item.slice(0, SLICE);
      this.#cut(this.#tags?.push(text) ?? [{ kind: "text", text }]);
      if (this.#ready.length === 0 && this.#input.length > 0) await turn();
    }
  }

  /** Text that has been looked at and waits for more, in UTF-16 units. */
  get #held(): number {
    return this.#segmenter.waiting + (this.#tags?.waiting ?? 0);
  }

  /** For a listener who is about to hear a gap: lets complete sentences go that wait for company. */
  release(): boolean {
    if (this.canRelease) this.#add(this.#segmenter.release());
    return this.#ready.length > 0;
  }

  /** Nothing is spoken across a tag: what stands in front of it is complete. */
  #cut(parts: readonly TaggedPart[] = []): void {
    for (const part of parts) {
      if (part.kind === "text") this.#add(this.#segmenter.push(part.text));
      else {
        this.#add(this.#segmenter.flush());
        this.#silenceMs = part.ms + (this.#silenceMs ?? 0);
        // Blanks stand for the tag, so that places in the text stay what they are.
        this.#add(this.#segmenter.push(" ".repeat(part.length)));
      }
    }
  }

  #add(segments: readonly Segment[]): void {
    for (const segment of segments) {
      this.#ready.push(
        this.#silenceMs === undefined ? segment : { ...segment, silenceMs: this.#silenceMs },
      );
      this.#silenceMs = undefined;
    }
  }
}
