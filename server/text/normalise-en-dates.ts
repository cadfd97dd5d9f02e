/** English readings of dates, times of day, years and decades. */
import { cardinal, decade, ordinal, year } from "./normalise-en-numbers.ts";

const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );
const MONTH_NAMES: Readonly<Record<string, string>> = Object.fromEntries([
  ...MONTHS.flatMap((month) => [
    [month.toLowerCase(), month],
    [month.slice(0, 3).toLowerCase(), month],
  ]),
  ["sept", "September"],
]);
const MONTH = `(?:${MONTHS.join("|")}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)`;
const DAY = "(0?[1-9]|[12]\\d|3[01])";
const YEAR = "(1[0-9]\\d\\d|20\\d\\d)";

const monthName = (name: string): string => MONTH_NAMES[name.toLowerCase()] ?? name;

const monthDayYear = (month: string, day: string, yearDigits: string | undefined): string =>
  `${month} ${ordinal(day)}${yearDigits === undefined ? "" : `, ${year(yearDigits)}`}`;

function numericDate(first: string, second: string, yearDigits: string, match: string): string {
  const a = Number(first);
  const b = Number(second);
  const full = yearDigits.length === 2 ? `20${yearDigits}` : yearDigits;
  // Month first as in the United States, unless that month cannot be.
  const [month, day] = a > 12 ? [b, a] : [a, b];
  if (month < 1 || month > 12 || day < 1 || day > 31) return match;
  return monthDayYear(MONTHS[month - 1] as string, String(day), full);
}

