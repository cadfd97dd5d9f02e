/**
 * Written English to spoken English: runs the readings in the order in which they may see each other's
 * input. What is specific comes first (addresses, money, dates), bare numbers last.
 */
import { sayDates, sayTimes, sayYears } from "./normalise-en-dates.ts";
import { sayMoney, sayUnits } from "./normalise-en-money.ts";
import { cardinal, digitsInWords, fraction, number, ordinal } from "./normalise-en-numbers.ts";
import { sayMachineNames } from "./normalise-en-web.ts";
import { sayAbbreviations, sayAcronyms, sayRoman } from "./normalise-en-words.ts";

/** "+1 (555) 123-4567", "555-123-4567", "555-1234": groups of digits with a short breath between. */
function sayPhones(text: string): string {
  const groups = (match: string): string =>
    (match.match(/\d+/g) ?? []).map(digitsInWords).join(", ");
  return text
    .replace(
      /(?<![\p{L}\d])\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}(?![\d-])/gu,
      (match) => `plus ${groups(match)}`,
    )
    .replace(/(?<![\p{L}\d])\(\d{3}\) ?\d{3}[-. ]\d{4}(?!\d)/gu, groups)
    .replace(/(?<![\p{L}\d.-])(?:1[-. ])?\d{3}[-. ]\d{3}[-. ]\d{4}(?![\d-])/gu, groups)
    .replace(/(?<![\p{L}\d.,-])\d{3}-\d{4}(?![\d-])/gu, groups);
}

const VULGAR: Readonly<Record<string, string>> = {
  "½": "1/2",
  "⅓": "1/3",
  "⅔": "2/3",
  "¼": "1/4",
  "¾": "3/4",
  "⅕": "1/5",
  "⅛": "1/8",
  "⅜": "3/8",
  "⅝": "5/8",
  "⅞": "7/8",
};

function sayFractions(text: string): string {
  return text
    .replace(
      /(\d)?([½⅓⅔¼¾⅕⅛⅜⅝⅞])/gu,
      (_m, whole: string | undefined, sign: string) =>
        `${whole === undefined ? "" : `${whole} `}${VULGAR[sign]}`,
    )
    .replace(
      /(?<![\d/.,])(?:(\d+) )?([1-9]\d?)\/(2|3|4|5|6|7|8|9|10|12|16|20|32|64|100)(?![\d/]|\.\d)/g,
      (match, whole: string | undefined, top: string, bottom: string) => {
        if (Number(top) >= Number(bottom))
          return whole === undefined ? `${cardinal(top)} over ${cardinal(bottom)}` : match;
        return `${whole === undefined ? "" : `${cardinal(whole)} and `}${fraction(top, bottom).replace(/^one (?=half|quarter)/, whole === undefined ? "one " : "a ")}`;
      },
    );
}

const OPERAND = "[\\p{L}\\d)]";
/** Signs between operands; a sign without operands is punctuation and left alone. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\s*(?:<=|≤|⩽)\s*/gu, " less than or equal to "],
  [/\s*(?:>=|≥|⩾)\s*/gu, " greater than or equal to "],
  [/\s*(?:!=|≠|<>)\s*/gu, " is not equal to "],
  [/\s*≈\s*/gu, " approximately equals "],
  [/\s*={2,3}\s*/gu, " equals "],
  [/\s*±\s*/gu, " plus or minus "],
  [/(?<=\d)\s*[×✕]\s*(?=\d)|(?<=\d) ?x ?(?=\d)/gu, " by "],
  [/\s*[×✕]\s*/gu, " times "],
  [/\s*÷\s*/gu, " divided by "],
  [/(?<=[\d)]|\b\p{L})\s*\*\s*(?=[\d(]|\p{L}\b)/gu, " times "],
  [/√\s*/gu, "square root of "],
  [/(?<=[\p{L}\d)])²/gu, " squared"],
  [/(?<=[\p{L}\d)])³/gu, " cubed"],
  [/(?<=[\p{L}\d)])\^2(?!\d)/gu, " squared"],
  [/(?<=[\p{L}\d)])\^3(?!\d)/gu, " cubed"],
  [/(?<=[\p{L}\d)])\^(?=[\d\p{L}])/gu, " to the power of "],
  [/∞/gu, " infinity "],
  [/(?<!\p{L})π(?!\p{L})/gu, " pi "],
  [/(?<=^|[\s(])[~≈](?=\d)/gu, "about "],
  [/(?<=[\d\p{L}])%/gu, " percent"],
  [/\s*&\s*/gu, " and "],
  [/(?<=\s|^)@(?=\s)/gu, "at"],
  [/(?<=\b[Aa]nd)\/(?=or\b)/g, " "],
];

const between = (sign: string): RegExp =>
  new RegExp(`(?<=${OPERAND})\\s*${sign}\\s*(?=[\\p{L}\\d(-])`, "gu");
const EQUALS = between("=");
const LESS = between("<");
const GREATER = between(">");

