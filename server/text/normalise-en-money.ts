/** English readings of amounts of money and of numbers with a unit. */
import { cardinal, number } from "./normalise-en-numbers.ts";

interface Currency {
  readonly one: string;
  readonly many: string;
  readonly cent?: readonly [string, string];
}

const CENTS = ["cent", "cents"] as const;
const CURRENCIES: Readonly<Record<string, Currency>> = {
  $: { one: "dollar", many: "dollars", cent: CENTS },
  US$: { one: "U S dollar", many: "U S dollars", cent: CENTS },
  USD: { one: "U S dollar", many: "U S dollars", cent: CENTS },
  CA$: { one: "Canadian dollar", many: "Canadian dollars", cent: CENTS },
  CAD: { one: "Canadian dollar", many: "Canadian dollars", cent: CENTS },
  A$: { one: "Australian dollar", many: "Australian dollars", cent: CENTS },
  AUD: { one: "Australian dollar", many: "Australian dollars", cent: CENTS },
  "€": { one: "euro", many: "euros", cent: CENTS },
  EUR: { one: "euro", many: "euros", cent: CENTS },
  "£": { one: "pound", many: "pounds", cent: ["penny", "pence"] },
  GBP: { one: "pound", many: "pounds", cent: ["penny", "pence"] },
  "¥": { one: "yen", many: "yen" },
  JPY: { one: "yen", many: "yen" },
  CNY: { one: "yuan", many: "yuan" },
  RMB: { one: "yuan", many: "yuan" },
  CHF: { one: "Swiss franc", many: "Swiss francs" },
  "₹": { one: "rupee", many: "rupees" },
  INR: { one: "rupee", many: "rupees" },
  "₩": { one: "won", many: "won" },
  "₽": { one: "ruble", many: "rubles" },
  "₿": { one: "bitcoin", many: "bitcoins" },
};
const SYMBOL = "US\\$|CA\\$|A\\$|[$€£¥₹₩₽₿]";
const CODE = "USD|CAD|AUD|EUR|GBP|JPY|CNY|RMB|CHF|INR";
const AMOUNT = "\\d+(?:,\\d{3})*(?:\\.\\d+)?|\\d+,\\d{2}(?!\\d)";
const SCALE_WORDS: Readonly<Record<string, string>> = {
  k: "thousand",
  m: "million",
  mn: "million",
  b: "billion",
  bn: "billion",
  t: "trillion",
  tn: "trillion",
};
const SCALE = "thousand|million|billion|trillion|[kK]|mn?|M|bn?|B|tn?|T";

function sayAmount(amount: string, scale: string | undefined, currency: Currency): string {
  const plain = /,\d{2}$/.test(amount) ? amount.replace(",", ".") : amount.replace(/,/g, "");
  if (scale !== undefined) {
    const word = SCALE_WORDS[scale.toLowerCase()] ?? scale.toLowerCase();
    return `${number(plain)} ${word} ${currency.many}`;
  }
  const [whole = "0", decimals = ""] = plain.split(".");
  const unit = Number(whole) === 1 ? currency.one : currency.many;
  if (decimals === "" || currency.cent === undefined || decimals.length > 2) {
    const zeros = /^0*$/.test(decimals);
    return zeros ? `${cardinal(whole)} ${unit}` : `${number(plain)} ${currency.many}`;
  }
  const cents = Number(decimals.padEnd(2, "0"));
  const spokenCents = `${cardinal(cents)} ${currency.cent[cents === 1 ? 0 : 1]}`;
  if (cents === 0) return `${cardinal(whole)} ${unit}`;
  return Number(whole) === 0 ? spokenCents : `${cardinal(whole)} ${unit} and ${spokenCents}`;
}

const lookUp = (symbol: string): Currency => CURRENCIES[symbol] as Currency;
const sign = (minus: string | undefined): string => (minus ? "minus " : "");

/** What prices and counts are given for: "$5/month", "£12.50/kg". */
const PER_UNITS: Readonly<Record<string, string>> = {
  mo: "month",
  yr: "year",
  hr: "hour",
  h: "hour",
  min: "minute",
  kg: "kilogram",
  km: "kilometer",
  lb: "pound",
};
const PER = new RegExp(
  `(?<=\\d[kKmM]?) ?/ ?(day|week|month|year|night|hour|person|user|${Object.keys(PER_UNITS).join("|")})\\b`,
  "g",
);

/** "$1,234.50", "€27", "£3m", "27,50 €", "US$5", "$10-12". */
export function sayMoney(text: string): string {
  const scaled = `(?: ?(${SCALE})(?![\\p{L}\\p{N}]))?`;
  return text
    .replace(PER, (_m, unit: string) => ` per ${PER_UNITS[unit] ?? unit}`)
    .replace(
      new RegExp(`(${SYMBOL}) ?(${AMOUNT}) ?[-–] ?(?:${SYMBOL})? ?(${AMOUNT})${scaled}`, "gu"),
      (_m, symbol: string, low: string, high: string, scale?: string) =>
        `${number(low)} to ${sayAmount(high, scale, lookUp(symbol))}`,
    )
    .replace(
      new RegExp(
        `(?<![\\p{L}\\p{N}])([-−])?(${SYMBOL}|(?:${CODE})(?= ?\\d)) ?([-−])?(${AMOUNT})${scaled}`,
        "gu",
      ),
      (
        _m,
        before: string | undefined,
        symbol: string,
        inside: string | undefined,
        amount: string,
        scale?: string,
      ) => sign(before ?? inside) + sayAmount(amount, scale, lookUp(symbol)),
    )
    .replace(
      new RegExp(
        `(?<![\\p{L}\\p{N}.,])([-−])?(${AMOUNT})(?: ?(thousand|million|billion|trillion|k|M|m|bn))? ?(${SYMBOL}|(?:${CODE})(?![\\p{L}\\p{N}]))`,
        "gu",
      ),
      (_m, minus: string | undefined, amount: string, scale: string | undefined, symbol: string) =>
        sign(minus) + sayAmount(amount, scale, lookUp(symbol)),
    )
    .replace(
      /(?<![\p{L}\p{N}.,])(\d+) ?¢/gu,
      (_m, cents: string) => `${cardinal(cents)} ${cents === "1" ? "cent" : "cents"}`,
    );
}

