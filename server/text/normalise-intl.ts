/**
 * Numbers, money, percentages, times and a few signs in languages other than English, through the number
 * words of n2words. Languages it is not asked about keep their digits for the model to read.
 *
 * Only forms that are right without grammar around them are written out; where gender or case would have
 * to be guessed, the plain cardinal stands.
 */
import { type NumberWords, numberWords } from "./normalise-intl-words.ts";

const SPACE_GROUP = "[ \\u00a0\\u202f]";

/** What may not stand before a number: in unspaced writing, other letters may. */
const before = (words: NumberWords): string =>
  words.joinsDirectly ? "[\\p{Script=Latin}\\p{N}.,]" : "[\\p{L}\\p{N}.,]";

interface Shape {
  /** One number, as a pattern without groups. */
  readonly pattern: string;
  readonly decimal: string;
}

/** How a language writes numbers: which mark groups thousands and which starts the decimals. */
function shapeOf(words: NumberWords): Shape {
  const thousands = words.groups
    .map((group) => (group === " " ? SPACE_GROUP : `[${group}]`))
    .join("|");
  const decimal = words.decimalMark;
  const grouped = `\\d{1,3}(?:(?:${thousands})\\d{3})+(?!\\d)`;
  return { pattern: `(?:${grouped}|\\d+)(?:[${decimal}]\\d+)?`, decimal };
}

/** Splits a written number into its digits before and behind the decimal mark. */
function parts(text: string, shape: Shape): { whole: string; decimals: string } {
  const at = text.lastIndexOf(shape.decimal);
  const hasDecimals = at >= 0 && /^\d+$/.test(text.slice(at + 1));
  return {
    whole: (hasDecimals ? text.slice(0, at) : text).replace(/\D/g, ""),
    decimals: hasDecimals ? text.slice(at + 1) : "",
  };
}

function sayNumber(text: string, shape: Shape, words: NumberWords): string {
  const { whole, decimals } = parts(text, shape);
  if (decimals === "") {
    if (/^0\d/.test(whole) || whole.length > 15) return sayDigits(whole, words);
    return words.cardinal(whole);
  }
  const point = words.joinsDirectly ? words.decimalWord : ` ${words.decimalWord} `;
  return `${words.cardinal(whole)}${point}${sayDigits(decimals, words)}`;
}

const sayDigits = (digits: string, words: NumberWords): string =>
  [...digits].map((digit) => words.cardinal(digit)).join(words.joinsDirectly ? "" : " ");

const CURRENCY_SIGNS: Readonly<Record<string, string>> = {
  "€": "EUR",
  EUR: "EUR",
  Euro: "EUR",
  $: "USD",
  US$: "USD",
  USD: "USD",
  "£": "GBP",
  GBP: "GBP",
  "¥": "JPY",
  JPY: "JPY",
  円: "JPY",
  "₽": "RUB",
  "₺": "TRY",
  zł: "PLN",
  Kč: "CZK",
  kr: "KR",
  Ft: "HUF",
  "₩": "KRW",
};
const SIGN = "US\\$|[€$£¥₽₺₩]|(?:EUR|USD|GBP|JPY)(?![\\p{L}\\p{N}])";
const TRAILING_SIGN = `${SIGN}|(?:zł|Kč|kr|Ft)(?![\\p{L}\\p{N}])`;

function sayMoney(text: string, shape: Shape, words: NumberWords): string {
  const amount = (written: string, sign: string): string => {
    const currency = words.currencies[CURRENCY_SIGNS[sign] as string];
    const { whole, decimals } = parts(written, shape);
    const gap = words.joinsDirectly ? "" : " ";
    if (currency === undefined) return `${sayNumber(written, shape, words)}${gap}${sign}`;
    const unit = words.cardinal(whole) === words.cardinal("1") ? currency.one : currency.many;
    const count = (digits: string): string =>
      Number(digits) === 1 && words.article !== undefined ? words.article : words.cardinal(digits);
    const cents = decimals === "" ? 0 : Number(decimals.slice(0, 2).padEnd(2, "0"));
    if (decimals.length > 2 || words.joinsDirectly) {
      return `${sayNumber(written, shape, words)}${gap}${unit}`;
    }
    if (cents === 0) return `${count(whole)} ${unit}`;
    if (Number(whole) === 0 && currency.cents !== undefined) {
      return `${count(String(cents))} ${cents === 1 ? currency.cents[0] : currency.cents[1]}`;
    }
    return `${count(whole)} ${unit}${words.centJoiner}${words.cardinal(String(cents))}`;
  };
  return text
    .replace(
      new RegExp(`(?<!${before(words)})(${SIGN})\\s?(${shape.pattern})`, "gu"),
      (_m, sign: string, written: string) => amount(written, sign),
    )
    .replace(
      new RegExp(`(?<![\\p{N}.,])(${shape.pattern})\\s?(${TRAILING_SIGN})`, "gu"),
      (_m, written: string, sign: string) => amount(written, sign),
    );
}

