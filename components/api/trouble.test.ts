import { describe, expect, it } from "vitest";
import { CLIENT_ERRORS, SonantError } from "../../server/protocol/client/index.ts";
import { LOCALES } from "../i18n/locales.ts";
import { STRINGS } from "../i18n/strings.ts";
import { inWords, PageError, troubleOf } from "./trouble.ts";

const words = STRINGS.ja.troubles;
const told = (error: unknown) => inWords(troubleOf(error), words);

describe("a failure", () => {
  it.each(Object.keys(CLIENT_ERRORS) as (keyof typeof CLIENT_ERRORS)[])(
    "that the client calls %s is told in the reader's language",
    (code) => {
      const { text, next } = words[code];
      const { message, hint, detail } = told(new SonantError(code, undefined, { requestId: "r1" }));
      expect({ message, hint, detail }).toEqual({ message: text, hint: next, detail: undefined });
      expect(troubleOf(new SonantError(code)).message).not.toBe(text);
    },
  );

  it("keeps what the client says beyond that as a detail, and all that goes with it", () => {
    const details = { requestId: "r1", retryAfterMs: 500 };
    expect(told(new SonantError("malformed_answer", "No 'id'.", details))).toMatchObject({
      code: "malformed_answer",
      message: words.malformed_answer.text,
      detail: "No 'id'.",
      ...details,
    });
  });

  it("that the server tells of stays as it came", () => {
    const error = new SonantError("input_empty", "'input' is empty.", { hint: "Say something." });
    const trouble = { code: "input_empty", message: "'input' is empty.", hint: "Say something." };
    expect(told(error)).toMatchObject(trouble);
  });

  it("of the page is told by its code, or else as an unknown one with its own sentence", () => {
    expect(told(new PageError("sound_gone", "Gone."))).toMatchObject({
      code: "sound_gone",
      message: words.sound_gone.text,
      detail: undefined,
    });
    for (const error of [new TypeError("x is not a function"), "x is not a function"]) {
      const { message, hint, detail } = told(error);
      expect([message, hint]).toEqual([words.unknown.text, words.unknown.next]);
      expect(detail).toBe("x is not a function");
    }
    expect(told(new TypeError("x")).code).toBe("TypeError");
  });

  it("that has its words already is not told anew", () => {
    const trouble = { code: "unsupported", message: "Ours.", hint: "Next." };
    expect(inWords(trouble, words)).toEqual(trouble);
    const once = told(new SonantError("network"));
    expect(inWords(once, STRINGS.zh.troubles)).toEqual(once);
  });

  it("has other words in each language", () => {
    expect(new Set(LOCALES.map((locale) => STRINGS[locale].troubles.network.text)).size).toBe(3);
  });
});
