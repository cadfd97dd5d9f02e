/**
 * Building blocks of every schema on the wire. Scalars are read leniently: numbers and booleans may come as strings,
 * and null stands for an absent option. Strings never accept numbers.
 */
import { z } from "zod";

/** Bounds of a seed: a signed 64-bit integer. */
export const SEED_MIN = -(2n ** 63n);
export const SEED_MAX = 2n ** 63n - 1n;

/** Message of the violation "not an integer": zod itself does not tell it from "not a number". */
export const NOT_AN_INTEGER = "Input should be a valid integer";

const TRUE_WORDS = new Set(["true", "1", "yes", "y", "on", "t"]);
const FALSE_WORDS = new Set(["false", "0", "no", "n", "off", "f"]);
const INTEGER_TEXT = /^[+-]?\d+(?:\.0*)?$/;
const NUMBER_TEXT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function readFlag(value: unknown): unknown {
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== "string") return value;
  const word = value.toLowerCase();
  if (TRUE_WORDS.has(word)) return true;
  return FALSE_WORDS.has(word) ? false : value;
}

function readNumber(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "string") return value;
  const text = value.trim();
  return NUMBER_TEXT.test(text) ? Number(text) : value;
}

function readBigInt(value: unknown): unknown {
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  if (typeof value !== "string") return value;
  const text = value.trim();
  return INTEGER_TEXT.test(text) ? BigInt(text.replace(/^\+|\.0*$/g, "")) : value;
}

/** A boolean, or one of the words for it in any case. */
export function flag() {
  return z.preprocess((value: boolean) => readFlag(value), z.boolean());
}

/** A finite number, or its text. */
export function real(min?: number, max?: number) {
  let schema = z.number();
  if (min !== undefined) schema = schema.min(min);
  if (max !== undefined) schema = schema.max(max);
  return z.preprocess((value: number) => readNumber(value), schema);
}

/** An integer, or its text. */
export function whole(min?: number, max?: number) {
  let schema = z.int({ error: NOT_AN_INTEGER });
  if (min !== undefined) schema = schema.min(min);
  if (max !== undefined) schema = schema.max(max);
  return z.preprocess((value: number) => readNumber(value), schema);
}

/** A signed 64-bit integer, exact above 2^53 if the text was read by `parseJson`. */
export function seed() {
  return z.preprocess(
    (value: number | bigint) => readBigInt(value),
    z.bigint().min(SEED_MIN).max(SEED_MAX).meta({ type: "integer", format: "int64" }),
  );
}

/** Length in Unicode code points, the unit of every limit on text. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at += 1) {
    if ((text.codePointAt(at) ?? 0) > 0xffff) {
      count -= 1;
      at += 1;
    }
  }
  return count;
}

/** True if the text has more code points than allowed; cheap for texts that are far below. */
export function longerThan(text: string, limit: number): boolean {
  return text.length > limit && codePoints(text) > limit;
}

/** The type of an object whose null members have been taken out. */
export type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> };

/** Takes null and undefined members out: on this wire, null means that the option was not given. */
export function withoutNulls<T extends object>(value: T): WithoutNulls<T> {
  const kept = Object.entries(value).filter(
    ([, member]) => member !== null && member !== undefined,
  );
  return Object.fromEntries(kept) as WithoutNulls<T>;
}

/** Adds the complaint of a rule that no type can express; it is reported as a `value_error`. */
export function complain(
  context: { issues: unknown[]; value: unknown },
  path: (string | number)[],
  message: string,
): void {
  context.issues.push({ code: "custom", path, message, input: context.value });
}
