/**
 * Cuts arriving text into segments: pieces that are synthesised in one go (spec 7.3 without its faults).
 *
 * Text comes in pieces of any size; a segment leaves as soon as it is certain. How the text was cut on
 * the way in never changes the segments, only the moment they leave. The first segment is kept short so
 * that sound starts early. What waits inside is bounded, whatever comes in.
 */
import { findBoundary } from "./boundaries.ts";
import { CodeFence } from "./code-fence.ts";
import { clauseEnds, cutToFit, firstCut, type Joint } from "./cut.ts";
import { type NormaliseOptions, normalise } from "./normalise.ts";
import { Packer } from "./packer.ts";
import {
  DEFAULT_SEGMENT_LIMITS,
  type Gap,
  type Granularity,
  type Segment,
  type SegmentLimits,
} from "./segment.ts";
import { isNewline } from "./unicode.ts";

export type { Granularity, Segment, SegmentLimits } from "./segment.ts";

export interface SegmenterOptions {
  readonly granularity?: Granularity;
  readonly limits?: Partial<SegmentLimits>;
  /** Tokens of a spoken text; without it a rough estimate stands in. */
  readonly countTokens?: (spoken: string) => number;
  /** Language of the text (any form `languageCode` takes); detected for each sentence without it. */
  readonly language?: string;
  /** Passed on to the normaliser. */
  readonly normalise?: Pick<NormaliseOptions, "markdown" | "spokenForms">;
}

const CHARS_PER_TOKEN = 4;
const FIRST_CHARS_PER_TOKEN = 3;
const FIRST_CLAUSE_MIN_CHARS = 24;
/** A cut looks this far past the window, so that it does not fall into a character. */
const CUT_LOOKAHEAD = 64;

const GAP_RANK: Record<Gap, number> = { none: 0, line: 1, paragraph: 2 };

const estimateTokens = (spoken: string): number => Math.ceil(spoken.length / 3);

interface AtomEnd {
  readonly end: number;
  /** Set when the sentence goes on behind `end`. */
  readonly joint: Joint | undefined;
}

export class Segmenter {
  readonly #packer: Packer;
  readonly #granularity: Granularity;
  readonly #markdown: boolean;
  readonly #normaliseOptions: NormaliseOptions;
  /** Longest unfinished sentence that is waited for, in UTF-16 units. */
  readonly #window: number;
  readonly #firstWindow: number;
  readonly #fence = new CodeFence();

  /** Text that belongs to no sentence yet; it starts at offset `#base` of the whole. */
  #pending = "";
  #base = 0;
  #scanned = 0;
  #gap: Gap = "none";
  #newlines = 0;
  #lastWasReturn = false;
  #atLineStart = true;
  #fenceChecked = false;
  #seekFirstClause = false;
  #hint: string | undefined;
  #joint: Joint | undefined;
  #ended = false;

