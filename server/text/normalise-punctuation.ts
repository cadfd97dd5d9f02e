/**
 * Last steps of normalising: marks that steer the voice are put into the few forms a model knows, the
 * others leave; spaces are set; a closing mark is added where there is none (spec 7.2, steps 6 to 10,
 * without the Chinese full stop for every language).
 */
import { SENTENCE_BREAK } from "./normalise-markup.ts";
import { hasLetterOrDigit } from "./unicode.ts";

const WIDE_LANGUAGES = new Set(["zh", "ja"]);

/** Marks of a finished sentence. */
const CLOSING = /[.!?…。！？｡؟۔।॥։።;]$/u;
const CLOSERS_AT_END = /["'”’»›)\]）」』》]+$/u;

/** True for languages written without spaces, whose marks are full-width. */
export const isWideLanguage = (language: string): boolean => WIDE_LANGUAGES.has(language);

function tidyNarrow(text: string, language: string): string {
  const comma = language === "ar" || language === "fa" ? "،" : ",";
  return (
    text
      // Typographic forms of marks every model knows.
      .replace(/[‘’‚‛`´ʼ]/gu, "'")
      .replace(/[。｡]/gu, ". ")
      .replace(/[，、]/gu, `${comma} `)
      .replace(/！/gu, "! ")
      .replace(/？/gu, "? ")
      .replace(/；/gu, "; ")
      .replace(/：/gu, ": ")
      // An apostrophe belongs to a word; any other single quote is a quotation mark.
      .replace(/(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu, "")
      .replace(/["“”„‟«»‹›「」『』《》〈〉【】〖〗]/gu, " ")
      // Brackets and dashes become the pause they stand for.
      .replace(/\s*[([{（［｛]\s*/gu, `${comma} `)
      .replace(/\s*[)\]}）］｝]\s*(?=[.,!?;:…]|$)/gu, "")
      .replace(/\s*[)\]}）］｝]\s*/gu, `${comma} `)
      .replace(/\s*(?:[\u2014\u2015\u2e3a\u2e3b]+|--+)\s*/gu, `${comma} `)
      .replace(/\s+[\u2010-\u2013\u2212-]+(?=\s|$)/gu, comma)
      .replace(/(?<=\p{L})[\u2010-\u2013\u2212](?=\p{L})/gu, "-")
      .replace(
        /(?<![\p{L}\p{N}])[\u2010-\u2013-]+(?=\p{L})|(?<=[\p{L}\p{N}])[-\u2010-\u2013]+(?![\p{L}\p{N}])/gu,
        " ",
      )
      .replace(/\s*(?:->|=>|<-|[\u2190-\u21ff\u27f5-\u27ff])\s*/gu, `${comma} `)
      // Dots in a row: a stop at the end, a breath inside.
      .replace(/\.(?:\s?\.)+|…+/gu, "…")
      .replace(/…\s*(?=[.!?]|$)/gu, ".")
      .replace(/…\s*(?=\p{Lu})/gu, ". ")
      .replace(/…/gu, comma)
      .replace(/\.{2}/g, ".")
  );
}

function tidyWide(text: string): string {
  return text
    .replace(/["“”„«»「」『』《》〈〉【】〖〗]/gu, "")
    .replace(/(?<=\p{Script=Latin})[‘’](?=\p{Script=Latin})/gu, "'")
    .replace(/(?<!\p{Script=Latin})['‘’](?!\p{Script=Latin})/gu, "")
    .replace(/\s*[([{（［｛]\s*/gu, "，")
    .replace(/\s*[)\]}）］｝]\s*(?=[。！？，、；：.,!?]|$)/gu, "")
    .replace(/\s*[)\]}）］｝]\s*/gu, "，")
    .replace(/\s*(?:[\u2014\u2015]+|--+|->|=>|[\u2190-\u21ff])\s*/gu, "，")
    .replace(/\.(?:\s?\.){2,}|…+|。{2,}|・{3,}/gu, "…")
    .replace(/…\s*(?=[。！？!?]|$)/gu, "。")
    .replace(/…/gu, "，")
    .replace(/(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])\s*,\s*/gu, "，")
    .replace(/(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])\s*!/gu, "！")
    .replace(/(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])\s*\?/gu, "？")
    .replace(/(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])\s*\.(?=\s|$)/gu, "。");
}

const LINE_OR_ELEMENT = new RegExp(`[\\n${SENTENCE_BREAK}]+`, "u");
const WIDE_CHAR = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー々";
const BETWEEN_WIDE = new RegExp(
  `(?<=[${WIDE_CHAR}])\\s+(?=[${WIDE_CHAR}\\d])|(?<=\\d)\\s+(?=[${WIDE_CHAR}])`,
  "gu",
);
const AROUND_WIDE_MARK = /\s*([。！？，、；：])\s*/gu;

/** Sets spaces: none before a mark, one behind, none between unspaced characters. Hangul keeps its own. */
function setSpaces(text: string): string {
  return text
    .replace(/\s+/gu, " ")
    .replace(BETWEEN_WIDE, "")
    .replace(AROUND_WIDE_MARK, "$1")
    .replace(/\s+([,.;:!?؟،؛۔।])/gu, "$1")
    .replace(/(?<=\p{L})([,;])(?=\p{L})/gu, "$1 ")
    .trim();
}

/** Of several marks in a row the strongest stays. */
function collapseMarks(text: string): string {
  return text
    .replace(/([!?！？؟])[!?！？؟.。]*/gu, (run) => {
      const question = /[?？؟]/u.exec(run)?.[0];
      return question ?? (run[0] as string);
    })
    .replace(/[,;:،؛](?:\s*[,;:،؛])*(?=\s*[.!?؟۔])/gu, "")
    .replace(/([,،])(?:\s*[,;:،])+/gu, "$1")
    .replace(/([;:])(?:\s*[,;:])+/gu, "$1")
    .replace(/([.!?؟])\s*[,;:،]+/gu, "$1")
    .replace(/([.])(?:\s*[.])+/gu, "$1")
    .replace(/[，、；：]+(?=[。！？])/gu, "")
    .replace(/([，、])[，、；：]+/gu, "$1")
    .replace(/([。！？])[。，、]+/gu, "$1")
    .replace(/^[\s,.;:!?،؛。，、；：…·•*_~|\\/^=+-]+/u, "");
}

/**
 * Brings punctuation and spaces into their final form.
 *
 * @param continues the sentence goes on in the next piece: a comma is closing mark enough
 * @returns the empty string where nothing can be spoken
 */
export function finishPunctuation(text: string, language: string, continues: boolean): string {
  const wide = isWideLanguage(language);
  const stop = wide ? "。" : ".";
  const broken = text
    .split(LINE_OR_ELEMENT)
    .map((line) => line.trim())
    .filter(hasLetterOrDigit)
    .map((line, i, lines) => {
      const bare = line.replace(CLOSERS_AT_END, "").trimEnd();
      const isLast = i === lines.length - 1;
      return isLast || CLOSING.test(bare)
        ? line
        : `${bare.replace(/[,:;，：；、-]+$/u, "")}${stop}`;
    })
    .join(wide ? "" : " ");
  const tidy = wide ? tidyWide(broken) : tidyNarrow(broken, language);
  const clean = collapseMarks(setSpaces(tidy.replace(/[*_~|\\/^©®™•·�°<>{}[\]=+#]/gu, " "))).trim();
  const spaced = setSpaces(clean);
  if (!hasLetterOrDigit(spaced)) return "";
  const open = spaced.replace(/[\s-]+$/u, "");
  if (/[.!?。！？؟۔।॥]$/u.test(open)) return open;
  const comma = wide ? "，" : language === "ar" || language === "fa" ? "،" : ",";
  if (continues) return /[,;:，；：、،؛]$/u.test(open) ? open : open + comma;
  // A Greek question mark looks like a semicolon and closes; elsewhere a weak mark gives way.
  if (language === "el" && /[;\u037e]$/u.test(open)) return `${open.slice(0, -1)};`;
  return open.replace(/[,;:，；：、،؛]+$/u, "") + stop;
}
