/**
 * Written text to the text a model is to speak (spec 7.2, re-derived without its faults).
 *
 * One entry, `normalise`; the steps live in the `normalise-*` files: characters, markup, readings by
 * language, punctuation. Nothing is spoken that cannot be: marks alone give the empty string.
 */
import { detectLanguage, languageCode } from "./language.ts";
import { cleanCharacters, foldDigits, foldWidth } from "./normalise-characters.ts";
import { sayEnglish } from "./normalise-en.ts";
import { sayInternational } from "./normalise-intl.ts";
import { stripMarkdown, stripTags } from "./normalise-markup.ts";
import { finishPunctuation } from "./normalise-punctuation.ts";

export interface NormaliseOptions {
  /** Language of the text, in any form `languageCode` takes. Detected where absent. */
  readonly language?: string;
  /** Language of the text before it, for detection. */
  readonly hint?: string;
  /** Take Markdown away (default). Off, its marks count as punctuation and are still not read aloud. */
  readonly markdown?: boolean;
  /** Write numbers, money, dates and the like as words (default). */
  readonly spokenForms?: boolean;
  /** The text begins at the start of a line (default). */
  readonly lineStart?: boolean;
  /** The sentence goes on in the next piece, so it gets no closing mark. */
  readonly continues?: boolean;
}

export interface Normalised {
  /** What the model is to say; empty where there is nothing to say. */
  readonly spoken: string;
  /** Two-letter code of the language whose rules were used. */
  readonly language: string;
}

/** Normalises a sentence or a whole text. Never throws, whatever the characters. */
export function normalise(text: string, options: NormaliseOptions = {}): Normalised {
  const cleaned = stripTags(cleanCharacters(text));
  const bare =
    options.markdown === false ? cleaned : stripMarkdown(cleaned, options.lineStart !== false);
  const language = languageCode(options.language) ?? detectLanguage(bare, options.hint);
  const folded = foldDigits(foldWidth(bare));
  let words = folded;
  if (options.spokenForms !== false) {
    words = folded
      .split("\n")
      .map((line) => (language === "en" ? sayEnglish(line) : sayInternational(line, language)))
      .join("\n");
  }
  return { spoken: finishPunctuation(words, language, options.continues === true), language };
}
