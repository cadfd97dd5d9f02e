/**
 * Cuts text that is too long for one generation: after a clause mark if one is near, else at a space,
 * else between two characters as readers see them. Nothing is dropped: the pieces tile the input.
 */
import { graphemeCutter, isBlank, UNSPACED } from "./unicode.ts";

/** How a piece hangs together with the next one. */
export type Joint = "clause" | "space" | "none";

export interface CutPiece {
  readonly end: number;
  readonly joint: Joint;
}

const CLAUSE_AND_BLANK = /[,;:\u2013\u2014\u060c\u061b][\p{Pe}\p{Pf}"']*(?=\s)/gu;
const WIDE_CLAUSE = /[、，；：]/gu;

/** Ends of the clauses inside `text`, ascending. A comma counts where white space follows it. */
export function clauseEnds(text: string): number[] {
  const ends = new Set<number>();
  for (const pattern of [CLAUSE_AND_BLANK, WIDE_CLAUSE]) {
    for (const match of text.matchAll(pattern)) ends.add(match.index + match[0].length);
  }
  return [...ends].filter((end) => end < text.length).sort((a, b) => a - b);
}

/** Ends of words inside `text`, ascending; not beside a digit, so that "5 km" stays whole. */
function wordEnds(text: string): number[] {
  const ends: number[] = [];
  const besideDigits: number[] = [];
  for (let i = 1; i < text.length; i++) {
    if (!isBlank(text[i]) || isBlank(text[i - 1])) continue;
    const beside =
      /[\p{N}]\s*$/u.test(text.slice(Math.max(0, i - 1), i)) ||
      /^\s+\p{N}/u.test(text.slice(i, i + 3));
    (beside ? besideDigits : ends).push(i);
  }
  return ends.length > 0 ? ends : besideDigits;
}

/**
 * The largest index below `count` that is accepted, -1 if none. Acceptance falls once as indices grow;
 * the search starts at the small ones, because trying a long text costs more than trying a short one.
 */
function largestAccepted(count: number, accept: (index: number) => boolean): number {
  let low = -1;
  let step = 1;
  while (low + step < count && accept(low + step)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(count, low + step);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (accept(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Where to end the first piece of `text`, which does not fit as a whole.
 *
 * @param accept tells whether a prefix of the given length fits
 */
export function firstCut(text: string, accept: (end: number) => boolean): CutPiece {
  // Clauses end where words do, and trying is what costs.
  const tried = new Map<number, boolean>();
  const fits = (end: number): boolean => {
    const isAccepted = tried.get(end) ?? accept(end);
    tried.set(end, isAccepted);
    return isAccepted;
  };
  const best = (ends: readonly number[]): number =>
    ends[largestAccepted(ends.length, (index) => fits(ends[index] as number))] ?? 0;
  const word = best(wordEnds(text));
  const clause = best(clauseEnds(text));
  // A clause end is the better border unless it wastes most of the room.
  if (clause > 0 && clause * 3 >= word) return { end: clause, joint: "clause" };
  if (word > 0 && !UNSPACED.test(text.slice(word, word + 2))) return { end: word, joint: "space" };
  const graphemeCut = graphemeCutter(text);
  const last = largestAccepted(text.length - 1, (index) => fits(graphemeCut(index + 1)));
  return { end: graphemeCut(Math.max(0, last) + 1), joint: "none" };
}

/** Cuts all of `text` into pieces that fit. The last piece has joint "none". */
export function cutToFit(text: string, fits: (piece: string) => boolean): CutPiece[] {
  const pieces: CutPiece[] = [];
  let start = 0;
  while (start < text.length) {
    const rest = text.slice(start);
    if (rest.length <= 1 || fits(rest)) break;
    const cut = firstCut(rest, (end) => fits(rest.slice(0, end)));
    start += cut.end;
    pieces.push({ end: start, joint: cut.joint });
  }
  if (start < text.length) pieces.push({ end: text.length, joint: "none" });
  return pieces;
}
