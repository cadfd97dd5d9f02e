/**
 * Takes markup away and keeps the words: Markdown as language models write it, SSML and HTML tags
 * (spec 7.2, step 2, widened). A heading or a list item becomes a sentence of its own.
 */

/** Where a line or an element ends a sentence: a private-use mark the punctuation step turns to a stop. */
export const SENTENCE_BREAK = "\ue000";

const CODE_BLOCK =
  /(^|\n)[ \t]*(`{3,}|~{3,})[^\n`]*(?:\n[\s\S]*?(?:\n[ \t]*\2[`~]*[ \t]*(?=\n|$)|$)|$)/g;

/** Names of HTML and SSML elements. Only these are tags; `<test>` is a word in brackets. */
const ELEMENTS =
  "speak|break|prosody|emphasis|say-as|phoneme|sub|audio|voice|lang|mark|lexicon|amazon:[a-z-]+|mstts:[a-z-]+|" +
  "html|body|head|p|s|w|br|hr|b|i|u|em|strong|span|div|a|ul|ol|li|h[1-6]|code|pre|table|thead|tbody|tr|td|th|" +
  "img|small|sup|blockquote|details|summary|del|ins|kbd|font|center|think|script|style";
const BREAKING = /^\/?(?:p|s|br|hr|div|li|h[1-6]|tr|blockquote|break|ul|ol|table|summary)\b/i;
const TAG = new RegExp(`<(/?(?:${ELEMENTS}))(?=[\\s/>])((?:\\s[^<>]*)?/?)>`, "gi");
/** The end of a tag whose beginning a sentence border cut off, and the other way round. */
const HALF_TAG = new RegExp(`<(?:/?(?:${ELEMENTS}))\\s[\\w:-]+=["'][^<>"']*$`, "i");
/** Control symbols of language models, `<|endoftext|>` and the like. */
const CONTROL = /<\|[^<>|\n]{0,40}\|>|<\/?user_inst>|<\/?s>|<pad>|<unk>/g;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  rsquo: "’",
  lsquo: "‘",
  ldquo: "“",
  rdquo: "”",
};

/** Removes control symbols, comments and known tags; `<word>` keeps its word. */
export function stripTags(text: string): string {
  if (!/[<&]/.test(text)) return text;
  return text
    .replace(/<!--[\s\S]*?-->/g, " ")
    .replace(CONTROL, " ")
    .replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/gi, " ")
    .replace(/<sub\s+alias=["']([^"'<>]*)["']\s*>[^<]*<\/sub>/gi, "$1")
    .replace(TAG, (_tag, name: string) =>
      BREAKING.test(name) && name !== "s" ? SENTENCE_BREAK : " ",
    )
    .replace(HALF_TAG, " ")
    .replace(/<https?:\/\/([^\s<>]+)>/gi, "https://$1")
    .replace(/<([\p{L}][\p{L}\p{N} _-]{0,40})\/?>/gu, " $1 ")
    .replace(/<\/([\p{L}][\p{L}\p{N}_-]{0,40})>/gu, " ")
    .replace(/&(#\d{1,6}|[a-z]{2,6});/gi, (entity, name: string) => {
      if (name.startsWith("#")) {
        const code = Number(name.slice(1));
        return code > 31 && code < 0x110000 ? String.fromCodePoint(code) : " ";
      }
      return ENTITIES[name.toLowerCase()] ?? entity;
    });
}

function stripInline(line: string): string {
  return line
    .replace(/!\[([^\]\n]*)\]\([^)\s]*(?:\s+["'][^"'\n]*["'])?\)/g, "$1")
    .replace(/\[([^\]\n]+)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+["'][^"'\n]*["'])?\)/g, "$1")
    .replace(/\]\((?:https?:\/\/|\/|#)[^)\s]*\)/g, " ")
    .replace(/\[([^\]\n]+)\]\[[^\]\n]*\]/g, "$1")
    .replace(/\[\^?\d+\]/g, "")
    .replace(/(`+)([^`\n]+)\1/g, "$2")
    .replace(/`/g, "")
    .replace(/\*{2,}|(?<![\p{L}\p{N}])_{2,}|_{2,}(?![\p{L}\p{N}])|~~/gu, "")
    .replace(/(^|[\s"'([{—–-])[*_](?=[^\s*_])([^*_\n]*[^\s*_])[*_](?![\p{L}\p{N}])/gu, "$1$2")
    .replace(/(?<=^|\s)\*(?=\p{L})|(?<=[\p{L}.,!?])\*(?=[\s.,!?;:]|$)/gu, "")
    .replace(/\\([\\`*_{}[\]()#+\-.!>~|])/g, "$1");
}

const isTableRule = (line: string): boolean => /^[\s:|-]*$/.test(line) && line.includes("--");

function stripLine(line: string): string {
  let text = line;
  if (/^\s*(?:[-*_=]\s*){3,}$/.test(text) || isTableRule(text)) return "";
  text = text.replace(/^\s*(?:>\s?)+/, "");
  text = text.replace(/^\s*#{1,6}(?:\s+|$)/, "").replace(/\s+#{1,6}\s*$/, "");
  text = text.replace(/^\s*[-*+•‣◦▪●–]\s+(?:\[[ xX]\]\s+)?/u, "");
  text = text.replace(/^\s*\(?\d{1,3}[.)]\s+(?=\S)/, "");
  text = text.replace(/^\s*([*_]{1,3})\d{1,3}[.)]\s+(?=\S)/, "$1");
  if (/^\s*\|.*\|\s*$/.test(text)) {
    text = text
      .trim()
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim())
      .filter(Boolean)
      .join(", ");
  }
  return stripInline(text);
}

/**
 * Removes Markdown.
 *
 * @param lineStart whether the text begins at the start of a line, so that `-` may be a bullet there
 * @returns lines without their marks; the caller ends each as a sentence
 */
export function stripMarkdown(text: string, lineStart: boolean): string {
  // Nothing that any rule here looks for: letters, spaces and ordinary marks of one line.
  if (/^[\p{L}\p{M}][\p{L}\p{M}\p{N} .,!?;:'"’$%/-]*$/u.test(text)) return text;
  const lines = text.replace(CODE_BLOCK, "$1").split("\n");
  return lines
    .map((line, i) => (i > 0 || lineStart ? stripLine(line) : stripInline(line)))
    .join("\n");
}
