/**
 * English numbers in words. Words are joined by spaces, not hyphens, and hundreds take "and": the form
 * that speech models have heard most. Pure functions of digit strings, so size and leading zeros survive.
 */

const ONES = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " +
  "seventeen eighteen nineteen"
).split(" ");
const TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES = ["", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion"];
const MAX_DIGITS = SCALES.length * 3;

const IRREGULAR_ORDINALS: Readonly<Record<string, string>> = {
  one: "first",
  two: "second",
  three: "third",
  five: "fifth",
  eight: "eighth",
  nine: "ninth",
  twelve: "twelfth",
};

function belowHundred(value: number): string {
  if (value < 20) return ONES[value] as string;
  const tens = TENS[Math.floor(value / 10)] as string;
  return value % 10 === 0 ? tens : `${tens} ${ONES[value % 10]}`;
}

function belowThousand(value: number): string {
  if (value < 100) return belowHundred(value);
  const hundreds = `${ONES[Math.floor(value / 100)]} hundred`;
  return value % 100 === 0 ? hundreds : `${hundreds} and ${belowHundred(value % 100)}`;
}

/** Each digit by itself: "0427" gives "zero four two seven". Anything else in the string is skipped. */
export function digitsInWords(digits: string): string {
  return [...digits.replace(/\D/g, "")].map((digit) => ONES[Number(digit)]).join(" ");
}

/** A whole number: "1234" or "1,234". Longer than 21 digits it is read digit by digit. */
export function cardinal(text: string | number): string {
  const digits = String(text)
    .replace(/\D/g, "")
    .replace(/^0+(?=\d)/, "");
  if (digits === "") return "";
  if (digits.length > MAX_DIGITS) return digitsInWords(digits);
  if (digits === "0") return "zero";
  const groups: number[] = [];
  for (let end = digits.length; end > 0; end -= 3) {
    groups.push(Number(digits.slice(Math.max(0, end - 3), end)));
  }
  const words: string[] = [];
  for (let i = groups.length - 1; i >= 0; i--) {
    const group = groups[i] as number;
    if (group === 0) continue;
    const last = i === 0 && group < 100 && groups.length > 1;
    words.push(`${last ? "and " : ""}${belowThousand(group)}${i > 0 ? ` ${SCALES[i]}` : ""}`);
  }
  return words.join(" ");
}

/** A number with an optional sign, thousands commas and decimals: "-1,234.50". */
export function number(text: string): string {
  const match = /^([-\u2212+]?)([\d,]*)(?:\.(\d+))?$/.exec(text.trim());
  if (match === null) return text;
  const [, sign, whole, decimals] = match;
  const words = cardinal(whole === "" ? "0" : (whole as string));
  const spoken = decimals === undefined ? words : `${words} point ${digitsInWords(decimals)}`;
  if (sign === "") return spoken;
  return `${sign === "+" ? "plus" : "minus"} ${spoken}`;
}

/** "21" gives "twenty first". */
export function ordinal(text: string | number): string {
  const words = cardinal(text).split(" ");
  const last = words.pop() ?? "";
  const irregular = IRREGULAR_ORDINALS[last];
  const ending = irregular ?? (last.endsWith("y") ? `${last.slice(0, -1)}ieth` : `${last}th`);
  return [...words, ending].join(" ");
}

/** A year as it is said: "1984" nineteen eighty four, "2005" two thousand and five, "1900" nineteen hundred. */
export function year(text: string | number): string {
  const value = Number(text);
  const century = Math.floor(value / 100);
  const rest = value % 100;
  if (value < 1000 || value > 9999) return cardinal(value);
  if (value >= 2000 && value < 2010) return cardinal(value);
  if (rest === 0) return century % 10 === 0 ? cardinal(value) : `${belowHundred(century)} hundred`;
  const low = rest < 10 ? `oh ${ONES[rest]}` : belowHundred(rest);
  return `${belowHundred(century)} ${low}`;
}

/** A decade from its first year: "1990" nineteen nineties, "80" eighties. */
export function decade(text: string): string {
  const words = (text.length === 4 ? year(text) : cardinal(text)).split(" ");
  const last = words.pop() as string;
  return [...words, last.endsWith("y") ? `${last.slice(0, -1)}ies` : `${last}s`].join(" ");
}

const DENOMINATORS: Readonly<Record<string, readonly [string, string]>> = {
  "2": ["half", "halves"],
  "4": ["quarter", "quarters"],
};

/** "3", "4" gives "three quarters". */
export function fraction(numerator: string, denominator: string): string {
  const plural = Number(numerator) !== 1;
  const named = DENOMINATORS[String(Number(denominator))];
  const name = named?.[plural ? 1 : 0] ?? `${ordinal(denominator)}${plural ? "s" : ""}`;
  return `${cardinal(numerator)} ${name}`;
}

const ROMAN: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100 };

/** Value of a well-formed Roman numeral up to 399, else undefined. */
export function roman(text: string): number | undefined {
  if (!/^(?=[IVXLC])C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$/.test(text)) return undefined;
  const values = [...text].map((letter) => ROMAN[letter] as number);
  return values.reduce(
    (sum, value, i) => ((values[i + 1] ?? 0) > value ? sum - value : sum + value),
    0,
  );
}
