/**
 * What the text front end needs to know about characters: scripts, marks, closers, graphemes.
 * Pure tables and predicates; no rule about sentences or speech lives here.
 */

/** Han, kana and their marks: scripts written without spaces. Hangul is not among them. */
export const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3005\u30fc]/u;

/** Chinese and Japanese punctuation and full-width forms, which stand without spaces too. */
export const WIDE_MARK =
  /[\u3001-\u3003\u3008-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u;

/** Marks after which a sentence is over without any white space. */
export const WIDE_TERMINALS = "。｡！？";
/** Marks that end a sentence where white space or the end of the text follows. */
export const TERMINALS = ".!?\u2026\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4\u037e";

/** Quotes and brackets that belong to the sentence they close, and the marks of bold and code text. */
export const CLOSERS = "\"'”’»›)]}）】》」』〉〕］｝＂＇*_`~";
/** Closers whose opener is another character, so that "still open" can be known. */
export const BRACKET_PAIRS: Readonly<Record<string, string>> = {
  "「": "」",
  "『": "』",
  "（": "）",
  "【": "】",
  "《": "》",
  "〈": "〉",
  "“": "”",
  "«": "»",
};

export const hasLetterOrDigit = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** White space that separates words on one line. */
export const isBlank = (char: string | undefined): boolean =>
  char !== undefined && char !== "\n" && char !== "\r" && /\s/u.test(char);

export const isNewline = (char: string | undefined): boolean =>
  char === "\n" || char === "\r" || char === "\u2028" || char === "\u2029" || char === "\u0085";

/** The whole character at a UTF-16 index; empty past the end. */
export function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? "" : String.fromCodePoint(code);
}

const graphemeSegmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Finds the last place at or before a limit (UTF-16 units) where `text` may be cut without breaking a character as
 * readers see it. A cluster longer than the limit is cut between code points instead. The text is looked at once,
 * however many limits are asked for.
 */
export function graphemeCutter(text: string): (limit: number) => number {
  const starts: number[] = [];
  const clusters = graphemeSegmenter.segment(text)[Symbol.iterator]();
  let isComplete = false;
  return (limit) => {
    if (limit >= text.length) return text.length;
    while (!isComplete && (starts[starts.length - 1] ?? 0) <= limit) {
      const { value, done } = clusters.next();
      if (done) isComplete = true;
      else starts.push(value.index);
    }
    const last = starts.findLast((start) => start <= limit) ?? 0;
    if (last > 0) return last;
    const unit = text.charCodeAt(limit);
    const insidePair = unit >= 0xdc00 && unit <= 0xdfff;
    return Math.max(1, insidePair ? limit - 1 : limit);
  };
}

const EVERY_UNSPACED = new RegExp(UNSPACED, "gu");

/** Words by white space, with two unspaced characters counting as one word. */
export function countWords(text: string): number {
  if (!UNSPACED.test(text)) {
    return text.split(/\s+/u).reduce((sum, part) => sum + (hasLetterOrDigit(part) ? 1 : 0), 0);
  }
  let words = 0;
  for (const part of text.split(/\s+/u)) {
    if (!hasLetterOrDigit(part)) continue;
    const wide = part.match(EVERY_UNSPACED)?.length ?? 0;
    words += wide === 0 ? 1 : Math.ceil(wide / 2);
  }
  return words;
}
