/** English readings of abbreviations, letter words and Roman numerals. */
import { cardinal, digitsInWords, ordinal, roman } from "./normalise-en-numbers.ts";

/** Letters apart, as they are said one by one; digits as a number or one by one. */
export function spellLetters(text: string): string {
  return (text.match(/\p{L}|\d+/gu) ?? [])
    .map((part) => {
      if (!/\d/.test(part)) return part.toUpperCase();
      return part.length > 2 || part.startsWith("0") ? digitsInWords(part) : cardinal(part);
    })
    .join(" ");
}

/** Said in full wherever they stand with their stop. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  mr: "Mister",
  mrs: "Missus",
  ms: "Miz",
  prof: "Professor",
  rev: "Reverend",
  gen: "General",
  col: "Colonel",
  capt: "Captain",
  lt: "Lieutenant",
  sgt: "Sergeant",
  gov: "Governor",
  sen: "Senator",
  rep: "Representative",
  pres: "President",
  hon: "Honorable",
  jr: "Junior",
  sr: "Senior",
  esq: "Esquire",
  mt: "Mount",
  ft: "Fort",
  ave: "Avenue",
  blvd: "Boulevard",
  rd: "Road",
  hwy: "Highway",
  inc: "Incorporated",
  ltd: "Limited",
  corp: "Corporation",
  co: "Company",
  bros: "Brothers",
  dept: "department",
  approx: "approximately",
  etc: "et cetera",
  vs: "versus",
  vol: "volume",
  est: "established",
  misc: "miscellaneous",
  max: "maximum",
  min: "minimum",
  temp: "temperature",
  tel: "telephone",
  ext: "extension",
  ca: "circa",
  cf: "compare",
  al: "al",
  viz: "namely",
};
const CAPITAL_ONLY =
  "Mr|Mrs|Ms|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Pres|Hon|Jr|Sr|Esq|Mt|Ft|Ave|Blvd|Rd|Hwy|Inc|Ltd|Corp|Co|Bros|Dept|Approx|Etc|Vol|Est|Misc|Max|Min|Temp|Tel|Ext";
const SMALL = "approx|etc|vs|dept|vol|est|misc|max|min|temp|tel|ext|ca|cf|al|viz|inc|ltd";

/** Words before a number. */
const BEFORE_NUMBER: readonly (readonly [RegExp, string])[] = [
  [/\bNo\.? ?(?=\d)/g, "number "],
  [/\bno\. ?(?=\d)/g, "number "],
  [/\b[Nn]os\. ?(?=\d)/g, "numbers "],
  [/№ ?(?=\d)/g, "number "],
  [/(?<![\p{L}\p{N}&])# ?(?=\d)/gu, "number "],
  [/§§? ?(?=\d)/g, "section "],
  [/\b[Ff]igs?\. ?(?=\d)/g, "figure "],
  [/\bpp\. ?(?=\d)/g, "pages "],
  [/\bp\. ?(?=\d)/g, "page "],
  [/\b[Cc]h(?:ap)?\. ?(?=\d)/g, "chapter "],
  [/\b[Ss]ec\. ?(?=\d)/g, "section "],
  [/\b[Ee]q\. ?(?=\d)/g, "equation "],
  [/\b[Vv]ol\. ?(?=\d)/g, "volume "],
  [/\bc\. ?(?=\d{3,4}\b)/g, "circa "],
];

/** The stop of an abbreviation stays where the sentence ends with it. */
const stopAfter = (whole: string, end: number): string =>
  /^["')\]]*\s*$/.test(whole.slice(end)) ? "." : "";

/** "Dr.", "e.g.", "approx.", "St.", "No. 5", "w/". */
export function sayAbbreviations(text: string): string {
  let out = text;
  for (const [pattern, reading] of BEFORE_NUMBER) out = out.replace(pattern, reading);
  return out
    .replace(/\b[Ee]\.\s?g\.,?|\b[Ee]g\.,?/g, (match) =>
      match.startsWith("E") ? "For example," : "for example,",
    )
    .replace(/\b[Ii]\.\s?e\.,?/g, (match) => (match.startsWith("I") ? "That is," : "that is,"))
    .replace(/(?<=\p{Lu}[\p{L}.]* )Dr\.?(?=,|\s*$|\s+\p{Ll})/gu, "Drive")
    .replace(/\bDrs?\.?(?= \p{Lu})|\bDr\./gu, "Doctor")
    .replace(/(?<=[\p{L}\d] )St\.?(?=,|\s*$|\s+\p{Ll})|(?<=\d(?:st|nd|rd|th) )St\./gu, "Street")
    .replace(/\bSt\.? ?(?=\p{Lu})/gu, "Saint ")
    .replace(/\b[Pp]h\.?D\b\.?/g, "P H D")
    .replace(
      /\b([ap])\.m\.(?=(\s*$)?)/g,
      (match, letter: string, _end, at: number, whole: string) =>
        `${letter} m${stopAfter(whole, at + match.length)}`,
    )
    .replace(
      /(?<![\p{L}.])((?:\p{Lu}\.){2,})(?!\p{L})/gu,
      (match, letters: string, at: number, whole: string) =>
        spellLetters(letters) + stopAfter(whole, at + match.length),
    )
    .replace(
      new RegExp(`\\b(${CAPITAL_ONLY})\\.(?!\\p{L})`, "gu"),
      (match, word: string, at: number, whole: string) => {
        const reading = ABBREVIATIONS[word.toLowerCase()] as string;
        return reading[0]?.toUpperCase() + reading.slice(1) + stopAfter(whole, at + match.length);
      },
    )
    .replace(
      new RegExp(`\\b(${SMALL})\\.(?!\\p{L})`, "gu"),
      (match, word: string, at: number, whole: string) =>
        `${ABBREVIATIONS[word]}${stopAfter(whole, at + match.length)}`,
    )
    .replace(
      /\b(Mr|Mrs|Ms|Prof)(?= \p{Lu})/gu,
      (_m, word: string) => ABBREVIATIONS[word.toLowerCase()] as string,
    )
    .replace(/\bTL;DR\b/g, "T L D R")
    .replace(/\bvs\b/g, "versus")
    .replace(/\bapprox\b/g, "approximately")
    .replace(/(?<=^|\s)w\/o(?=\s)/g, "without")
    .replace(/(?<=^|\s)w\/ ?(?=\p{L})/gu, "with ");
}

/** Capital words that are said as words. */
const AS_WORDS = new Set(
  "NASA NATO UNESCO UNICEF OPEC LASER RADAR RAM ROM PIN SIM GIF JPEG LAN WAN AIDS COVID SCUBA FIFA SWAT ASAP IKEA OK BASIC CUDA ASCII CRUD REST JSON YAML TOML SOAP WASM LLAMA BERT RAID CAPTCHA VRAM DRAM SRAM NVIDIA INTEL MOSS".split(
    " ",
  ),
);
/** Letter words that have vowels enough to look like words. */
const AS_LETTERS = new Set(
  "AI API APIs USA US UK EU UN UAE URL URI UI UX IO IP ID OS IOS ISO IEEE CIA FBI CEO CFO CTO COO HR IT AC DIY FAQ ETA EOF EOL GUI CLI SDK IDE AWS IBM BBC CNN NBA NFL GPU CPU TPU USB DVD LED LCD PDF HTML CSS SQL XML HTTP HTTPS DNS SSH VPN RGB TTS STT ASR LLM NLP RTF SUV ATM VIP PhD MBA RSVP OCR AR VR QA PR OCD ADHD DNA RNA EKG ECG ICU IRS IQ EQ AM FM FYI IMO IMHO TBD TBA NSFW PST EST CST GMT UTC CET".split(
    " ",
  ),
);

/** Acronyms, letter words with digits, plurals: "NASA", "the API", "GPUs", "MP3". */
export function sayAcronyms(text: string): string {
  const capitals = text.match(/\b\p{Lu}{2,}\b/gu)?.length ?? 0;
  const words = text.match(/\p{L}{2,}/gu)?.length ?? 0;
  // A text that is mostly capitals is loud, not a row of acronyms.
  const shouted = words > 2 && capitals * 2 > words;
  return text
    .replace(
      /(?<![\p{L}\p{N}])(\p{Lu}{2,})(s)?(?![\p{L}\p{N}])/gu,
      (match, word: string, plural: string | undefined) => {
        const vowels = /[AEIOUY]/.test(word);
        const spelled = AS_LETTERS.has(word) || (!vowels && word.length <= 6);
        if (AS_WORDS.has(word)) return match === "OK" ? "okay" : match;
        if (!spelled || (shouted && vowels)) return match;
        return spellLetters(word) + (plural ?? "");
      },
    )
    .replace(
      /(?<![\p{L}\p{N}])(\p{Lu}{1,5})-?(\d{1,4})(?![\p{L}\p{N}]|\.\d)/gu,
      (_m, letters: string, digits: string) => {
        const head = AS_WORDS.has(letters) ? letters : spellLetters(letters);
        return `${head} ${spellLetters(digits)}`;
      },
    )
    .replace(
      /(?<![\p{L}\p{N}])(\d{1,3})(\p{Lu}{1,3})(?![\p{L}\p{N}])/gu,
      (_m, digits: string, letters: string) => `${cardinal(digits)} ${spellLetters(letters)}`,
    );
}

const RULERS =
  "King|Queen|Pope|Emperor|Tsar|Czar|Prince|Henry|Louis|George|Edward|Elizabeth|Charles|James|Richard|William|Philip|Napoleon|Catherine|Peter|Alexander|Nicholas|Frederick|Francis|Benedict|Pius|Paul|John|Leo|Mary|Felipe|Juan|Carlos";
const NUMBERED =
  "World War|Chapter|Part|Act|Scene|Volume|Book|Phase|Type|Section|Article|Appendix|Level|Stage|Class|Grade|Title|Super Bowl|Rocky|Final Fantasy|Star Wars Episode|Episode|Mark|Apollo|Schedule|Table|Figure|Unit|Step|Group";

/** Roman numerals where nothing else can be meant: after a ruler's name, or after "Chapter", "World War". */
export function sayRoman(text: string): string {
  return text
    .replace(
      new RegExp(`\\b(${NUMBERED}) ([IVXLC]+)\\b(?!['’])`, "g"),
      (match, word: string, letters: string) => {
        const value = roman(letters);
        return value === undefined || value === 0 ? match : `${word} ${cardinal(value)}`;
      },
    )
    .replace(
      new RegExp(`\\b((?:${RULERS})(?: \\p{Lu}\\p{Ll}+)?) ([IVX]+)\\b(?!['’])`, "gu"),
      (match, name: string, letters: string) => {
        const value = roman(letters);
        // "Henry I met" and "King V" are too uncertain.
        if (value === undefined || letters.length < 2) return match;
        return `${name} the ${ordinal(value)}`;
      },
    );
}
