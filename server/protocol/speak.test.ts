import { describe, expect, it } from "vitest";
import { validationErrorBody } from "./error.ts";
import { MAX_TEXT_LENGTH, SpeakRequest } from "./speak.ts";

function refusal(value: unknown) {
  const result = SpeakRequest.safeParse(value);
  return result.success ? undefined : validationErrorBody(result.error).error;
}

describe("SpeakRequest", () => {
  it("accepts text alone, and all fields", () => {
    expect(SpeakRequest.parse({ text: "Hello" })).toEqual({ text: "Hello" });
    const all = { text: "Hello", voice: "clara", seed: 0 };
    expect(SpeakRequest.parse(all)).toEqual(all);
  });

  it("names the field at fault in one sentence", () => {
    expect(refusal({ text: " \n" })).toEqual({
      message: "text: Input text cannot be empty",
      type: "BadRequestError",
      param: "text",
      code: 400,
    });
    expect(refusal({ text: "Hi", seed: -1 })?.param).toBe("seed");
    expect(refusal({ text: "Hi", seed: 1.5 })?.param).toBe("seed");
    expect(refusal({ text: "Hi", seed: "7" })?.param).toBe("seed");
    expect(refusal({})?.param).toBe("text");
    expect(refusal([])?.param).toBeNull();
  });

  it("counts characters as people do, not in UTF-16 units", () => {
    expect(refusal({ text: "😀".repeat(MAX_TEXT_LENGTH) })).toBeUndefined();
    expect(refusal({ text: "a".repeat(MAX_TEXT_LENGTH + 1) })?.param).toBe("text");
  });
});
