/** Per language: number words, how numbers are written, and the few words that go with them. */
import { toCardinal as ar } from "n2words/ar-SA";
import { toCardinal as cs } from "n2words/cs-CZ";
import { toCardinal as da } from "n2words/da-DK";
import { toCardinal as de } from "n2words/de-DE";
import { toCardinal as el } from "n2words/el-GR";
import { toCardinal as es } from "n2words/es-ES";
import { toCardinal as fa } from "n2words/fa-IR";
import { toCardinal as fr } from "n2words/fr-FR";
import { toCardinal as hu } from "n2words/hu-HU";
import { toCardinal as it } from "n2words/it-IT";
import { toCardinal as ja } from "n2words/ja-JP";
import { toCardinal as ko } from "n2words/ko-KR";
import { toCardinal as nl } from "n2words/nl-NL";
import { toCardinal as pl } from "n2words/pl-PL";
import { toCardinal as pt } from "n2words/pt-PT";
import { toCardinal as ru } from "n2words/ru-RU";
import { toCardinal as sv } from "n2words/sv-SE";
import { toCardinal as tr } from "n2words/tr-TR";
import { toCardinal as uk } from "n2words/uk-UA";
import {
  chineseCardinal,
  sayChineseYears,
  sayFrenchOrdinals,
  sayGerman,
  sayKoreanCounts,
} from "./normalise-intl-special.ts";

export interface CurrencyWords {
  readonly one: string;
  readonly many: string;
  readonly cents?: readonly [string, string];
}

export interface NumberWords {
  /** Words of a whole number given as digits. */
  cardinal(digits: string): string;
  /** Marks that group thousands; " " stands for any space. */
  readonly groups: readonly string[];
  readonly decimalMark: "," | ".";
  readonly decimalWord: string;
  readonly minus: string;
  readonly to: string;
  readonly dot: string;
  readonly at: string;
  percent(value: string): string;
  degrees?(value: string): string;
  /** Hour and minute in words; the minute is empty on the hour. */
  hour?(hour: string, minute: string): string;
  readonly currencies: Readonly<Record<string, CurrencyWords>>;
  /** Between whole units and cents, spaces included. */
  readonly centJoiner: string;
  /** "One" before a noun, where it differs from the counting word. */
  readonly article?: string;
  /** Written without spaces between words. */
  readonly joinsDirectly?: boolean;
  /** Readings that only this language has; runs before bare numbers are read. */
  special?(text: string): string;
}

const money = (one: string, many = one, cents?: readonly [string, string]): CurrencyWords =>
  cents === undefined ? { one, many } : { one, many, cents };

const after = (word: string) => (value: string) => `${value} ${word}`;
const spaced = (word: string) => (hour: string, minute: string) =>
  minute === "" ? `${hour} ${word}`.trim() : `${hour} ${word} ${minute}`.replace(/ {2,}/g, " ");

const plain = (convert: (value: string) => string) => ({ cardinal: convert });
const EURO_STYLE = { groups: ["."], decimalMark: "," } as const;
const SPACE_STYLE = { groups: [" "], decimalMark: "," } as const;
const POINT_STYLE = { groups: [","], decimalMark: "." } as const;

