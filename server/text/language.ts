/**
 * Guesses the language of a short text: by script where the script decides, by common words and
 * letters where it is Latin. Light on purpose: it chooses how numbers are read, nothing more, and an
 * explicit language always wins.
 */

const NAMES: Readonly<Record<string, string>> = {
  arabic: "ar",
  chinese: "zh",
  mandarin: "zh",
  czech: "cs",
  danish: "da",
  dutch: "nl",
  english: "en",
  french: "fr",
  german: "de",
  greek: "el",
  hebrew: "he",
  hindi: "hi",
  hungarian: "hu",
  italian: "it",
  japanese: "ja",
  korean: "ko",
  persian: "fa",
  farsi: "fa",
  polish: "pl",
  portuguese: "pt",
  russian: "ru",
  spanish: "es",
  swedish: "sv",
  turkish: "tr",
  ukrainian: "uk",
};

/**
 * Reduces what a client calls a language ("en-US", "German", "zh_CN") to a two-letter code.
 * "auto", blank and unknown values give undefined: detect it.
 */
export function languageCode(value: string | undefined): string | undefined {
  const name = value?.trim().toLowerCase();
  if (name === undefined || name === "" || name === "auto") return undefined;
  if (NAMES[name] !== undefined) return NAMES[name];
  const code = /^([a-z]{2})(?:[-_][a-z0-9]+)*$/.exec(name)?.[1];
  return code;
}

/** Frequent words. Words that English uses too are left out, or carry half weight below. */
const COMMON: Readonly<Record<string, string>> = {
  en: "the and of to is are was were be been this that these those it its he she we you they i not with for from have has had will would can could should there their what which when who how if then but or an at by on do does did please about into over after before just my your his her our",
  de: "der das und ist nicht ein eine einen einem einer ich du er sie es wir ihr den dem des mit auf für von zu im am zum zur bei nach wie auch aber oder wenn dass sind haben hat wird werden kann nur noch schon sehr genau heute morgen preis kostet uhr guten danke bitte kein keine mehr gibt hier über unter zwischen vor aus",
  fr: "le la les un une des du de et est sont il elle nous vous ils elles je tu ne pas que qui dans pour sur avec au aux ce cette ces mais ou où donc y en très bonjour merci prix coûte plus avoir être fait bien aussi comme tout leur sa son mon c'est j'ai d'un l'on",
  es: "el la los las un una unos unas y es son está están que de del en por para con no se su sus lo al como pero más muy hoy hola gracias precio cuesta hay tiene tenemos yo tú él ella nosotros qué cuándo dónde también este esta ese esa cuando desde hasta",
  it: "il lo la gli le un una uno e è sono che di del della dei delle in per con non si su al alla come ma più molto oggi ciao grazie prezzo costa ci ha abbiamo io tu lui lei noi voi questo questa anche dove quando totale perché nel nella",
  pt: "o a os as um uma uns umas e é são que de do da dos das em no na nos nas por para com não se seu sua ao à como mas mais muito hoje olá obrigado obrigada preço custa há tem temos eu você ele ela nós isto este esta também quando onde está",
  nl: "de het een en is zijn niet van ik je hij zij wij jullie met op voor aan te naar bij ook maar of als dat deze dit heeft hebben wordt kan kost prijs vandaag bedankt dank goedemorgen geen meer er uit over onder tussen nog al zeer",
  sv: "och är det att en ett som på för med av till den inte jag du han hon vi ni de har var kan ska om men eller från också mycket idag tack pris kostar här där när",
  da: "og er det at en et som på for med af til den ikke jeg du han hun vi de har var kan skal om men eller fra også meget dag tak pris koster her der når",
  pl: "i w na z do nie to jest się że jak po od za przez są ma mam był była ale czy dla tak co dzień dziś dzisiaj cena kosztuje dziękuję proszę bardzo tylko oraz",
  cs: "a v na je se že to s z do pro jako ale nebo si jsem jsou byl byla není dnes děkuji prosím cena stojí jen také velmi",
  hu: "a az és egy nem hogy van volt is de ez meg csak már még ha vagy mint ma nagyon köszönöm kérem ára kerül jó",
  tr: "ve bir bu da de için ile çok ne var yok ama gibi daha ben sen biz siz onlar değil mi mı bugün teşekkürler lütfen fiyat fiyatı kadar",
};

/** Shared with English as a spelling, so they say little on their own. */
const WEAK = new Set(
  "die in a an no me on as so do i is had was to of men man hat war am her all her er de en or over under till for at van he she we o e y".split(
    " ",
  ),
);

/** Letters beyond a to z that a language writes. Each one counts for it, a foreign one against it. */
const LETTERS: Readonly<Record<string, string>> = {
  en: "",
  de: "äöüß",
  fr: "àâæçéèêëîïôœùûüÿ",
  es: "áéíñóúü",
  it: "àèéìîòù",
  pt: "áâãàçéêíóôõú",
  nl: "éëïóö",
  sv: "åäöé",
  da: "æøåé",
  pl: "ąćęłńóśźż",
  cs: "áčďéěíňóřšťúůýž",
  hu: "áéíóöőúüű",
  tr: "çğıöşüâîû",
};
const OWN_LETTER = 0.5;
const FOREIGN_LETTER = -1;
/** English borrows accents now and then (café, naïve). */
const BORROWED_LETTER = -0.25;

