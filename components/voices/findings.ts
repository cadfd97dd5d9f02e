/** What the doctor found, ready to be put into words: the remedy that fits, and the value as it is written. Pure. */
import { type Finding, type FindingCode, GOOD_SECONDS, type Grade } from "../audio/doctor.ts";

/** A remedy; checks that can fail in two directions have two. */
export type Remedy =
  | Exclude<FindingCode, "length" | "level">
  | "tooShort"
  | "tooLong"
  | "short"
  | "long"
  | "quiet"
  | "loud";

/** Middle of the good levels, in dBFS. */
const GOOD_LEVEL_DB = -21;

const ORDER: Readonly<Record<Grade, number>> = { fail: 0, warn: 1, pass: 2 };

/** What is shown, the worst first. Of a recording in which nothing is heard, all but its length would be a guess. */
export function shownFindings(findings: readonly Finding[]): Finding[] {
  const isSilent = findings.some(({ code, grade }) => code === "silent" && grade === "fail");
  return findings
    .filter(({ code }) => !isSilent || code === "silent" || code === "length")
    .sort((a, b) => ORDER[a.grade] - ORDER[b.grade]);
}

/** The remedy of a finding; undefined if it passes. */
export function remedyOf({ code, grade, value = 0 }: Finding): Remedy | undefined {
  if (grade === "pass") return undefined;
  if (code === "level") return value < GOOD_LEVEL_DB ? "quiet" : "loud";
  if (code !== "length") return code;
  const isShort = value < GOOD_SECONDS.min;
  if (grade === "fail") return isShort ? "tooShort" : "tooLong";
  return isShort ? "short" : "long";
}

/** A value with its unit; empty where there is nothing to say. */
export function valueText({ value, unit }: Finding): string {
  if (value === undefined || unit === "flag") return "";
  switch (unit) {
    case "s":
      return `${value.toFixed(1)} s`;
    case "dBFS":
    case "dB":
      return `${value.toFixed(0).replace("-", "−")} ${unit}`;
    case "share":
      return `${(100 * value).toFixed(value > 0 && value < 0.01 ? 1 : 0)} %`;
    case "Hz":
      return `${(value / 1000).toFixed(1)} kHz`;
    case "amplitude":
      return value.toFixed(3);
  }
}
