/**
 * Reads fields out of JSON that someone else wrote. Every reader names the field and what is allowed in
 * the error it throws; unknown fields are ignored.
 */
import { readFile } from "node:fs/promises";
import { ModelError, type ModelErrorCode } from "./errors.ts";

type JsonObject = Readonly<Record<string, unknown>>;

const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};

export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

export class Fields {
  readonly #object: JsonObject;
  readonly #source: string;
  readonly #path: string;
  readonly #code: ModelErrorCode;

  private constructor(object: JsonObject, source: string, path: string, code: ModelErrorCode) {
    this.#object = object;
    this.#source = source;
    this.#path = path;
    this.#code = code;
  }

  /** @throws ModelError if `value` is not a JSON object */
  static of(value: unknown, source: string, code: ModelErrorCode, path = ""): Fields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      const field = path === "" ? source : path;
      throw new ModelError(code, field, `${source}: ${path || "the file"} must be a JSON object`);
    }
    return new Fields(value as JsonObject, source, path, code);
  }

  /** Parses a JSON file. @throws ModelError if it is missing, unreadable or not an object */
  static async fromFile(path: string, name: string, code: ModelErrorCode): Promise<Fields> {
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      const reason =
        (error as NodeJS.ErrnoException).code === "ENOENT" ? "is missing" : "cannot be read";
      throw new ModelError(code, name, `${name} ${reason}`);
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new ModelError(code, name, `${name} is not valid JSON`);
    }
    return Fields.of(value, name, code);
  }

  has(key: string): boolean {
    return this.#object[key] !== undefined && this.#object[key] !== null;
  }

  raw(key: string): unknown {
    return this.#object[key];
  }

  fail(key: string, allowed: string): never {
    const field = this.#path === "" ? key : `${this.#path}.${key}`;
    const value = this.#object[key];
    const found = value === undefined ? "it is missing" : `found ${show(value)}`;
    throw new ModelError(
      this.#code,
      field,
      `${this.#source}: ${field} must be ${allowed}; ${found}`,
    );
  }

  object(key: string): Fields {
    const path = this.#path === "" ? key : `${this.#path}.${key}`;
    const value = this.#object[key];
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.fail(key, "an object");
    }
    return new Fields(value as JsonObject, this.#source, path, this.#code);
  }

  number(key: string, range: NumberRange, fallback?: number): number {
    const value = this.#object[key];
    if ((value === undefined || value === null) && fallback !== undefined) return fallback;
    const kind = range.integer === true ? "a whole number" : "a number";
    const allowed = `${kind} from ${range.min} to ${range.max}`;
    if (typeof value !== "number" || !(value >= range.min && value <= range.max))
      this.fail(key, allowed);
    if (range.integer === true && !Number.isInteger(value)) this.fail(key, allowed);
    return value;
  }

  integer(key: string, min: number, max: number, fallback?: number): number {
    return this.number(key, { min, max, integer: true }, fallback);
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.#object[key];
    if (value === undefined || value === null) return fallback;
    if (typeof value !== "boolean") this.fail(key, "true or false");
    return value;
  }

  string(key: string, fallback?: string): string {
    const value = this.#object[key];
    if ((value === undefined || value === null) && fallback !== undefined) return fallback;
    if (typeof value !== "string" || value.trim() === "")
      this.fail(key, "a text that is not empty");
    return value;
  }

  strings(key: string, fallback: readonly string[]): readonly string[] {
    const value = this.#object[key];
    if (value === undefined || value === null) return fallback;
    if (!Array.isArray(value) || !value.every((item) => typeof item === "string" && item !== "")) {
      this.fail(key, "a list of texts");
    }
    return value as readonly string[];
  }

  /** The value must be exactly this, where it is present. */
  expect(key: string, wanted: string | number | boolean): void {
    const value = this.#object[key];
    if (value !== undefined && value !== wanted) this.fail(key, JSON.stringify(wanted));
  }
}
