/**
 * Finds where a sentence, a line or a clause ends in text that is still arriving.
 *
 * The rules look at the text alone, never at how it was cut on the way here: where a decision needs a
 * character that has not come yet they say so, and the same decision falls once it has. That is what
 * makes one letter at a time and all at once give equal segments (spec 7.3 without its faults).
 */
import {
  BEFORE_NUMBER,
  BEFORE_ORDINAL,
  IN_NAMES,
  MAYBE_FINAL,
  MONTHS_AFTER_DAY,
  NEVER_FINAL,
  SENTENCE_STARTERS,
} from "./abbreviations.ts";
import {
  BRACKET_PAIRS,
  CLOSERS,
  characterAt,
  hasLetterOrDigit,
  isBlank,
  isNewline,
  TERMINALS,
  UNSPACED,
  WIDE_MARK,
  WIDE_TERMINALS,
} from "./unicode.ts";

/** A line at least this long may go on in the next one; a shorter one is an item of its own. */
const SOFT_WRAP_COLUMNS = 50;
/** How much white space a rule looks past. More than this counts as an end of the text. */
const MAX_LOOKAHEAD_BLANKS = 64;

export interface ScanOptions {
  /** No more text will come: what would need another character is decided without it. */
  readonly final: boolean;
  /** Also end after commas, semicolons and colons. */
  readonly clauses: boolean;
}

export type Scan =
  | { readonly found: true; readonly end: number; readonly reason: "sentence" | "line" | "clause" }
  /** Nothing yet. Go on at `resume` with more text. */
  | { readonly found: false; readonly resume: number };

/** Yes, no, or "the text does not reach far enough to tell". */
type Verdict = { readonly end: number } | { readonly skipTo: number } | "unknown";

/** Position of the next character that is no blank; undefined if it has not arrived. */
function afterBlanks(text: string, from: number, final: boolean): number | undefined {
  let at = from;
  while (at < text.length && at - from < MAX_LOOKAHEAD_BLANKS && isBlank(text[at])) at++;
  if (at < text.length || final) return at;
  return undefined;
}

/** The word that starts at `from`, in lower case; undefined while its end has not arrived. */
function wordAt(text: string, from: number, final: boolean): string | undefined {
  let end = from;
  while (end < text.length && end - from < 24 && /[\p{L}\p{M}]/u.test(text[end] as string)) end++;
  if (end === text.length && !final && end - from < 24) return undefined;
  return text.slice(from, end).toLowerCase();
}

/** The word before `at`, its inner full stops included: "e.g" for "(e.g.", "U.S" for "U.S.". */
function wordBefore(text: string, at: number): string {
  const window = text.slice(Math.max(0, at - 32), at);
  return /[\p{L}\p{M}\p{N}§]+(?:\.[\p{L}\p{M}\p{N}]+)*$/u.exec(window)?.[0] ?? "";
}

/** True where `text` holds an opening bracket or quote that nothing has closed. */
function hasOpenBracket(text: string): boolean {
  const open: string[] = [];
  for (const char of text) {
    const closer = BRACKET_PAIRS[char];
    if (closer !== undefined) open.push(closer);
    else if (open[open.length - 1] === char) open.pop();
  }
  return open.length > 0;
}

