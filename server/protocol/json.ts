/**
 * JSON text to values and back, without losing integers above 2^53: they become bigints, and bigints are written
 * as plain integers. Whatever else JSON.parse accepts or refuses is accepted or refused here as well.
 */

/** What is wrong with a JSON text and where, in UTF-16 units from its start. */
export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message);
    this.name = "JsonSyntaxError";
  }
}

/** Objects and arrays inside each other; deeper texts are refused rather than walked. */
const MAX_DEPTH = 512;
const LONG_DIGITS = /\d{16}/;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const BLANK = /[ \t\n\r]*/y;
const PLAIN = /[^"\\]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORDS: ReadonlyArray<readonly [string, unknown]> = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** A recursive-descent reader over one text. */
class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): unknown {
    const value = this.value(0);
    this.skip(BLANK);
    if (this.at < this.text.length) this.fail("Extra data");
    return value;
  }

  private fail(message: string): never {
    throw new JsonSyntaxError(message, this.at);
  }

  private skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** Steps over blanks and, if it comes next, over one mark. */
  private take(mark: string): boolean {
    this.skip(BLANK);
    if (this.text[this.at] !== mark) return false;
    this.at += 1;
    return true;
  }

  private value(depth: number): unknown {
    if (depth > MAX_DEPTH) this.fail(`Nested deeper than ${MAX_DEPTH} levels`);
    if (this.take("{")) return this.object(depth);
    if (this.take("[")) return this.array(depth);
    if (this.text[this.at] === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  private object(depth: number): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    if (this.take("}")) return result;
    do {
      this.skip(BLANK);
      if (this.text[this.at] !== '"') {
        this.fail("Expecting property name enclosed in double quotes");
      }
      const key = this.string();
      if (!this.take(":")) this.fail("Expecting ':' delimiter");
      const value = this.value(depth + 1);
      // A plain assignment to "__proto__" would change the object's prototype.
      Object.defineProperty(result, key, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    } while (this.take(","));
    if (!this.take("}")) this.fail("Expecting ',' delimiter");
    return result;
  }

  private array(depth: number): unknown[] {
    const result: unknown[] = [];
    if (this.take("]")) return result;
    do result.push(this.value(depth + 1));
    while (this.take(","));
    if (!this.take("]")) this.fail("Expecting ',' delimiter");
    return result;
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    for (;;) {
      this.skip(PLAIN);
      const mark = this.text[this.at];
      if (mark === '"') break;
      if (mark === undefined) this.fail("Unterminated string");
      if (this.skip(ESCAPE) === "") this.fail("Invalid \\escape");
    }
    this.at += 1;
    try {
      return JSON.parse(this.text.slice(start, this.at));
    } catch {
      return this.fail("Invalid control character");
    }
  }

  private number(): number | bigint {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) this.fail("Expecting value");
    this.at += match[0].length;
    const value = Number(match[0]);
    const whole = match[1] === undefined && match[2] === undefined;
    return whole && !Number.isSafeInteger(value) ? BigInt(match[0]) : value;
  }
}

/**
 * Parses a JSON text. Integers that a number cannot hold exactly come out as bigints.
 * @throws JsonSyntaxError
 */
export function parseJson(text: string): unknown {
  // JSON.parse is several times faster; only long digits and errors need the careful reader.
  if (!LONG_DIGITS.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      return new Reader(text).document();
    }
  }
  return new Reader(text).document();
}

/** Writes a value as JSON like JSON.stringify, and bigints as integers. */
export function toJson(value: unknown): string {
  return write(value) ?? "null";
}

function write(value: unknown): string | undefined {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? "null").join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    const text = write(member);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