const LANGUAGES: Readonly<Record<string, NumberWords>> = {
  de: {
    ...plain(de),
    ...EURO_STYLE,
    decimalWord: "Komma",
    minus: "minus",
    to: "bis",
    dot: "Punkt",
    at: "ät",
    percent: after("Prozent"),
    degrees: after("Grad Celsius"),
    hour: spaced("Uhr"),
    article: "ein",
    centJoiner: " ",
    currencies: {
      EUR: money("Euro", "Euro", ["Cent", "Cent"]),
      USD: money("Dollar", "Dollar", ["Cent", "Cent"]),
      GBP: money("Pfund"),
      JPY: money("Yen"),
    },
    special: sayGerman,
  },
  fr: {
    ...plain(fr),
    groups: [" ", "."],
    decimalMark: ",",
    decimalWord: "virgule",
    minus: "moins",
    to: "à",
    dot: "point",
    at: "arobase",
    percent: after("pour cent"),
    degrees: after("degrés"),
    hour: (h, m) => `${h === "un" ? "une heure" : `${h} heures`} ${m}`.trim(),
    centJoiner: " ",
    currencies: {
      EUR: money("euro", "euros", ["centime", "centimes"]),
      USD: money("dollar", "dollars", ["cent", "cents"]),
      GBP: money("livre", "livres"),
      JPY: money("yen", "yens"),
    },
    special: sayFrenchOrdinals,
  },
  it: {
    cardinal: (digits) => it(digits).replace(/mila e (?=\S)/, "mila"),
    ...EURO_STYLE,
    decimalWord: "virgola",
    minus: "meno",
    to: "a",
    dot: "punto",
    at: "chiocciola",
    percent: after("per cento"),
    degrees: after("gradi"),
    hour: (h, m) => (m === "" ? h : `${h} e ${m}`),
    article: "un",
    centJoiner: " e ",
    currencies: {
      EUR: money("euro", "euro", ["centesimo", "centesimi"]),
      USD: money("dollaro", "dollari", ["centesimo", "centesimi"]),
      GBP: money("sterlina", "sterline"),
      JPY: money("yen"),
    },
  },
  es: {
    ...plain(es),
    groups: [".", " "],
    decimalMark: ",",
    decimalWord: "coma",
    minus: "menos",
    to: "a",
    dot: "punto",
    at: "arroba",
    percent: after("por ciento"),
    degrees: after("grados"),
    hour: (h, m) => (m === "" ? `${h} horas` : `${h} y ${m}`),
    article: "un",
    centJoiner: " con ",
    currencies: {
      EUR: money("euro", "euros", ["céntimo", "céntimos"]),
      USD: money("dólar", "dólares", ["centavo", "centavos"]),
      GBP: money("libra", "libras"),
      JPY: money("yen", "yenes"),
    },
  },
  pt: {
    ...plain(pt),
    groups: [".", " "],
    decimalMark: ",",
    decimalWord: "vírgula",
    minus: "menos",
    to: "a",
    dot: "ponto",
    at: "arroba",
    percent: after("por cento"),
    degrees: after("graus"),
    hour: (h, m) => (m === "" ? `${h} horas` : `${h} e ${m}`),
    centJoiner: " e ",
    currencies: {
      EUR: money("euro", "euros", ["cêntimo", "cêntimos"]),
      USD: money("dólar", "dólares", ["centavo", "centavos"]),
      GBP: money("libra", "libras"),
      JPY: money("iene", "ienes"),
    },
  },
  nl: {
    ...plain(nl),
    ...EURO_STYLE,
    decimalWord: "komma",
    minus: "min",
    to: "tot",
    dot: "punt",
    at: "apenstaartje",
    percent: after("procent"),
    degrees: after("graden"),
    hour: spaced("uur"),
    centJoiner: " ",
    currencies: {
      EUR: money("euro", "euro", ["cent", "cent"]),
      USD: money("dollar", "dollar", ["cent", "cent"]),
      GBP: money("pond"),
    },
  },
  sv: {
    cardinal: (digits) => sv(digits).replace(/-/g, ""),
    ...SPACE_STYLE,
    decimalWord: "komma",
    minus: "minus",
    to: "till",
    dot: "punkt",
    at: "snabel a",
    percent: after("procent"),
    degrees: after("grader"),
    hour: spaced(""),
    centJoiner: " och ",
    currencies: {
      EUR: money("euro"),
      USD: money("dollar"),
      GBP: money("pund"),
      KR: money("krona", "kronor"),
    },
  },
  da: {
    ...plain(da),
    ...EURO_STYLE,
    decimalWord: "komma",
    minus: "minus",
    to: "til",
    dot: "punktum",
    at: "snabel a",
    percent: after("procent"),
    degrees: after("grader"),
    hour: spaced(""),
    centJoiner: " og ",
    currencies: {
      EUR: money("euro"),
      USD: money("dollar"),
      GBP: money("pund"),
      KR: money("krone", "kroner"),
    },
  },
  pl: {
    ...plain(pl),
    ...SPACE_STYLE,
    decimalWord: "przecinek",
    minus: "minus",
    to: "do",
    dot: "kropka",
    at: "małpa",
    percent: after("procent"),
    centJoiner: " ",
    currencies: { EUR: money("euro") },
  },
  cs: {
    ...plain(cs),
    ...SPACE_STYLE,
    decimalWord: "celá",
    minus: "minus",
    to: "až",
    dot: "tečka",
    at: "zavináč",
    percent: after("procent"),
    centJoiner: " ",
    currencies: { EUR: money("euro") },
  },
  hu: {
    ...plain(hu),
    groups: [" ", "."],
    decimalMark: ",",
    decimalWord: "egész",
    minus: "mínusz",
    to: "től",
    dot: "pont",
    at: "kukac",
    percent: after("százalék"),
    centJoiner: " ",
    currencies: { EUR: money("euró"), HUF: money("forint") },
  },
  tr: {
    ...plain(tr),
    ...EURO_STYLE,
    decimalWord: "virgül",
    minus: "eksi",
    to: "ile",
    dot: "nokta",
    at: "et",
    percent: (value) => `yüzde ${value}`,
    centJoiner: " ",
    currencies: { EUR: money("euro"), USD: money("dolar"), TRY: money("lira") },
  },
  ru: {
    ...plain(ru),
    ...SPACE_STYLE,
    decimalWord: "запятая",
    minus: "минус",
    to: "до",
    dot: "точка",
    at: "собака",
    percent: after("процентов"),
    centJoiner: " ",
    currencies: { EUR: money("евро") },
  },
  uk: {
    ...plain(uk),
    ...SPACE_STYLE,
    decimalWord: "кома",
    minus: "мінус",
    to: "до",
    dot: "крапка",
    at: "равлик",
    percent: after("відсотків"),
    centJoiner: " ",
    currencies: { EUR: money("євро") },
  },
  el: {
    ...plain(el),
    ...EURO_STYLE,
    decimalWord: "κόμμα",
    minus: "μείον",
    to: "έως",
    dot: "τελεία",
    at: "παπάκι",
    percent: after("τοις εκατό"),
    centJoiner: " και ",
    currencies: { EUR: money("ευρώ"), USD: money("δολάριο", "δολάρια") },
  },
  ar: {
    ...plain(ar),
    ...POINT_STYLE,
    decimalWord: "فاصلة",
    minus: "ناقص",
    to: "إلى",
    dot: "نقطة",
    at: "آت",
    percent: after("بالمئة"),
    centJoiner: " و",
    currencies: { EUR: money("يورو"), USD: money("دولار") },
  },
  fa: {
    ...plain(fa),
    ...POINT_STYLE,
    decimalWord: "ممیز",
    minus: "منفی",
    to: "تا",
    dot: "نقطه",
    at: "ات",
    percent: after("درصد"),
    centJoiner: " و ",
    currencies: { EUR: money("یورو"), USD: money("دلار") },
  },
  ja: {
    ...plain(ja),
    ...POINT_STYLE,
    decimalWord: "点",
    minus: "マイナス",
    to: "から",
    dot: "ドット",
    at: "アット",
    percent: (value) => `${value}パーセント`,
    degrees: (value) => `${value}度`,
    hour: (h, m) => (m === "" ? `${h}時` : `${h}時${m}分`),
    centJoiner: "",
    joinsDirectly: true,
    currencies: {
      JPY: money("円"),
      EUR: money("ユーロ"),
      USD: money("ドル"),
      GBP: money("ポンド"),
    },
  },
  zh: {
    cardinal: chineseCardinal,
    ...POINT_STYLE,
    decimalWord: "点",
    minus: "负",
    to: "到",
    dot: "点",
    at: "艾特",
    percent: (value) => `百分之${value}`,
    degrees: (value) => `${value}摄氏度`,
    hour: (h, m) => (m === "" ? `${h}点` : `${h}点${m}分`),
    centJoiner: "",
    joinsDirectly: true,
    special: sayChineseYears,
    currencies: { JPY: money("元"), EUR: money("欧元"), USD: money("美元"), GBP: money("英镑") },
  },
  ko: {
    ...plain(ko),
    ...POINT_STYLE,
    decimalWord: "점",
    minus: "마이너스",
    to: "에서",
    dot: "점",
    at: "골뱅이",
    percent: after("퍼센트"),
    degrees: after("도"),
    centJoiner: " ",
    special: sayKoreanCounts,
    currencies: { KRW: money("원"), USD: money("달러"), EUR: money("유로"), JPY: money("엔") },
  },
};

/** What a language needs to read numbers; undefined for languages whose digits are left alone. */
export function numberWords(language: string): NumberWords | undefined {
  return LANGUAGES[language];
}