/** Decides about a full stop after a word, with a blank and then `next` (a position) behind it. */
function stopEndsSentence(
  text: string,
  stop: number,
  next: number,
  final: boolean,
): boolean | "unknown" {
  const word = wordBefore(text, stop);
  const before = text.slice(0, stop - word.length).trimEnd();
  if (word === "") return true;
  if (/^\d+$/.test(word) && before.replace(/[(*_\s]/g, "") === "") return false; // "1. Open the door"

  const lower = word.toLowerCase();
  const nextChar = characterAt(text, next);
  const nextIsDigit = /\p{N}/u.test(nextChar);
  const nextIsLower = /\p{Ll}/u.test(nextChar);
  const startsSentence = (): boolean | "unknown" => {
    const following = wordAt(text, next, final);
    return following === undefined ? "unknown" : SENTENCE_STARTERS.has(following);
  };

  if (NEVER_FINAL.has(lower)) return nextChar === "";
  if (/^\d{1,2}$/.test(word)) {
    if (nextIsLower) return false;
    const previous = wordBefore(before, before.length).toLowerCase();
    if (BEFORE_ORDINAL.has(previous) && /\p{Lu}/u.test(nextChar)) return false;
    const following = wordAt(text, next, final);
    return following === undefined ? "unknown" : !MONTHS_AFTER_DAY.has(following);
  }
  if (MAYBE_FINAL.has(lower)) {
    // "5 p.m. EST": the zone belongs to the time.
    if (/^[ap]\.?m$/.test(lower) && /\p{Lu}/u.test(nextChar)) {
      const following = wordAt(text, next, final);
      if (following === undefined) return "unknown";
      const written = text.slice(next, next + following.length);
      return !(written.length > 1 && written === written.toUpperCase());
    }
    return !nextIsLower && !nextIsDigit;
  }
  // Initials, variables, and the parts of "z. B.": one letter rarely ends a sentence.
  const isInitial = /^\p{L}$/u.test(word) && !BEFORE_NUMBER.has(word);
  const isDotted = /^\p{L}(?:\.\p{L})+$/u.test(word);
  if (isInitial || isDotted || (IN_NAMES.has(lower) && /^\p{Lu}/u.test(word))) {
    if (nextChar === "") return true;
    return nextIsLower || nextIsDigit ? false : startsSentence();
  }
  if (BEFORE_NUMBER.has(lower)) return !nextIsDigit;
  return true;
}

/** Wide marks that cannot begin a sentence. */
const BRACKET_CLOSERS = "」』）】》〉、，；：";

/** Decides about the mark at `at` of `text`, which starts where the current sentence starts. */
function judgeMark(text: string, at: number, final: boolean): Verdict {
  if (!hasLetterOrDigit(text.slice(0, at))) return { skipTo: at + 1 };

  // 。 with nothing open is over at once; waiting for a closer would only cost time.
  const first = text[at] as string;
  if ((first === "。" || first === "｡") && !hasOpenBracket(text.slice(0, at))) {
    return { end: at + 1 };
  }

  let runEnd = at;
  const isMark = (char: string | undefined) =>
    char !== undefined && (TERMINALS.includes(char) || WIDE_TERMINALS.includes(char));
  while (isMark(text[runEnd]) || (runEnd === at && runEnd < text.length)) runEnd++;
  let end = runEnd;
  while (end < text.length && CLOSERS.includes(text[end] as string)) end++;
  if (end === text.length && !final) return "unknown";
  const run = text.slice(at, runEnd);
  const closesQuote = /["'”’»›)\]}）」』》]/u.test(text.slice(runEnd, end));

  if ([...run].some((mark) => WIDE_TERMINALS.includes(mark))) {
    // 「行こう。」と言った: the sentence goes on behind the quote.
    if (closesQuote && /[とっ、，,]/u.test(text[end] ?? "")) return { skipTo: end };
    return { end };
  }

  const next = characterAt(text, end);
  if (next === "" || isNewline(next)) return { end };
  if (!isBlank(next)) {
    const tagFollows = next === "<" && /\p{L}/u.test(text[at - 1] ?? "");
    const wideFollows = UNSPACED.test(next) || WIDE_MARK.test(next);
    const pictureFollows = /[\p{Extended_Pictographic}\p{Regional_Indicator}]/u.test(next);
    const word = wordBefore(text, at).toLowerCase();
    if (tagFollows || pictureFollows) return { end };
    if (wideFollows && !BRACKET_CLOSERS.includes(next) && !NEVER_FINAL.has(word)) return { end };
    return { skipTo: end };
  }

  const nextAt = afterBlanks(text, end, final);
  const inGuillemets = /«[^»]*$/u.test(text.slice(0, at));
  const needsNext = closesQuote || inGuillemets || run.includes("\u2026") || run.includes(".");
  if (nextAt === undefined && needsNext) {
    // A plain word and one full stop: whatever follows the blank, the sentence is over.
    const certain = run === "." && !closesQuote && !inGuillemets;
    return certain && isPlainWord(text, at) ? { end } : "unknown";
  }
  const following = characterAt(text, nextAt ?? end);
  if (following === "»" && inGuillemets) {
    const quoteEnd = (nextAt as number) + 1;
    const behind = afterBlanks(text, quoteEnd, final);
    if (behind === undefined) return "unknown";
    return /[\p{Ll},;]/u.test(characterAt(text, behind)) ? { skipTo: quoteEnd } : { end: quoteEnd };
  }
  const goesOn = /\p{Ll}/u.test(following);
  if (closesQuote && (goesOn || following === ",")) return { skipTo: end };
  if (/^(?:\.{2,}|.*\u2026.*)$/u.test(run) && (goesOn || /\p{N}/u.test(following))) {
    return { skipTo: end };
  }
  if (run === "." && nextAt !== undefined) {
    const verdict = stopEndsSentence(text, at, nextAt, final);
    if (verdict === "unknown") return "unknown";
    if (!verdict) return { skipTo: end };
  }
  return { end };
}

/** A word of two letters or more that no abbreviation table and no number rule knows. */
function isPlainWord(text: string, stop: number): boolean {
  const word = wordBefore(text, stop);
  const lower = word.toLowerCase();
  return (
    /^\p{L}[\p{L}\p{M}]+$/u.test(word) &&
    !NEVER_FINAL.has(lower) &&
    !MAYBE_FINAL.has(lower) &&
    !BEFORE_NUMBER.has(lower) &&
    !(IN_NAMES.has(lower) && /^\p{Lu}/u.test(word))
  );
}

/** Greek writes its question mark as a semicolon; everywhere else that is no sentence end. */
function isGreekQuestion(text: string, at: number): boolean {
  if (text[at] !== ";") return false;
  return /\p{Script=Greek}[\s"»”)]*$/u.test(text.slice(Math.max(0, at - 8), at));
}

/** Decides about the line break at `at`: an item of its own, or a wrapped line that goes on. */
function judgeNewline(text: string, at: number, final: boolean): Verdict {
  let lineStart = at;
  while (lineStart > 0 && !isNewline(text[lineStart - 1])) lineStart--;
  if (at - lineStart < SOFT_WRAP_COLUMNS) return { end: at };
  let next = at;
  let breaks = 0;
  while (
    next < text.length &&
    next - at < MAX_LOOKAHEAD_BLANKS &&
    /\s/u.test(text[next] as string)
  ) {
    if (text[next] === "\n" || (text[next] === "\r" && text[next + 1] !== "\n")) breaks++;
    next++;
  }
  if (breaks > 1) return { end: at };
  if (next === text.length) return final ? { end: at } : "unknown";
  return /\p{Ll}/u.test(characterAt(text, next)) ? { skipTo: next } : { end: at };
}

const CLAUSE_MARKS = ",;:\u060c\u061b";
const WIDE_CLAUSE_MARKS = "，；：";

/** Decides about a comma, semicolon or colon when clauses are wanted. */
function judgeClause(text: string, at: number, final: boolean): Verdict {
  if (!hasLetterOrDigit(text.slice(0, at))) return { skipTo: at + 1 };
  if (WIDE_CLAUSE_MARKS.includes(text[at] as string)) return { end: at + 1 };
  let end = at + 1;
  while (end < text.length && CLOSERS.includes(text[end] as string)) end++;
  if (end === text.length) return final ? { end } : "unknown";
  return /\s/u.test(text[end] as string) ? { end } : { skipTo: end };
}

/**
 * Looks for the end of the sentence that starts at index 0.
 *
 * @param text the sentence so far and whatever has arrived behind it
 * @param from where to go on: 0, or the `resume` of the last call for this sentence
 * @param limit do not look at marks at or past this index
 */
export function findBoundary(
  text: string,
  from: number,
  limit: number,
  options: ScanOptions,
): Scan {
  const { final, clauses } = options;
  let at = from;
  while (at < text.length && at < limit) {
    const char = text[at] as string;
    let verdict: Verdict | undefined;
    let reason: "sentence" | "line" | "clause" = "sentence";
    if (isNewline(char)) {
      verdict = judgeNewline(text, at, final);
      reason = "line";
    } else if (
      TERMINALS.includes(char) ||
      WIDE_TERMINALS.includes(char) ||
      isGreekQuestion(text, at)
    ) {
      verdict = judgeMark(text, at, final);
    } else if (clauses && (CLAUSE_MARKS.includes(char) || WIDE_CLAUSE_MARKS.includes(char))) {
      verdict = judgeClause(text, at, final);
      reason = "clause";
    }
    if (verdict === undefined) at++;
    else if (verdict === "unknown") return { found: false, resume: at };
    else if ("end" in verdict) return { found: true, end: verdict.end, reason };
    else at = verdict.skipTo;
  }
  return { found: false, resume: at };
}