  /** @throws RangeError if a limit is below 1 */
  constructor(options: SegmenterOptions = {}) {
    const limits = { ...DEFAULT_SEGMENT_LIMITS, ...options.limits };
    for (const [name, value] of Object.entries(limits)) {
      if (!(value >= 1)) throw new RangeError(`${name} must be at least 1, not ${value}`);
    }
    this.#granularity = options.granularity ?? "auto";
    this.#markdown = options.normalise?.markdown !== false;
    this.#normaliseOptions = {
      ...options.normalise,
      ...(options.language === undefined ? {} : { language: options.language }),
    };
    this.#packer = new Packer({
      granularity: this.#granularity,
      limits,
      countTokens: options.countTokens ?? estimateTokens,
    });
    this.#window = Math.min(600, Math.max(80, limits.segmentTokens * CHARS_PER_TOKEN));
    this.#firstWindow = Math.min(
      this.#window,
      Math.max(FIRST_CLAUSE_MIN_CHARS * 2, limits.firstSegmentTokens * FIRST_CHARS_PER_TOKEN),
    );
  }

  /** How many UTF-16 units are held inside. */
  get waiting(): number {
    return this.#pending.length + this.#packer.waiting;
  }

  /** Takes the next piece of text and returns the segments that became certain with it. */
  push(piece: string): Segment[] {
    if (this.#ended) throw new Error("Segmenter.push: the text has already ended");
    this.#pending += piece;
    const out: Segment[] = [];
    this.#advance(false, out);
    return out;
  }

  /**
   * Returns complete sentences that only wait to be packed with later ones. For a listener who is about
   * to hear a gap; an unfinished sentence stays inside, and in "none" mode everything does.
   */
  release(): Segment[] {
    const out: Segment[] = [];
    if (this.#granularity !== "none") this.#packer.emit(out);
    this.#packer.settle(this.#base);
    return out;
  }

  /** Forces out everything that is inside, finished or not. More text may follow. */
  flush(): Segment[] {
    const out: Segment[] = [];
    this.#advance(true, out);
    this.#packer.emit(out);
    this.#packer.settle(this.#base);
    return out;
  }

  /** As `flush`, and no more text may follow. */
  end(): Segment[] {
    const out = this.#ended ? [] : this.flush();
    this.#ended = true;
    return out;
  }

  #advance(final: boolean, out: Segment[]): void {
    for (;;) {
      this.#packer.settle(this.#base);
      if (this.#fence.isOpen) {
        const step = this.#fence.advance(this.#pending, final);
        this.#drop(step.swallow, out);
        if (step.state === "inside") return;
        this.#atLineStart = false;
        this.#widenGap("paragraph");
        continue;
      }
      this.#skipBlanks(out);
      // Half a surrogate pair decides nothing; its other half is on the way.
      const halved = (this.#pending.charCodeAt(this.#pending.length - 1) & 0xfc00) === 0xd800;
      const text = halved ? this.#pending.slice(0, -1) : this.#pending;
      if (text === "") return;
      if (this.#atLineStart && this.#markdown && !this.#fenceChecked) {
        const step = this.#fence.open(text, final);
        if (step.state === "unknown") return;
        this.#drop(step.swallow, out);
        this.#fenceChecked = step.state === "plain";
        continue;
      }
      const atom = this.#nextAtom(text, final);
      if (atom === undefined) return;
      this.#takeAtom(atom, out);
    }
  }

  /** Where the next sentence, or a piece of it, ends; undefined while that is not certain. */
  #nextAtom(text: string, final: boolean): AtomEnd | undefined {
    const mode = this.#granularity;
    const isFirst = mode === "auto" && this.#packer.isFresh && !this.#seekFirstClause;
    const limit = isFirst ? this.#firstWindow : this.#window;
    const clauses = mode === "clause" || this.#seekFirstClause;
    const scan = findBoundary(text, this.#scanned, limit, { final, clauses });
    if (scan.found) {
      return { end: scan.end, joint: scan.reason === "clause" ? "clause" : undefined };
    }
    this.#scanned = scan.resume;
    const rest = final ? { end: text.length, joint: undefined } : undefined;
    if (scan.resume < limit) return rest;
    if (isFirst) {
      // The first sentence is long. Speak its first clause now, or the next clause that comes.
      const ends = clauseEnds(text.slice(0, limit));
      const last = ends.filter((end) => end >= FIRST_CLAUSE_MIN_CHARS).pop();
      if (last !== undefined) return { end: last, joint: "clause" };
      this.#seekFirstClause = true;
      return this.#nextAtom(text, final);
    }
    if (text.length < limit + CUT_LOOKAHEAD) return rest;
    const lineStart = this.#atLineStart;
    return firstCut(text.slice(0, limit + CUT_LOOKAHEAD), (end) => {
      if (end > limit) return false;
      const { spoken } = this.#speak(text.slice(0, end), { lineStart, continues: true });
      return this.#packer.fits(spoken);
    });
  }

  #takeAtom({ end, joint }: AtomEnd, out: Segment[]): void {
    const raw = this.#pending.slice(0, end).trimEnd();
    const lineStart = this.#atLineStart;
    const start = this.#base;
    this.#drop(raw.length, out);
    this.#scanned = 0;
    this.#atLineStart = false;
    this.#fenceChecked = false;
    this.#seekFirstClause = false;

    const whole = this.#speak(raw, { lineStart, continues: joint !== undefined });
    if (whole.spoken === "") return;
    this.#hint = whole.language;
    const language = whole.language;
    if (this.#packer.fits(whole.spoken)) {
      this.#place({ raw, start, spoken: whole.spoken, language }, joint, out);
      return;
    }
    const fits = (piece: string) =>
      this.#packer.fits(this.#speak(piece.trim(), { lineStart: false, continues: true }).spoken);
    let from = 0;
    for (const cut of cutToFit(raw, fits)) {
      const piece = raw.slice(from, cut.end);
      const after = cut.end === raw.length ? joint : cut.joint;
      const { spoken } = this.#speak(piece.trim(), {
        lineStart: lineStart && from === 0,
        continues: after !== undefined,
      });
      const pieceStart = start + from + piece.length - piece.trimStart().length;
      from = cut.end;
      if (spoken === "") continue;
      this.#place({ raw: piece.trim(), start: pieceStart, spoken, language }, after, out);
    }
  }

  #speak(text: string, place: { lineStart: boolean; continues: boolean }) {
    const hint = this.#hint === undefined ? {} : { hint: this.#hint };
    return normalise(text, { ...this.#normaliseOptions, ...hint, ...place });
  }

  #place(
    atom: { raw: string; start: number; spoken: string; language: string },
    after: Joint | undefined,
    out: Segment[],
  ): void {
    this.#packer.place({ ...atom, gap: this.#gap, joint: this.#joint }, out);
    this.#gap = "none";
    this.#joint = after;
  }

  /** Removes the first `length` units of the pending text. */
  #drop(length: number, out: Segment[]): void {
    this.#packer.keep(this.#pending.slice(0, length), out);
    this.#pending = this.#pending.slice(length);
    this.#base += length;
  }

  #widenGap(gap: Gap): void {
    if (GAP_RANK[gap] > GAP_RANK[this.#gap]) this.#gap = gap;
  }

  /** Consumes white space in front of the next sentence and notes the line breaks in it. */
  #skipBlanks(out: Segment[]): void {
    let at = 0;
    for (; at < this.#pending.length; at++) {
      const char = this.#pending[at] as string;
      if (!/\s/u.test(char)) break;
      if (isNewline(char)) {
        if (char !== "\n" || !this.#lastWasReturn) this.#newlines++;
        this.#atLineStart = true;
        this.#widenGap(this.#newlines > 1 ? "paragraph" : "line");
      }
      this.#lastWasReturn = char === "\r";
    }
    if (at < this.#pending.length) {
      this.#lastWasReturn = false;
      this.#newlines = 0;
    }
    this.#drop(at, out);
  }
}

/** Segments of text that arrives as an iterable, for example the pieces of a language model. */
export async function* segmentStream(
  texts: AsyncIterable<string> | Iterable<string>,
  options: SegmenterOptions = {},
): AsyncGenerator<Segment, void, undefined> {
  const segmenter = new Segmenter(options);
  for await (const text of texts) yield* segmenter.push(text);
  yield* segmenter.end();
}
