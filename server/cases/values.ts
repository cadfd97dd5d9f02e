/**
 * The values of a case: `$` rules that make long, random or changing ones, and `@` names that stand for something of
 * this server or of the run. Everything random comes from the seed that is written beside it.
 */
import type { Wanted } from "./case-file.ts";
import { documentedMs } from "./mapping.ts";
import { randomNumbers, randomText } from "./random.ts";

/** Variables of the iterations that a step is in, such as `$i`. */
export type Scope = Readonly<Record<string, string | number>>;

/** What the `@` names stand for. */
export interface Sources {
  /** Settings that the server was started with for this case. */
  readonly settings: Wanted | undefined;
  /** Built-in voices, the default one first. */
  readonly voices: readonly string[];
  slots(): number;
  /** Length of repeated texts, in characters; undefined: as written. */
  readonly mostTextChars: number | undefined;
  file(name: string): Promise<Buffer>;
  saved(name: string): Buffer;
}

const LONGEST_NAME = 1000;
const NUMBERS =
  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(
    " ",
  );

// biome-ignore lint/suspicious/noExplicitAny: each rule says itself what it is given
type Rule = (given: any, values: Values, scope: Scope) => unknown;

const RULES: Readonly<Record<string, Rule>> = {
  $repeat: ([text, times]: [string, number], { sources }) => {
    const most = (sources.mostTextChars ?? Number.POSITIVE_INFINITY) / text.length;
    return text.repeat(Math.max(1, Math.min(times, Math.floor(most))));
  },
  $each: (choices: unknown[], _values, { $each = 0 }) => choices[Number($each)],
  $cycle: (choices: unknown[], _values, { $i = 1 }) => choices[(Number($i) - 1) % choices.length],
  $concat: (parts: unknown[]) => parts.join(""),
  $random: ([low, high, seed]: [number, number, string], values) =>
    low + values.random(seed) * (high - low),
  $random_bytes: ([length, seed]: [number, string], values) =>
    Buffer.from(Array.from({ length }, () => Math.floor(values.random(seed) * 256))).toString(
      "hex",
    ),
  $random_text: ([seed, length]: [string, number], values) =>
    randomText(() => values.random(seed), length),
  $word_repeat: ([word, times]: [string | number, number]) => {
    const spoken = NUMBERS[Number(word) - 1] ?? String(word);
    return `${Array(times).fill(spoken).join(" ")}.`;
  },
  $numbered_words: ([count]: [number]) =>
    Array.from({ length: count }, (_, i) => `w${i + 1}`).join(" "),
};

export class Values {
  readonly #random = new Map<string, () => number>();

  constructor(readonly sources: Sources) {}

  /** The next random number of a seed, from 0 up to 1. */
  random(seed: string): number {
    const known = this.#random.get(seed) ?? randomNumbers(seed);
    this.#random.set(seed, known);
    return known();
  }

  /** A copy of a value with every rule and name replaced. */
  async filled(value: unknown, scope: Scope): Promise<unknown> {
    if (typeof value === "string") return this.#text(value, scope);
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(await this.filled(item, scope));
      return items;
    }
    if (typeof value !== "object" || value === null) return value;
    const [key, given] = Object.entries(value)[0] ?? [];
    const rule = key === undefined ? undefined : RULES[key];
    if (rule !== undefined) {
      const parts = key === "$each" ? given : await this.filled([given].flat(), scope);
      return this.#filledAgain(rule(parts, this, scope), scope);
    }
    const copy: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value))
      copy[name] = await this.filled(member, scope);
    return copy;
  }

  /** What a rule chose may hold names and rules itself; what it made of long texts does not. */
  #filledAgain(value: unknown, scope: Scope): unknown {
    const isLong = typeof value === "string" && value.length > LONGEST_NAME;
    return isLong ? value : this.filled(value, scope);
  }

  async #text(text: string, scope: Scope): Promise<unknown> {
    const whole = scope[text];
    if (whole !== undefined) return whole;
    const filled = text.replaceAll(/\$[a-z]+/g, (name) => String(scope[name] ?? name));
    if (filled.startsWith("@dataurl:")) return this.#dataUrl(filled.slice("@dataurl:".length));
    if (filled.startsWith("@saved:"))
      return this.sources.saved(filled.slice("@saved:".length)).toString();
    return filled.replaceAll(
      /@(upper:)?(default|voice|builtin)(\d?)/g,
      (_, upper, kind, number) => {
        const name = kind === "default" ? kind : (this.sources.voices[Number(number) - 1] ?? kind);
        return upper === undefined ? name : name.toUpperCase();
      },
    );
  }

  /** "clip.wav+noise7": a clip whose last samples carry the bits of a number, so that no two are alike. */
  async #dataUrl(text: string): Promise<string> {
    const [name = "", noise] = text.split("+noise");
    const bytes = Buffer.from(await this.sources.file(name));
    if (noise !== undefined) {
      for (let bit = 0; bit < 16; bit += 1) {
        const at = bytes.length - 2 - 2 * bit;
        bytes.writeUInt8((bytes.readUInt8(at) & 0xfe) | ((Number(noise) >> bit) & 1), at);
      }
    }
    return `data:audio/wav;base64,${bytes.toString("base64")}`;
  }

  /** A count or a time: a number, or a sum of one such as "@heartbeat_ms * 2 + 1000". */
  async number(value: unknown, scope: Scope): Promise<number> {
    const filled = await this.filled(value, scope);
    if (typeof filled === "number") return filled;
    const terms = String(filled)
      .split("+")
      .map((term) =>
        term
          .split("*")
          .map((factor) => this.#factor(factor.trim()))
          .reduce((a, b) => a * b, 1),
      );
    return terms.reduce((a, b) => a + b, 0);
  }

  #factor(text: string): number {
    if (text === "@slots") return this.sources.slots();
    return text.startsWith("@") ? documentedMs(text.slice(1), this.sources.settings) : Number(text);
  }
}

/** How many values the `$each` lists of a step have; undefined when it has none. */
export function eachLength(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (key === "$each") return (member as unknown[]).length;
    const inner = eachLength(member);
    if (inner !== undefined) return inner;
  }
  return undefined;
}