/** "the 1990s", "2026-11-29", "11/29/2026", "29 November 2026", "Nov. 29", "November 29th, 2026". */
export function sayDates(text: string): string {
  return text
    .replace(/(?<![\d.,])(1[1-9]\d0|20\d0)['’]?s\b/g, (_m, first: string) => decade(first))
    .replace(
      /(?<=\b(?:[Tt]he|[Tt]heir|his|her|my|early|late|mid)[ -])([2-9]0)s\b|['’]([1-9]0)s\b/g,
      (_m, plain: string | undefined, short: string | undefined) => decade(plain ?? short ?? ""),
    )
    .replace(
      /(?<![\d-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?Z?)?(?![\d-])/g,
      (_m, y: string, month: string, day: string, time: string | undefined) =>
        `${monthDayYear(MONTHS[Number(month) - 1] as string, day, y)}${time === undefined ? "" : ` at ${time}`}`,
    )
    .replace(
      /(?<![\d/])(\d{1,2})\/(\d{1,2})\/(\d{4}|\d{2})(?![\d/])/g,
      (m, a: string, b: string, y: string) => numericDate(a, b, y, m),
    )
    .replace(
      /(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?![\d.]\d)/g,
      (m, day: string, month: string, y: string) => numericDate(month, day, y, m),
    )
    .replace(
      new RegExp(
        `\\b([Tt]he )?${DAY}(?:st|nd|rd|th)?(?: of)? (${MONTH})\\b\\.?(?:,? ${YEAR}\\b)?`,
        "g",
      ),
      (_m, the: string | undefined, day: string, month: string, y: string | undefined) =>
        `${the ?? "the "}${ordinal(day)} of ${monthName(month)}${y === undefined ? "" : ` ${year(y)}`}`,
    )
    .replace(
      new RegExp(
        `\\b(${MONTH})\\.? ${DAY}(?:st|nd|rd|th)?(?![\\d:]|[.,]\\d|(?: ?[ap]\\.?m\\b)|%)(?:,? ${YEAR}\\b)?`,
        "g",
      ),
      (_m, month: string, day: string, y: string | undefined) =>
        monthDayYear(monthName(month), day, y),
    )
    .replace(
      new RegExp(`\\b(${MONTH})\\.? ${YEAR}\\b`, "g"),
      (_m, month: string, y: string) => `${monthName(month)} ${year(y)}`,
    )
    .replace(/\b(Jan|Feb|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.(?=\s|,|$)/g, (_m, month: string) =>
      monthName(month),
    );
}

const meridiem = (letter: string): string => (letter.toLowerCase() === "a" ? " a m" : " p m");

/** Clock time in words; `half` is " a m", " p m" or empty. */
function clock(hour: string, minute: string, half: string): string {
  const minutes = Number(minute);
  if (minutes === 0) {
    if (half !== "") return cardinal(hour) + half;
    return Number(hour) > 12 ? `${cardinal(hour)} hundred` : `${cardinal(hour)} o'clock`;
  }
  return `${cardinal(hour)} ${minutes < 10 ? "oh " : ""}${cardinal(minute)}${half}`;
}

/** "3:30pm", "15:45", "3 p.m.", "12:30:45", "24/7". */
export function sayTimes(text: string): string {
  return text
    .replace(/\b24\/7\b/g, "twenty four seven")
    .replace(
      /(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d):([0-5]\d)(?![\d:])/g,
      (_m, hour: string, minute: string, second: string) =>
        `${clock(hour, minute, "")} and ${cardinal(second)} seconds`,
    )
    .replace(
      /(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?: ?([ap])\.? ?m\b(\.?))?(?![\d:])/gi,
      (
        _m,
        hour: string,
        minute: string,
        half: string | undefined,
        stop: string | undefined,
        at: number,
        whole: string,
      ) =>
        clock(hour, minute, half === undefined ? "" : meridiem(half)) +
        finalStop(stop, at + _m.length, whole),
    )
    .replace(
      /(?<![\d:.,])(1[0-2]|0?[1-9]) ?([ap])\.?m\b(\.?)/gi,
      (m, hour: string, half: string, stop: string, at: number, whole: string) =>
        `${cardinal(hour)}${meridiem(half)}${finalStop(stop, at + m.length, whole)}`,
    )
    .replace(
      /(?<![\d:.])(\d{1,2}):(\d{1,2})(?![\d:])/g,
      (_m, a: string, b: string) => `${cardinal(a)} to ${cardinal(b)}`,
    );
}

/** The stop of "p.m." is also the one of the sentence at the end and before a capital word. */
function finalStop(stop: string | undefined, end: number, whole: string): string {
  return stop === "." && /^\s*(?:$|\p{Lu}(?!\p{Lu}))/u.test(whole.slice(end)) ? "." : "";
}

/** Words before a four-digit number that make it a year. */
const YEAR_CONTEXT =
  "in|since|until|till|by|from|before|after|during|circa|around|about|year|years|of|early|late|mid|spring|summer|autumn|fall|winter|class|copyright|between|and|to|born|died|est";
/** Words behind a number of this size that are verbs, not things counted. */
const NOT_COUNTED =
  "was|is|has|does|as|its|this|his|hers|us|yes|brings|marks|sees|looks|starts|ends|comes|goes|across|plus|versus|thus|perhaps|always";

/** "in 1984", "1914-1918", "'84", "44 BC". */
export function sayYears(text: string): string {
  return text
    .replace(/(?<![\p{L}\d])['’]([1-9]\d)(?!\d|s|['’])/gu, (_m, digits: string) => cardinal(digits))
    .replace(
      /(?<![\d.,$€£])(1[0-9]\d\d|20\d\d)\s?[-–]\s?(1[0-9]\d\d|20\d\d|\d\d)(?![\d.,]\d|\d)/g,
      (_m, from: string, to: string) =>
        `${year(from)} to ${to.length === 2 ? cardinal(to) : year(to)}`,
    )
    .replace(
      /(?<![\d.,])(\d{1,4}) (BCE?|AD|CE)\b/g,
      (_m, digits: string, era: string) =>
        `${digits.length === 4 ? year(digits) : cardinal(digits)} ${[...era].join(" ")}`,
    )
    .replace(
      new RegExp(
        `\\b((?:${YEAR_CONTEXT})(?: the year)?) (1[1-9]\\d\\d|20\\d\\d)(?![\\d,.:%-]\\d|\\d| (?!(?:${NOT_COUNTED})\\b)[a-z]+s\\b| people| percent)`,
        "gi",
      ),
      (_m, before: string, digits: string) => `${before} ${year(digits)}`,
    )
    .replace(
      new RegExp(
        `(?<![\\d.,$€£¥#-]|(?<!\\p{L})\\d )(19\\d\\d|20[0-9]\\d)(?![\\d,.:%/-]\\d|\\d|[\\p{L}]| (?!(?:${NOT_COUNTED})\\b)[a-z]+s\\b| (?:people|percent|more|other|million|billion|thousand)\\b)`,
        "gu",
      ),
      (_m, digits: string) => year(digits),
    );
}
