/** Which part of a text that is being typed may leave. Pure. */

/** Scripts whose words are not set apart: each character may leave as it comes. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/**
 * Where the part that is ready ends: after the last complete word, so that a word is not mended once it is gone.
 * @param from end of what has left already
 */
export function readyToSend(text: string, from: number): number {
  for (let end = text.length; end > from; end--) {
    const last = text[end - 1] ?? "";
    if (/\s/.test(last) || UNSPACED.test(last)) return end;
  }
  return from;
}