/** Singular and plural; a slash in the key is "per". Case matters: Mb is not MB. */
const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  km: ["kilometer", "kilometers"],
  m: ["meter", "meters"],
  cm: ["centimeter", "centimeters"],
  mm: ["millimeter", "millimeters"],
  mi: ["mile", "miles"],
  ft: ["foot", "feet"],
  yd: ["yard", "yards"],
  kg: ["kilogram", "kilograms"],
  g: ["gram", "grams"],
  mg: ["milligram", "milligrams"],
  lb: ["pound", "pounds"],
  lbs: ["pound", "pounds"],
  oz: ["ounce", "ounces"],
  l: ["liter", "liters"],
  L: ["liter", "liters"],
  ml: ["milliliter", "milliliters"],
  mL: ["milliliter", "milliliters"],
  "km/h": ["kilometer per hour", "kilometers per hour"],
  kmh: ["kilometer per hour", "kilometers per hour"],
  mph: ["mile per hour", "miles per hour"],
  "m/s": ["meter per second", "meters per second"],
  "km²": ["square kilometer", "square kilometers"],
  "m²": ["square meter", "square meters"],
  "m³": ["cubic meter", "cubic meters"],
  "°C": ["degree Celsius", "degrees Celsius"],
  "℃": ["degree Celsius", "degrees Celsius"],
  "°F": ["degree Fahrenheit", "degrees Fahrenheit"],
  "℉": ["degree Fahrenheit", "degrees Fahrenheit"],
  "°": ["degree", "degrees"],
  "%": ["percent", "percent"],
  "‰": ["per mille", "per mille"],
  kB: ["kilobyte", "kilobytes"],
  KB: ["kilobyte", "kilobytes"],
  MB: ["megabyte", "megabytes"],
  GB: ["gigabyte", "gigabytes"],
  TB: ["terabyte", "terabytes"],
  "MB/s": ["megabyte per second", "megabytes per second"],
  "GB/s": ["gigabyte per second", "gigabytes per second"],
  Mbps: ["megabit per second", "megabits per second"],
  Gbps: ["gigabit per second", "gigabits per second"],
  Hz: ["hertz", "hertz"],
  kHz: ["kilohertz", "kilohertz"],
  MHz: ["megahertz", "megahertz"],
  GHz: ["gigahertz", "gigahertz"],
  W: ["watt", "watts"],
  kW: ["kilowatt", "kilowatts"],
  MW: ["megawatt", "megawatts"],
  kWh: ["kilowatt hour", "kilowatt hours"],
  V: ["volt", "volts"],
  mAh: ["milliamp hour", "milliamp hours"],
  dB: ["decibel", "decibels"],
  ms: ["millisecond", "milliseconds"],
  s: ["second", "seconds"],
  sec: ["second", "seconds"],
  secs: ["second", "seconds"],
  min: ["minute", "minutes"],
  mins: ["minute", "minutes"],
  h: ["hour", "hours"],
  hr: ["hour", "hours"],
  hrs: ["hour", "hours"],
  px: ["pixel", "pixels"],
  fps: ["frame per second", "frames per second"],
  bpm: ["beat per minute", "beats per minute"],
  rpm: ["revolution per minute", "revolutions per minute"],
  kcal: ["kilocalorie", "kilocalories"],
};
const UNIT = Object.keys(UNITS)
  .sort((a, b) => b.length - a.length)
  .join("|");
const NUMBER = "\\d+(?:,\\d{3})*(?:\\.\\d+)?";

/** "5 km", "3GB", "20 °C", "50%", "10-12 km", "5'10\"". */
export function sayUnits(text: string): string {
  const unitName = (amount: string, unit: string): string =>
    (UNITS[unit] as readonly [string, string])[amount === "1" ? 0 : 1];
  const end = "(?![\\p{L}\\p{N}/])";
  return text
    .replace(/(?<![\p{L}\d.])(\d+) ?m (\d+) ?s(?![\p{L}\d])/gu, "$1 min $2 s")
    .replace(/(?<![\p{L}\d.])(\d+) ?h ?(\d+) ?m(?:in)?(?![\p{L}\d])/gu, "$1 h $2 min")
    .replace(
      /(?<![\p{L}\p{N}.])(\d)['′] ?(\d{1,2})(?:"|″|'')/gu,
      (_m, feet: string, inches: string) => `${cardinal(feet)} foot ${cardinal(inches)}`,
    )
    .replace(
      new RegExp(
        `(?<![\\p{L}\\p{N}.,])(${NUMBER}) ?(?:${UNIT})? ?[-–] ?(${NUMBER}) ?(${UNIT})${end}`,
        "gu",
      ),
      (_m, low: string, high: string, unit: string) =>
        `${number(low)} to ${number(high)} ${unitName(high, unit)}`,
    )
    .replace(
      new RegExp(
        `(?<![\\p{L}\\p{N}.,])([-−+]?)(${NUMBER})( ?| ?-)(${UNIT})(\\.(?=\\s+\\p{Ll}))?${end}`,
        "gu",
      ),
      (_m, minus: string, amount: string, gap: string, unit: string) =>
        `${number(minus + amount)} ${gap.endsWith("-") ? unitName("1", unit) : unitName(amount, unit)}`,
    );
}
