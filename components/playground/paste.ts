/** What happens to text on its way into the script. Pure. */

/** Characters that word processors and chat windows leave behind and nobody means to be said. */
const INVISIBLE = /[\u200B-\u200D\u2060\uFEFF\u00AD]/g;

/** Pasted text without invisible characters, soft line breaks and runs of blank lines. */
export function cleanPaste(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(INVISIBLE, "")
    .replace(/[\u2028\u2029]/g, "\n")
    .replace(/\u00A0/g, " ")
    .replace(/[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n");
}

/** Characters that are spoken in a second, in scripts that write sounds and in those that write syllables or words. */
const LETTERS_PER_SECOND = 15;
const GLYPHS_PER_SECOND = 4.5;
const GLYPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;

/** Seconds that a text is likely to take, in whole seconds, at least 1 where there is anything to say. */
export function estimateSeconds(text: string): number {
  const glyphs = text.match(GLYPHS)?.length ?? 0;
  const letters = text.replace(GLYPHS, "").replace(/\s+/g, " ").trim().length;
  return Math.ceil(glyphs / GLYPHS_PER_SECOND + letters / LETTERS_PER_SECOND);
}