function saySigns(text: string): string {
  const equation = text.search(EQUALS) >= 0;
  let out = text;
  for (const [pattern, reading] of SIGNS) out = out.replace(pattern, reading);
  out = out
    .replace(EQUALS, " equals ")
    .replace(LESS, " less than ")
    .replace(GREATER, " greater than ")
    .replace(/(?<=[\d)])\s*\+\s*(?=[\d(])|(?<=[\p{L}\d)])\s\+\s(?=[\p{L}\d(])/gu, " plus ")
    .replace(/(?<=\d)\+(?=\s|$|[.,!?])/gu, " plus")
    .replace(/(?<=[\d)])\s\/\s(?=[\d(])/g, " divided by ");
  if (equation)
    out = out.replace(
      /(?<=[\p{L}\d)])\s[-\u2212]\s(?=[\p{L}\d(])|(?<=\d)[-\u2212](?=\d)/gu,
      " minus ",
    );
  return out.replace(/(?<=[\d\p{L})])\s*\u2212\s*(?=[\d(])/gu, " minus ");
}

const NUMBER = "\\d+(?:,\\d{3})*(?:\\.\\d+)?";

function sayRanges(text: string): string {
  return text.replace(
    new RegExp(`(?<![\\p{L}\\d.,-])(${NUMBER}) ?[-–—] ?(${NUMBER})(?![\\d-]|[.,]\\d|\\p{L})`, "gu"),
    (_m, low: string, high: string) => `${number(low)} to ${number(high)}`,
  );
}

/** Runs of this many digits name something (an order, an account); they are not a quantity. */
const NAMING_DIGITS = 8;

function sayNumbers(text: string): string {
  return text
    .replace(/(?<=\d)[-\u2013](?=\p{L})/gu, " ")
    .replace(/(?<![\d.,])(\d{1,3}(?:,\d{3})*|\d+)(st|nd|rd|th)\b/gi, (_m, digits: string) =>
      ordinal(digits),
    )
    .replace(
      /(?<![\d.,\p{L}])(\d+(?:\.\d+)?)(k)(?![\p{L}\d])/gu,
      (_m, digits: string) => `${number(digits)} thousand`,
    )
    .replace(
      /(?<![\d.,\p{L}])(\d+(?:\.\d+)?)(M|B|bn)(?![\p{L}\d])/gu,
      (_m, digits: string, scale: string) =>
        `${number(digits)} ${scale === "M" ? "million" : "billion"}`,
    )
    .replace(
      /(?<![\d.,\p{L}])(\d+)x(?![\p{L}\d])/gu,
      (_m, digits: string) => `${cardinal(digits)} times`,
    )
    .replace(/(?<=^|[\s(=:])[-\u2212](?=\d|\.\d)/gu, "minus ")
    .replace(/(?<=^|[\s(=:])\+(?=\d)/gu, "plus ")
    .replace(
      /(?<![\d\p{L}])\.(\d+)(?![\d.])/gu,
      (_m, decimals: string) => `zero point ${digitsInWords(decimals)}`,
    )
    .replace(
      /\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?/g,
      (match, at: number, whole: string) => {
        const gapBefore = /\p{L}$/u.test(whole.slice(0, at)) ? " " : "";
        const gapAfter = /^\p{L}/u.test(whole.slice(at + match.length)) ? " " : "";
        const names =
          /^\d+$/.test(match) &&
          ((match.length >= NAMING_DIGITS && !/0{5,}$/.test(match)) || /^0\d/.test(match));
        return gapBefore + (names ? digitsInWords(match) : number(match)) + gapAfter;
      },
    );
}

const DIGIT = /\p{N}/u;

/** The readings, each with what a text must hold to need it: most sentences need none. */
const STEPS: readonly (readonly [RegExp, (text: string) => string])[] = [
  [DIGIT, sayPhones],
  [/[@#/\\]|[+.]\S|\d/u, sayMachineNames],
  [DIGIT, sayMoney],
  [/\d|[A-Z][a-z]{2,3}\./, sayDates],
  [DIGIT, sayTimes],
  [/\b[IVXLC]+\b/, sayRoman],
  [DIGIT, sayFractions],
  [DIGIT, sayUnits],
  [/[.№#§/;]|\b(?:vs|approx|[Ee]g|PhD|Dr|Drs|St|Mrs?|Ms|Prof)\b/, sayAbbreviations],
  [DIGIT, sayYears],
  [/[^\p{L}\s.,!?'-]/u, saySigns],
  [DIGIT, sayRanges],
  [/\p{Lu}[\p{Lu}\d-]|\d\p{Lu}/u, sayAcronyms],
  [DIGIT, sayNumbers],
];

/** The whole of it. Input is clean text without markup; output has no digits. */
export function sayEnglish(text: string): string {
  let spoken = text;
  for (const [trigger, step] of STEPS) {
    if (trigger.test(spoken)) spoken = step(spoken);
  }
  return spoken.replace(/(?<=\p{L})\/(?=\p{L})/gu, " ").replace(/ {2,}/g, " ");
}
