/** Readings that only one language has: ordinals, years, abbreviations, native counting words. */
import { toCardinal as de } from "n2words/de-DE";
import { toOrdinal as frOrdinal } from "n2words/fr-FR";
import { toCardinal as zh } from "n2words/zh-Hans-CN";

/** A Chinese number as it is spoken: everyday characters, and 十 rather than 一十. */
export const chineseCardinal = (digits: string): string =>
  zh(digits, { formal: false }).replace(/^一十/, "十");

/** Chinese says years digit by digit. */
export function sayChineseYears(text: string): string {
  return text.replace(/(?<!\d)\d{4}(?=年)/g, (digits) =>
    [...digits].map((digit) => chineseCardinal(digit)).join(""),
  );
}

const GERMAN_MONTHS =
  "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(" ");
const GERMAN_ORDINAL = new RegExp(
  `((?:^|\\s)(\\p{L}+) )?(?<![\\d.,])(\\d{1,2})\\. ?(?=(?:${GERMAN_MONTHS.join("|")}|Jahrhundert|Weltkrieg|Platz|Stock|Mal|Geburtstag|Klasse|Kapitel)(?!\\p{L}))`,
  "gu",
);
const IRREGULAR: Readonly<Record<number, string>> = {
  1: "erste",
  3: "dritte",
  7: "siebte",
  8: "achte",
};
const GERMAN_ABBREVIATIONS: readonly (readonly [RegExp, string])[] = [
  [/(?<!\p{L})z\. ?B\./gu, "zum Beispiel"],
  [/(?<!\p{L})d\. ?h\./gu, "das heißt"],
  [/(?<!\p{L})u\. ?a\./gu, "unter anderem"],
  [/(?<!\p{L})usw\./gu, "und so weiter"],
  [/(?<!\p{L})bzw\./gu, "beziehungsweise"],
  [/(?<!\p{L})ca\./gu, "circa"],
  [/(?<!\p{L})Nr\. ?(?=\d)/gu, "Nummer "],
  [/(?<!\p{L})Dr\./gu, "Doktor"],
];

/** "am 3. Oktober", "der 2. Weltkrieg", "03.10.2025", "1984", "z. B.". */
export function sayGerman(text: string): string {
  let out = text;
  for (const [pattern, reading] of GERMAN_ABBREVIATIONS) {
    out = out.replace(pattern, (match, at: number, whole: string) =>
      // The stop of the last word is the one of the sentence too.
      at + match.length === whole.length ? `${reading}.` : reading,
    );
  }
  return (
    out
      .replace(
        /(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d|\.\d)/g,
        (match, day: string, month: string, year: string) => {
          const name = GERMAN_MONTHS[Number(month) - 1];
          return name === undefined ? match : `${Number(day)}. ${name} ${year}`;
        },
      )
      .replace(
        GERMAN_ORDINAL,
        (_m, lead: string | undefined, previous: string | undefined, digits: string) => {
          const value = Number(digits);
          const stem = IRREGULAR[value] ?? `${de(digits)}${value < 20 ? "te" : "ste"}`;
          // The ending follows the word before: "der dritte", "am dritten", alone "dritter".
          const ending = /^(?:der|die|das)$/i.test(previous ?? "") ? "" : "n";
          return `${lead ?? ""}${stem}${previous === undefined ? "r" : ending} `;
        },
      )
      // Years of these centuries are counted in hundreds: neunzehnhundertvierundachtzig.
      .replace(
        /(?<![\d.,\p{L}])(1[1-9])(\d\d)(?!\d|[.,]\d|\s?(?:€|Euro|EUR))/gu,
        (_m, century: string, rest: string) =>
          `${de(century)}hundert${rest === "00" ? "" : de(String(Number(rest)))}`,
      )
  );
}

/** "1er", "2e", "3ème". */
export function sayFrenchOrdinals(text: string): string {
  return text
    .replace(/(?<![\d.,\p{L}])1(er|re)(?!\p{L})/gu, (_m, end: string) =>
      end === "re" ? "première" : "premier",
    )
    .replace(/(?<![\d.,\p{L}])(\d{1,3})(?:e|ème|eme)(?!\p{L})/gu, (_m, digits: string) =>
      frOrdinal(Number(digits)),
    );
}

const KOREAN_ONES = ["", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"];
const KOREAN_TENS = ["", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"];

/** Hours, people and things are counted with native words: "3시" 세 시, "20살" 스무 살. */
export function sayKoreanCounts(text: string): string {
  return text.replace(
    /(?<![\d.,])([1-9]\d?)\s?(?=시(?![\p{Script=Hangul}]{2})|시간|개(?!월)|명|살|마리|번째|사람)/gu,
    (_m, digits: string) => {
      const value = Number(digits);
      if (value === 20) return "스무 ";
      return `${KOREAN_TENS[Math.floor(value / 10)]}${KOREAN_ONES[value % 10]} `;
    },
  );
}
