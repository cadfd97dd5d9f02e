/**
 * How long a text can take at most. A model that misses its stop runs on until a cap; this one follows
 * from the text, so that "Hi" cannot become half a minute (spec 10.4).
 */

/** Room for silence before and after the words, in seconds. */
const BASE_SECONDS = 1.2;
/** About twice what slow speech needs: normal speech takes some 0.065 s a character. */
const SECONDS_PER_CHARACTER = 0.17;
/** Han, kana and Hangul characters are syllables or more. */
const SECONDS_PER_SYLLABLE = 0.5;

const SYLLABLES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;

/**
 * Most frames that `text` (spoken form) may take.
 * @param limit the model's own cap, in frames
 */
export function frameCap(text: string, framesPerSecond: number, limit: number): number {
  const syllables = text.match(SYLLABLES)?.length ?? 0;
  const characters = [...text].filter((char) => /[\p{L}\p{N}]/u.test(char)).length - syllables;
  const seconds =
    BASE_SECONDS + characters * SECONDS_PER_CHARACTER + syllables * SECONDS_PER_SYLLABLE;
  return Math.min(limit, Math.ceil(seconds * framesPerSecond));
}
