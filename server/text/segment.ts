/** The shapes and numbers that segmenter and packer share: what a segment is, how big, how far apart. */
import type { Joint } from "./cut.ts";
import { UNSPACED, WIDE_MARK } from "./unicode.ts";

export interface Segment {
  /** 0, 1, 2, … in the order of the text. */
  readonly index: number;
  /** The text as it came in, without white space around it. */
  readonly text: string;
  /** What the model is to say. Never empty. */
  readonly spoken: string;
  /** Place of `text` in all text pushed so far, in UTF-16 units; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
  /** Two-letter language code. */
  readonly language: string;
  /** Silence between the segment before and this one, in milliseconds; 0 for the first. */
  readonly pauseBeforeMs: number;
}

/**
 * How much goes into one segment. "auto": a short first one, then sentences packed up to the budget.
 * "sentence" and "clause": each by itself. "none": nothing leaves before `flush` or `end`.
 */
export type Granularity = "auto" | "sentence" | "clause" | "none";

export interface SegmentLimits {
  /** Most tokens of spoken text in one segment. */
  readonly segmentTokens: number;
  /** Most words of spoken text in one segment. */
  readonly segmentWords: number;
  /** About how many tokens the first segment should have at most, if a clause mark allows it. */
  readonly firstSegmentTokens: number;
}

/** The budget of the official checkpoint's runtimes (spec 5.2); a model's own limits override it. */
export const DEFAULT_SEGMENT_LIMITS: SegmentLimits = {
  segmentTokens: 75,
  segmentWords: 60,
  firstSegmentTokens: 24,
};

/** Milliseconds of silence between segments. Spec 7.3 has 400 after at most four words, else 240. */
export const PAUSES_MS = {
  paragraph: 600,
  line: 400,
  afterShortSegment: 400,
  sentence: 240,
  clause: 120,
  cut: 40,
} as const;

/** What stood between an atom and the one before it. */
export type Gap = "none" | "line" | "paragraph";

/** A sentence, or a piece of one, ready to be packed. */
export interface Atom {
  readonly raw: string;
  readonly start: number;
  readonly spoken: string;
  readonly language: string;
  readonly gap: Gap;
  /** Set when the text before belongs to the same sentence. */
  readonly joint: Joint | undefined;
}

/** Joins spoken pieces: one space between them, none where either side is written without spaces. */
export function joinSpoken(left: string, right: string): string {
  if (left === "") return right;
  const wide = (char: string | undefined) =>
    char !== undefined && (UNSPACED.test(char) || WIDE_MARK.test(char));
  return wide(left[left.length - 1]) || wide(right[0]) ? left + right : `${left} ${right}`;
}
