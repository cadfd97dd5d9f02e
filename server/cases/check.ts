/**
 * Checks without a test framework, so that the same ones serve the command line and the tests: each throws a sentence
 * that says what was wrong. `Findings` collects them, so that one wrong thing does not hide the next.
 */

/** Something is not as a case expects it; the message says what. */
export class Mismatch extends Error {}

/** A case cannot be run against this server; the message says why. */
export class NotRunnable extends Error {}

const LONGEST = 300;

/** A value as a person reads it in one line. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** @throws Mismatch always */
export function wrong(sentence: string): never {
  throw new Mismatch(sentence);
}

/** @throws Mismatch with the sentence unless the condition holds */
export function holds(condition: unknown, sentence: string | (() => string)): asserts condition {
  if (!condition) wrong(typeof sentence === "string" ? sentence : sentence());
}

/** @throws Mismatch unless both are the same plain value */
export function same(what: string, actual: unknown, wanted: unknown): void {
  const isSame = Object.is(actual, wanted) || JSON.stringify(actual) === JSON.stringify(wanted);
  holds(isSame, () => `${what} is ${shown(actual)}, wanted ${shown(wanted)}`);
}

/** @throws Mismatch unless the value is one of those */
export function oneOf(what: string, actual: unknown, wanted: readonly unknown[]): void {
  holds(
    wanted.includes(actual),
    () => `${what} is ${shown(actual)}, wanted ${wanted.join(" or ")}`,
  );
}

/** @throws Mismatch unless the number lies within the bounds, both included */
export function between(what: string, actual: number, least: number, most: number): void {
  const inside = actual >= least && actual <= most;
  holds(inside, () => `${what} is ${round(actual)}, wanted ${bounds(least, most)}`);
}

function bounds(least: number, most: number): string {
  if (least === Number.NEGATIVE_INFINITY) return `at most ${round(most)}`;
  if (most === Number.POSITIVE_INFINITY) return `at least ${round(least)}`;
  return `${round(least)} to ${round(most)}`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** @throws Mismatch unless the number is at most that */
export function atMost(what: string, actual: number, most: number): void {
  between(what, actual, Number.NEGATIVE_INFINITY, most);
}

/** @throws Mismatch unless the number is at least that */
export function atLeast(what: string, actual: number, least: number): void {
  between(what, actual, least, Number.POSITIVE_INFINITY);
}

/** @throws Mismatch unless every member of `wanted` is in `actual`; lists have to be of the same length. */
export function contains(what: string, actual: unknown, wanted: unknown): void {
  if (typeof wanted !== "object" || wanted === null) {
    same(what, actual, wanted);
  } else if (Array.isArray(wanted)) {
    holds(Array.isArray(actual), () => `${what} is ${shown(actual)}, wanted a list`);
    same(`the length of ${what}`, actual.length, wanted.length);
    for (const [i, item] of wanted.entries()) contains(`${what}[${i}]`, actual[i], item);
  } else {
    const isObject = typeof actual === "object" && actual !== null;
    holds(isObject, () => `${what} is ${shown(actual)}, wanted an object`);
    for (const [key, item] of Object.entries(wanted)) {
      contains(`${what}.${key}`, (actual as Record<string, unknown>)[key], item);
    }
  }
}

/** Everything that was found wrong with one case, and what could not be looked at. */
export class Findings {
  readonly problems: string[] = [];
  /** Expectations that were not checked, each with its reason. */
  readonly notes: string[] = [];

  /** Runs a check and keeps what it finds. Errors that are no findings go on. */
  async look(check: () => void | Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      this.problems.push(error.message);
    }
  }

  note(sentence: string): void {
    if (!this.notes.includes(sentence)) this.notes.push(sentence);
  }
}
