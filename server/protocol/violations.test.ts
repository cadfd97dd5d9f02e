import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ApiError, parseBody, requireJson, toApiError, validate } from "./envelope.ts";
import { closeCode, ERRORS, type ErrorCode } from "./error-registry.ts";
import { codePoints, flag, longerThan, real, seed, whole, withoutNulls } from "./fields.ts";
import { SpeechRequest } from "./speech.ts";

function refusal(schema: z.ZodType, value: unknown) {
  try {
    validate(schema, value);
  } catch (error) {
    return toApiError(error).envelope().error;
  }
  return undefined;
}

const field = (schema: z.ZodType, value: unknown) => refusal(z.object({ x: schema }), { x: value });

describe("lenient scalars", () => {
  it("read the words for true and false in any case", () => {
    for (const word of [true, 1, "1", "true", "YES", "On", "t", "y"]) {
      expect(flag().parse(word)).toBe(true);
    }
    for (const word of [false, 0, "0", "False", "no", "OFF", "f", "n"]) {
      expect(flag().parse(word)).toBe(false);
    }
    for (const word of ["wrong", 2, "", {}, null]) {
      expect(flag().safeParse(word).success).toBe(false);
    }
  });

  it("read numbers from text, but never text from numbers", () => {
    expect(real().parse(" 1.5 ")).toBe(1.5);
    expect(whole().parse("512")).toBe(512);
    expect(whole().parse("512.0")).toBe(512);
    expect(seed().parse("-9223372036854775808")).toBe(-(2n ** 63n));
    expect(seed().parse("+7.0")).toBe(7n);
    for (const text of ["", "0x10", "1e", "one", "NaN", "Infinity", "1_000"]) {
      expect(real().safeParse(text).success).toBe(false);
      expect(seed().safeParse(text).success).toBe(false);
    }
    expect(z.string().safeParse(5).success).toBe(false);
  });

  it("count code points", () => {
    expect(codePoints("a😀b")).toBe(3);
    expect(codePoints("\ud83d")).toBe(1);
    expect(longerThan("😀".repeat(10), 10)).toBe(false);
    expect(longerThan("😀".repeat(11), 10)).toBe(true);
  });

  it("take null for absent", () => {
    expect(withoutNulls({ a: null, b: undefined, c: 0 })).toEqual({ c: 0 });
  });
});

describe("violations", () => {
  it("carry the slug, the location and the sentence that clients match on", () => {
    expect(refusal(z.object({ x: z.string() }), {})?.message).toBe(
      "1 validation error: {'type': 'missing', 'loc': ('body', 'x'), 'msg': 'Field required', 'input': None}",
    );
    const rows: [z.ZodType, unknown, string, string][] = [
      [z.string(), 5, "string_type", "Input should be a valid string"],
      [
        flag(),
        "wrong",
        "bool_parsing",
        "Input should be a valid boolean, unable to interpret input",
      ],
      [whole(), "a", "int_parsing", "Input should be a valid integer"],
      [whole(), 1.5, "int_parsing", "Input should be a valid integer"],
      [seed(), 1.5, "int_parsing", "Input should be a valid integer"],
      [real(), "a", "float_parsing", "Input should be a valid number"],
      [z.enum(["a", "b", "c"]), "d", "literal_error", "Input should be 'a', 'b' or 'c'"],
      [real(0.25), 0, "greater_than_equal", "Input should be greater than or equal to 0.25"],
      [seed(), 2n ** 63n, "less_than_equal", "less than or equal to 9223372036854775807"],
      [
        z.array(z.int()).min(1),
        [],
        "too_short",
        "List should have at least 1 item after validation, not 0",
      ],
      [
        z.array(z.int()).max(1),
        [1, 2],
        "too_long",
        "List should have at most 1 item after validation, not 2",
      ],
      [z.record(z.string(), z.int()), [1], "dict_type", "Input should be a valid dictionary"],
      [z.array(z.int()), {}, "list_type", "Input should be a valid list"],
      [z.string().max(2), "abc", "string_too_long", "String should have at most 2 characters"],
      [z.number().gt(0), 0, "greater_than", "Input should be greater than 0"],
    ];
    for (const [schema, value, slug, sentence] of rows) {
      const message = field(schema, value)?.message ?? "";
      expect(message).toContain(`'type': '${slug}', 'loc': ('body', 'x')`);
      expect(message).toContain(sentence);
    }
  });

  it("are all collected, and the first field is named", () => {
    const error = refusal(SpeechRequest, { input: 5, speed: 9, response_format: "mpeg" });
    expect(error?.message).toMatch(/^3 validation errors: /);
    expect(error).toMatchObject({ type: "Bad Request", code: 400, param: "input" });
  });

  it("never repeat a long input", () => {
    const error = refusal(SpeechRequest, { input: "x", response_format: "w".repeat(5000) });
    expect(error?.message.length).toBeLessThan(400);
  });

  it("quote as the messages of other servers do", () => {
    expect(
      field(
        z.string().refine(() => false, "it's wrong"),
        "a\n'b'",
      )?.message,
    ).toContain(`'msg': "Value error, it's wrong", 'input': "a\\n'b'"`);
  });
});

describe("the error registry", () => {
  it("gives every failure a status, a close code, a sentence and a next step", () => {
    for (const [code, entry] of Object.entries(ERRORS)) {
      expect(code).toMatch(/^[a-z_]+$/);
      expect(entry.status).toBeGreaterThanOrEqual(400);
      expect(entry.text.length).toBeGreaterThan(5);
      expect(entry.next).toMatch(/\.$/);
      expect([1001, 1003, 1009, 1011, 1013]).toContain(entry.close < 4000 ? entry.close : 1011);
      expect(entry.retryable).toBe([408, 429, 500, 503].includes(entry.status));
      expect([1000, 1001, 1003, 1009]).toContain(closeCode(code as ErrorCode, 1));
    }
  });

  it("builds the envelope of the interface, and adds to it", () => {
    const error = new ApiError("engine_dead", undefined, { requestId: "speech-1", stage: 1 });
    expect(error.envelope().error).toEqual({
      message: "The engine stopped and is being restarted: engine dead.",
      type: "InternalServerError",
      param: null,
      code: 500,
      reason: "engine_dead",
      retryable: true,
      hint: "Try again in a few seconds.",
      request_id: "speech-1",
      error_stage_id: 1,
    });
  });

  it("keeps the text of foreign errors to itself", () => {
    const error = toApiError(new Error("connect ECONNREFUSED 10.0.0.1"));
    expect(error.envelope().error.message).toBe(ERRORS.internal.text);
    expect(error.cause).toBeInstanceOf(Error);
  });
});

describe("bodies", () => {
  it("have to be JSON, whatever the charset", () => {
    expect(() => requireJson("Application/JSON; charset=utf-8")).not.toThrow();
    expect(() => requireJson("text/plain")).toThrow("Unsupported Media Type");
    expect(() => requireJson(undefined)).toThrow("Unsupported Media Type");
    expect(() => parseBody("{")).toThrow(/json_invalid.*JSON decode error/);
  });
});
