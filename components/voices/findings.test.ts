import { describe, expect, it } from "vitest";
import type { Finding, FindingCode, Grade } from "../audio/doctor.ts";
import { remedyOf, shownFindings, valueText } from "./findings.ts";

describe("the remedy", () => {
  it.each<[FindingCode, Grade, number | undefined, string | undefined]>([
    ["length", "pass", 6, undefined],
    ["length", "warn", 2, "short"],
    ["length", "warn", 20, "long"],
    ["length", "fail", 0.4, "tooShort"],
    ["length", "fail", 40, "tooLong"],
    ["level", "warn", -50, "quiet"],
    ["level", "warn", -3, "loud"],
    ["noise", "warn", 12, "noise"],
    ["silent", "fail", -120, "silent"],
    ["reverb", "pass", undefined, undefined],
  ])("of %s with grade %s and value %s is %s", (code, grade, value, remedy) => {
    expect(remedyOf({ code, grade, value, unit: "s" })).toBe(remedy);
  });
});

describe("what is shown", () => {
  const finding = (code: FindingCode, grade: Grade): Finding => ({
    code,
    grade,
    value: 1,
    unit: "s",
  });
  const shown = (...findings: Finding[]) => shownFindings(findings).map(({ code }) => code);

  it("begins with the worst", () => {
    const [length, noise] = [finding("length", "fail"), finding("noise", "warn")];
    const [silent, level] = [finding("silent", "pass"), finding("level", "pass")];
    expect(shown(silent, noise, level, length)).toEqual(["length", "noise", "silent", "level"]);
  });

  it("is no guess about silence", () => {
    const silent = finding("silent", "fail");
    expect(shown(finding("length", "pass"), finding("noise", "warn"), silent)).toEqual([
      "silent",
      "length",
    ]);
  });
});

describe("a value", () => {
  it.each<[Finding["unit"], number | undefined, string]>([
    ["s", 4.25, "4.3 s"],
    ["dBFS", -21.4, "−21 dBFS"],
    ["dB", 32.4, "32 dB"],
    ["share", 0.25, "25 %"],
    ["share", 0.004, "0.4 %"],
    ["share", 0, "0 %"],
    ["Hz", 7250, "7.3 kHz"],
    ["amplitude", 0.0123, "0.012"],
    ["flag", 1, ""],
    ["s", undefined, ""],
  ])("in %s of %s is written %j", (unit, value, text) => {
    expect(valueText({ code: "length", grade: "pass", value, unit })).toBe(text);
  });
});