function sayTimes(text: string, words: NumberWords): string {
  const { hour } = words;
  if (hour === undefined) return text;
  return text.replace(
    /(?<![\d:.,])([01]?\d|2[0-4])(?:[:：]|(?<=\d)h(?=\d))([0-5]\d)(?![\d:])( Uhr)?/g,
    (_m, hours: string, minutes: string) => {
      const minute = Number(minutes) === 0 ? "" : words.cardinal(String(Number(minutes)));
      return hour(words.cardinal(String(Number(hours))), minute);
    },
  );
}

function sayWeb(text: string, words: NumberWords): string {
  const dotted = (name: string) => name.replace(/\./g, ` ${words.dot} `).replace(/[-_]/g, " ");
  return text
    .replace(
      /(?<![\p{L}\p{N}])([\p{L}\p{N}._%+-]+)@([\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+)/gu,
      (_m, user: string, host: string) => `${dotted(user)} ${words.at} ${dotted(host)}`,
    )
    .replace(
      /\bhttps?:\/\/(?:www\.)?([\p{L}\p{N}.-]+[\p{L}\p{N}])(?:[/?#:][^\s<>"'，。！？、]*)?/giu,
      (_m, host: string) => dotted(host),
    );
}

/** "2026-11-29" in the order of the language, where that order is known. */
function sayDates(text: string, language: string): string {
  return text.replace(
    /(?<![\d-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])/g,
    (match, year: string, month: string, day: string) => {
      if (language === "zh" || language === "ja") {
        return `${year}年${Number(month)}月${Number(day)}日`;
      }
      return language === "de" ? `${Number(day)}.${Number(month)}.${year}` : match;
    },
  );
}

/** Digits in three or more groups with hyphens are read one by one. */
function sayPhones(text: string, words: NumberWords): string {
  return text.replace(/(?<![\d-])\+?\d{1,4}(?:-\d{2,5}){2,}(?![\d-])/g, (match) =>
    match
      .split("-")
      .map((group) => sayDigits(group.replace(/\D/g, ""), words))
      .join(words.joinsDirectly ? "、" : ", "),
  );
}

/**
 * Writes out what can be written out.
 * @param language two-letter code; unknown ones return the text as it is, signs for addresses excepted
 */
export function sayInternational(text: string, language: string): string {
  const words = numberWords(language);
  if (words === undefined) return text;
  if (!/\p{N}|@|:\/\//u.test(text)) return words.special?.(text) ?? text;
  const shape = shapeOf(words);
  const bound = before(words);
  const range = words.joinsDirectly ? words.to : ` ${words.to} `;
  let out = sayPhones(sayDates(sayWeb(text, words), language), words);
  out = sayMoney(out, shape, words);
  out = sayTimes(out, words);
  if (words.special !== undefined) out = words.special(out);
  out = out
    .replace(new RegExp(`(?<!${bound})(${shape.pattern})\\s?%`, "gu"), (_m, written: string) =>
      words.percent(sayNumber(written, shape, words)),
    )
    .replace(
      new RegExp(`(?<!${bound})(${shape.pattern})\\s?°\\s?C(?!\\p{L})`, "gu"),
      (_m, written: string) => {
        const value = sayNumber(written, shape, words);
        return words.degrees === undefined ? `${value} °C` : words.degrees(value);
      },
    )
    .replace(/(?<=\d)\s?[-–~〜～]\s?(?=\d+(?![\d.-]*-\d))(?<![\d.]-\d+\s?[-–])/gu, range)
    .replace(/(?<=^|[\s(])[-\u2212](?=\d)/gu, `${words.minus} `);
  // Versions and other chains of numbers keep their shape, read part by part.
  out = out.replace(/(?<![\p{N}.,])\d+(?:\.\d+){2,}(?![\p{N}.])/gu, (chain) => {
    if (new RegExp(`^(?:${shape.pattern})$`, "u").test(chain)) return chain;
    const dot = words.joinsDirectly ? words.decimalWord : ` ${words.dot} `;
    return chain
      .split(".")
      .map((part) => words.cardinal(part))
      .join(dot);
  });
  return out.replace(
    new RegExp(
      `(?<!${bound})(${shape.pattern}|\\d+\\.\\d+)(?![\\p{Script=Latin}\\p{N}]|[.,]\\d)`,
      "gu",
    ),
    (written) => {
      const plainDot =
        shape.decimal !== "." && /^\d+\.\d+$/.test(written) && !/^\d{1,3}\.\d{3}$/.test(written);
      return sayNumber(written, plainDot ? { pattern: "", decimal: "." } : shape, words);
    },
  );
}
