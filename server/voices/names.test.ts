import { describe, expect, it } from "vitest";
import { ApiError } from "../protocol/envelope.ts";
import { LIMITS } from "../protocol/limits.ts";
import { checkNewName, voiceKey } from "./names.ts";

describe("voiceKey", () => {
  it.each([
    ["Alice", "ALICE"],
    ["Zoë", "ZOE\u0308"],
    ["straße", "STRASSE"],
    ["STRAẞE", "strasse"],
    ["ΟΔΥΣΣΕΥΣ", "οδυσσευς"],
    ["İnci", "i\u0307nci"],
    ["a  b", " A\u00a0B "],
    ["cl\u200bara", "clara"],
    ["ガ", "カ\u3099"],
    ["\u212bngström", "ångström"],
  ])("takes %j and %j for the same name", (one, other) => {
    expect(voiceKey(one)).toBe(voiceKey(other));
  });

  it.each([
    ["Işıl", "Isil"],
    ["ada", "adá"],
    ["か", "カ"],
    ["李", "利"],
    ["a b", "ab"],
  ])("tells %j and %j apart", (one, other) => {
    expect(voiceKey(one)).not.toBe(voiceKey(other));
  });
});

describe("checkNewName", () => {
  const builtIn = new Set(["clara"]);
  const check = (name: string) => checkNewName(name, builtIn, LIMITS);

  it.each(["Ada", "con", "-rf", "$(touch pwned)", "王小明", "مريم", "👩‍🎤", "n".repeat(128)])(
    "accepts %j",
    (name) => expect(check(` ${name}`)).toBe(name),
  );

  it.each([
    "",
    "  ",
    ".",
    "..",
    "a/b",
    "a\\b",
    "a\0b",
    "two\nlines",
    "n".repeat(129),
    "\u200b\u200d",
    "\ud800",
    "Default",
    "vp_1",
    "voice_1",
    "clara",
    "CLARA ",
    "cla\u00adra",
  ])("refuses %j", (name) => {
    expect(() => check(name)).toThrow(ApiError);
    expect(() => check(name)).toThrow(/^Invalid voice name/);
  });
});
