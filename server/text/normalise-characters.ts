/**
 * First step of normalising: characters that are not meant to be seen or heard leave, the rest is
 * composed (spec 7.2, step 1). After it a text with soft hyphens, marks of direction, broken surrogates
 * or decomposed accents equals the plain spelling.
 */

/** Joiners carry meaning between letters of these scripts and nowhere else. */
const JOINING_SCRIPTS =
  "\\p{Script=Arabic}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}";
const LOOSE_JOINER = new RegExp(
  `(?<![${JOINING_SCRIPTS}\\p{M}])[\\u200c\\u200d]|[\\u200c\\u200d](?![${JOINING_SCRIPTS}])`,
  "gu",
);

/** One pictograph with its skin tones, joiners and variation marks, a flag, or a keycap's frame. */
const PICTOGRAPH =
  /(?:\p{Regional_Indicator}{1,2}|\p{Extended_Pictographic}(?:[\ufe0e\ufe0f\u20e3]|\p{Emoji_Modifier})*(?:\u200d\p{Extended_Pictographic}(?:[\ufe0e\ufe0f]|\p{Emoji_Modifier})*)*|\u20e3|[\u{e0020}-\u{e007f}])/gu;

/** Pictographs by their property that are signs of writing all the same. */
const SIGNS = new Set(["©", "®", "™", "‼", "⁉", "↔", "〰", "〽", "ℹ"]);

/** Removes emoji; a blank stays so that the words around one do not run together. */
export function dropPictographs(text: string): string {
  return text.replace(PICTOGRAPH, (match) => {
    const plain = match.replace(/\ufe0f|\ufe0e/g, "");
    if (/^[\u2190-\u21ff]$/u.test(plain)) return plain;
    return SIGNS.has(plain) ? plain : " ";
  });
}

/**
 * NFC text without control characters, invisible characters and lone surrogates. Line breaks become
 * `\n`, other white space becomes a plain space.
 */
export function cleanCharacters(text: string): string {
  if (/^[ -~\n]*$/.test(text)) return text;
  return dropPictographs(text.replace(/\r\n?|[\u2028\u2029\u0085\v\f]/g, "\n"))
    .replace(LOOSE_JOINER, "")
    .replace(/[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu, "")
    .replace(/(?![\n\t\u200c\u200d])\p{C}/gu, "")
    .replace(/\ufffd/g, " ")
    .normalize("NFC")
    .replace(/[^\S\n]/gu, " ");
}

/** Full-width letters, digits and ASCII marks between them become their plain forms. */
export function foldWidth(text: string): string {
  if (!/[\uff00-\uffef]/.test(text)) return text;
  return text
    .replace(/[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff05\uff04]/gu, (char) =>
      String.fromCharCode(char.charCodeAt(0) - 0xfee0),
    )
    .replace(/￥/gu, "¥")
    .replace(/(?<=\d)[\uff0e\uff0c\uff1a](?=\d)/gu, (char) =>
      String.fromCharCode(char.charCodeAt(0) - 0xfee0),
    );
}

/** Arabic-Indic and Persian digits, and the separators between them, become ASCII. */
export function foldDigits(text: string): string {
  if (!/[\u0660-\u06f9]/.test(text)) return text;
  return text
    .replace(/[\u0660-\u0669]/gu, (digit) => String(digit.charCodeAt(0) - 0x0660))
    .replace(/[\u06f0-\u06f9]/gu, (digit) => String(digit.charCodeAt(0) - 0x06f0))
    .replace(/(?<=\d)\u066b(?=\d)/gu, ".")
    .replace(/(?<=\d)\u066c(?=\d)/gu, ",");
}