/** Elided articles and pronouns: l'été, c'est, dell'arte. */
const ELISIONS: Readonly<Record<string, RegExp>> = {
  fr: /(?<!\p{L})(?:[ldjcnsmt]|qu)['’]\p{L}/u,
  it: /(?<!\p{L})(?:un|l|dell|nell|all|c)['’]\p{L}/u,
};

const codes = Object.keys(COMMON);

/** Each frequent word with the languages it counts for, and how much. */
const votes = new Map<string, [code: string, score: number][]>();
for (const [code, words] of Object.entries(COMMON)) {
  for (const word of new Set(words.split(" "))) {
    const isWeak = code !== "en" && (word.length === 1 || WEAK.has(word));
    const list = votes.get(word) ?? [];
    list.push([code, isWeak ? 0.5 : 1]);
    votes.set(word, list);
  }
}
// An English word as well, so a weak hint at most.
votes.set("die", [...(votes.get("die") ?? []), ["de", 0.5]]);

/**
 * Addresses, handles and file names say nothing about the language around them. Tried only where a word begins: from
 * each of its letters, a long one would cost the square of its length.
 */
const MACHINE_NAME = /(?<!\S)\S*(?:@|:\/\/|\w\.\w|[\\/_#]\w)\S*/g;

function detectLatin(text: string, hint: string): string {
  const named = text.replace(MACHINE_NAME, " ");
  // Capitals in a text that has small letters too are acronyms, and so is a lone one: EST is no French
  // verb.
  const loud = !/\p{Ll}/u.test(named) && (named.match(/\p{L}+/gu)?.length ?? 0) > 2;
  const plain = loud ? named : named.replace(/(?<!\p{L})\p{Lu}{2,}(?!\p{L})/gu, " ");
  const lower = plain.toLowerCase().normalize("NFC");
  const words =
    lower.match(/(?<![\p{L}\p{N}])[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)?(?!\p{N})/gu) ?? [];
  const accented = lower.match(/(?![a-z])\p{Script=Latin}/gu) ?? [];
  const scores = new Map(codes.map((code) => [code, 0]));
  const add = (code: string, score: number) => scores.set(code, (scores.get(code) ?? 0) + score);
  for (const word of words) for (const [code, score] of votes.get(word) ?? []) add(code, score);
  for (const code of accented.length > 0 ? codes : []) {
    for (const letter of accented) {
      if (LETTERS[code]?.includes(letter)) add(code, OWN_LETTER);
      else add(code, code === "en" ? BORROWED_LETTER : FOREIGN_LETTER);
    }
  }
  for (const [code, pattern] of Object.entries(ELISIONS)) if (pattern.test(lower)) add(code, 1);
  const english = scores.get("en") ?? 0;
  let best = "en";
  let bestScore = english;
  for (const [code, score] of scores) {
    // A tie goes to what was spoken before; a lone weak word or accent decides nothing.
    const bonus = code === hint ? 0.5 : 0;
    const bestBonus = best === hint ? 0.5 : 0;
    if (score >= 1 && score + bonus > bestScore + bestBonus) {
      best = code;
      bestScore = score;
    }
  }
  return bestScore > 0 ? best : hint;
}

const latinHint = (hint: string): string => (codes.includes(hint) ? hint : "en");

/**
 * Two-letter language code of `text`.
 * @param hint language of the text before it: kept where the text itself says nothing
 */
export function detectLanguage(text: string, hint = "en"): string {
  if (/^[ -~\n]*$/.test(text) && /[A-Za-z]/.test(text)) return detectLatin(text, latinHint(hint));
  if (/\p{Script=Hangul}/u.test(text)) return "ko";
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  const counts: readonly (readonly [string, RegExp])[] = [
    ["latin", /\p{Script=Latin}/gu],
    ["han", /\p{Script=Han}/gu],
    ["cyrillic", /\p{Script=Cyrillic}/gu],
    ["greek", /\p{Script=Greek}/gu],
    ["arabic", /\p{Script=Arabic}/gu],
    ["he", /\p{Script=Hebrew}/gu],
    ["hi", /\p{Script=Devanagari}/gu],
    ["th", /\p{Script=Thai}/gu],
  ];
  let script = "";
  let most = 0;
  for (const [name, pattern] of counts) {
    // One Han character carries about as much as two or three Latin letters.
    const weight = name === "han" ? 3 : 1;
    const count = (text.match(pattern)?.length ?? 0) * weight;
    if (count > most) {
      most = count;
      script = name;
    }
  }
  switch (script) {
    case "latin":
      return detectLatin(text, latinHint(hint));
    case "han":
      return hint === "ja" ? "ja" : "zh";
    case "cyrillic":
      return /[іїєґ]/iu.test(text) ? "uk" : "ru";
    case "greek":
      return "el";
    case "arabic":
      return /[پچژگکی]/u.test(text) ? "fa" : "ar";
    case "":
      return hint;
    default:
      return script;
  }
}
