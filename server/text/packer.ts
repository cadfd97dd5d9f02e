/**
 * Packs sentences into segments that fit the model's budget (spec 7.3, step 4).
 *
 * Decides on the sequence of sentences alone, so the result does not depend on when they arrived; and decides when
 * they arrive, so that a flush after a long text has little left to do.
 */
import {
  type Atom,
  type Granularity,
  joinSpoken,
  PAUSES_MS,
  type Segment,
  type SegmentLimits,
} from "./segment.ts";
import { countWords, UNSPACED } from "./unicode.ts";

const SHORT_SEGMENT_WORDS = 4;
/** A segment this full goes out without waiting for a sentence that might still fit. */
const FULL_ENOUGH = 0.6;
/** More raw text than this never waits for company. */
const MAX_WAITING_CHARS = 4096;
/** The same when nothing is to leave before a flush. */
const MAX_HELD_CHARS = 100_000;

export interface PackerOptions {
  readonly granularity: Granularity;
  readonly limits: SegmentLimits;
  readonly countTokens: (spoken: string) => number;
}

interface Size {
  readonly spoken: string;
  readonly words: number;
  readonly tokens: number;
}

export class Packer {
  readonly #options: PackerOptions;
  /** Segments that are complete but must not leave before a flush. */
  #held: Segment[] = [];
  /** Sentences of the next segment, and what they are together. */
  #atoms: Atom[] = [];
  #spoken = "";
  #size: Size = { spoken: "", words: 0, tokens: 0 };
  /** Raw text from `#keptFrom` on, so that a segment can quote what lies between its sentences. */
  #kept = "";
  #keptFrom = 0;
  #index = 0;
  #lastWords = 0;

  constructor(options: PackerOptions) {
    this.#options = options;
  }

  /** True until the first sentence has come. */
  get isFresh(): boolean {
    return this.#index === 0 && this.#atoms.length === 0;
  }

  /** UTF-16 units of raw text that are kept. */
  get waiting(): number {
    return this.#kept.length;
  }

  /** Hears of raw text that has been consumed, spoken or not, in order and without gaps. */
  keep(raw: string, out: Segment[]): void {
    this.#kept += raw;
    const limit = this.#options.granularity === "none" ? MAX_HELD_CHARS : MAX_WAITING_CHARS;
    if (this.#kept.length > limit) this.emit(out);
  }

  /** Forgets kept text that no waiting sentence needs. `offset` is where the next raw text starts. */
  settle(offset: number): void {
    if (this.#atoms.length + this.#held.length > 0) return;
    this.#kept = "";
    this.#keptFrom = offset;
  }

  fits(spoken: string): boolean {
    const { limits } = this.#options;
    const { words, tokens } = this.#sizeOf(spoken);
    return words <= limits.segmentWords && tokens <= limits.segmentTokens;
  }

  /** Adds a sentence whose raw text has been kept; pushes the segments that are complete with it. */
  place(atom: Atom, out: Segment[]): void {
    const mode = this.#options.granularity;
    const last = this.#atoms[this.#atoms.length - 1];
    const joined = joinSpoken(this.#spoken, atom.spoken);
    if (last === undefined) this.#spoken = joined;
    else if (this.#belongs(atom, last) && this.fits(joined)) this.#spoken = joined;
    else {
      if (mode === "none") this.#complete();
      else this.emit(out);
      this.#spoken = atom.spoken;
    }
    this.#atoms.push(atom);
    const early = mode === "auto" && (this.#index === 0 || this.#isFullEnough());
    if (early || mode === "sentence" || mode === "clause") this.emit(out);
  }

  /** Turns the waiting sentences into segments: one, or as many as the budget needs. */
  emit(out: Segment[]): void {
    this.#complete();
    for (const segment of this.#held) out.push(segment);
    this.#held = [];
  }

  /** Whether two sentences may share a segment. What nobody hears before a flush is packed regardless of breaks. */
  #belongs(atom: Atom, last: Atom): boolean {
    if (this.#options.granularity === "none") return true;
    return atom.gap === "none" && UNSPACED.test(last.spoken) === UNSPACED.test(atom.spoken);
  }

  #complete(): void {
    if (this.#atoms.length > 0) this.#held.push(this.#segment(this.#atoms, this.#spoken));
    this.#atoms = [];
    this.#spoken = "";
  }

  #isFullEnough(): boolean {
    const { limits } = this.#options;
    const { words, tokens } = this.#sizeOf(this.#spoken);
    return (
      words >= limits.segmentWords * FULL_ENOUGH || tokens >= limits.segmentTokens * FULL_ENOUGH
    );
  }

  /** Remembers the last answer: one text is asked about several times in a row. */
  #sizeOf(spoken: string): Size {
    if (spoken !== this.#size.spoken) {
      const tokens = this.#options.countTokens(spoken);
      this.#size = { spoken, words: countWords(spoken), tokens };
    }
    return this.#size;
  }

  #segment(group: readonly Atom[], spoken: string): Segment {
    const first = group[0] as Atom;
    const last = group[group.length - 1] as Atom;
    const end = last.start + last.raw.length;
    const index = this.#index++;
    const pauseBeforeMs = index === 0 ? 0 : this.#pauseBefore(first);
    this.#lastWords = this.#sizeOf(spoken).words;
    return {
      index,
      text: this.#kept.slice(first.start - this.#keptFrom, end - this.#keptFrom),
      spoken,
      start: first.start,
      end,
      language: first.language,
      pauseBeforeMs,
    };
  }

  #pauseBefore(atom: Atom): number {
    if (atom.gap !== "none") return PAUSES_MS[atom.gap];
    if (atom.joint === "clause") return PAUSES_MS.clause;
    if (atom.joint !== undefined) return PAUSES_MS.cut;
    return this.#lastWords <= SHORT_SEGMENT_WORDS
      ? PAUSES_MS.afterShortSegment
      : PAUSES_MS.sentence;
  }
}
