/**
 * Judges a recording before it becomes a voice. Findings are codes with a value; what they mean to a person is said
 * elsewhere, in that person's language. Only what the server refuses too is a failure; all else is advice.
 *
 * | code | value | pass | warn | fail |
 * |---|---|---|---|---|
 * | length | s | 3 to 15 | shorter, longer | below or above the server's limits |
 * | silent | dBFS of the loud parts | -75 and more | | less |
 * | sound | s from first to last sound | 3 and more | less | below 0.5 |
 * | level | dBFS RMS of the sound | -35 to -12 | outside | |
 * | clipping | share of samples | up to 0.001 | more | |
 * | noise | dB from the pauses to the sound | 30 and more, or no pause | less | |
 * | silence | share | up to 0.4 | more | |
 * | edges | s of silence at the longer end | up to 0.5 | more | |
 * | bandwidth | Hz | 7000 and more | less | |
 * | offset | amplitude | up to 0.005 | more | |
 * | reverb | s for 60 dB | up to 0.7 | more | |
 * | phase | 1 if channels cancel | 0 | 1 | |
 */
import type { Limits } from "../../server/protocol/limits.ts";
import { type Measures, measure, type Range, STEP_SECONDS } from "./doctor-measure.ts";
import { toDb } from "./pcm.ts";

export type Grade = "pass" | "warn" | "fail";
export type FindingCode =
  | "length"
  | "silent"
  | "sound"
  | "level"
  | "clipping"
  | "noise"
  | "silence"
  | "edges"
  | "bandwidth"
  | "offset"
  | "reverb"
  | "phase";
export type Unit = "s" | "dBFS" | "dB" | "share" | "Hz" | "amplitude" | "flag";

export type Fix =
  /** Keep this stretch, in seconds. */
  | ({ readonly kind: "trim" } & Range)
  | { readonly kind: "gain"; readonly db: number }
  | { readonly kind: "remove_offset" };

export interface Finding {
  readonly code: FindingCode;
  readonly grade: Grade;
  /** Undefined where the recording does not tell; then it passes. */
  readonly value: number | undefined;
  readonly unit: Unit;
  readonly fix?: Fix;
}

export interface Diagnosis {
  /** The worst grade. */
  readonly grade: Grade;
  readonly findings: readonly Finding[];
  readonly measures: Measures;
  /** The best stretch of at most 10 s. */
  readonly bestWindow: Range;
}

export type ReferenceLimits = Pick<Limits, "reference_min_seconds" | "reference_max_seconds">;

const DEFAULT_LIMITS: ReferenceLimits = { reference_min_seconds: 1, reference_max_seconds: 30 };
export const GOOD_SECONDS = { min: 3, max: 15 } as const;
const WINDOW_SECONDS = { min: 3, max: 10 } as const;
const SILENT_DB = -75;
const MIN_SOUND_SECONDS = 0.5;
const LEVEL_DB = { min: -35, max: -12, target: -21 } as const;
const MAX_PEAK = 0.98;
const MAX_CLIPPED = 0.001;
const MIN_NOISE_DISTANCE_DB = 30;
const MAX_SILENCE = 0.4;
const MAX_EDGE_SECONDS = 0.5;
const MIN_BANDWIDTH_HZ = 7000;
const MAX_OFFSET = 0.005;
const MAX_DECAY_SECONDS = 0.7;
/** A window that starts or ends inside a word costs as much as this share of silence. */
const CUT_COST = 0.15;

/** Judges one plane a channel, of equal lengths, at `sampleRate` Hz. */
export function diagnose(
  planes: readonly Float32Array[],
  sampleRate: number,
  limits: ReferenceLimits = DEFAULT_LIMITS,
): Diagnosis {
  const measures = measure(planes, sampleRate);
  const bestWindow = bestWindowOf(measures);
  const findings = [
    lengthFinding(measures, limits, bestWindow),
    ...soundFindings(measures),
    levelFinding(measures),
    ...qualityFindings(measures),
  ];
  const grades = findings.map(({ grade }) => grade);
  const grade = grades.includes("fail") ? "fail" : grades.includes("warn") ? "warn" : "pass";
  return { grade, findings, measures, bestWindow };
}

function lengthFinding(
  { seconds }: Measures,
  { reference_min_seconds: min, reference_max_seconds: max }: ReferenceLimits,
  window: Range,
): Finding {
  const isGood = seconds >= GOOD_SECONDS.min && seconds <= GOOD_SECONDS.max;
  const isRefused = seconds < min || seconds > max;
  const finding: Finding = {
    code: "length",
    grade: isRefused ? "fail" : isGood ? "pass" : "warn",
    value: seconds,
    unit: "s",
  };
  if (seconds <= GOOD_SECONDS.max || window.end <= window.start) return finding;
  return { ...finding, fix: { kind: "trim", ...window } };
}

function soundFindings({ loudDb, sound, leadingSilence, trailingSilence }: Measures): Finding[] {
  const seconds = sound.end - sound.start;
  const edge = Math.max(leadingSilence, trailingSilence);
  const isSilent = loudDb < SILENT_DB;
  const edges = warnIf("edges", edge > MAX_EDGE_SECONDS, edge, "s");
  const canTrim = edges.grade === "warn" && !isSilent && seconds >= MIN_SOUND_SECONDS;
  return [
    { code: "silent", grade: isSilent ? "fail" : "pass", value: loudDb, unit: "dBFS" },
    {
      code: "sound",
      grade: seconds < MIN_SOUND_SECONDS ? "fail" : seconds < GOOD_SECONDS.min ? "warn" : "pass",
      value: seconds,
      unit: "s",
    },
    canTrim ? { ...edges, fix: { kind: "trim", ...sound } } : edges,
  ];
}

function levelFinding({ soundDb, peakDb, loudDb }: Measures): Finding {
  const isOff = soundDb < LEVEL_DB.min || soundDb > LEVEL_DB.max;
  const finding = warnIf("level", isOff, soundDb, "dBFS");
  if (!isOff || loudDb < SILENT_DB) return finding;
  const db = Math.min(LEVEL_DB.target - soundDb, toDb(MAX_PEAK) - peakDb);
  return { ...finding, fix: { kind: "gain", db } };
}

function qualityFindings(measures: Measures): Finding[] {
  const { clippedShare, noiseDb, soundDb, silenceShare, bandwidthHz, offset } = measures;
  const { decaySeconds, isOppositePhase } = measures;
  const distance = noiseDb === undefined ? undefined : soundDb - noiseDb;
  const isNoisy = distance !== undefined && distance < MIN_NOISE_DISTANCE_DB;
  const isReverberant = decaySeconds !== undefined && decaySeconds > MAX_DECAY_SECONDS;
  const offsetFinding = warnIf("offset", offset > MAX_OFFSET, offset, "amplitude");
  return [
    warnIf("clipping", clippedShare > MAX_CLIPPED, clippedShare, "share"),
    warnIf("noise", isNoisy, distance, "dB"),
    warnIf("silence", silenceShare > MAX_SILENCE, silenceShare, "share"),
    warnIf("bandwidth", bandwidthHz < MIN_BANDWIDTH_HZ, bandwidthHz, "Hz"),
    offsetFinding.grade === "pass"
      ? offsetFinding
      : { ...offsetFinding, fix: { kind: "remove_offset" } },
    warnIf("reverb", isReverberant, decaySeconds, "s"),
    warnIf("phase", isOppositePhase, isOppositePhase ? 1 : 0, "flag"),
  ];
}

function warnIf(code: FindingCode, isBad: boolean, value: number | undefined, unit: Unit): Finding {
  return { code, grade: isBad ? "warn" : "pass", value, unit };
}

/** The stretch of 3 to 10 s with the most sound that begins and ends in a pause if one can be found. */
function bestWindowOf({ active, sound }: Measures): Range {
  const toStep = (seconds: number) => Math.round(seconds / STEP_SECONDS);
  const [first, last] = [toStep(sound.start), Math.min(active.length, toStep(sound.end))];
  const [shortest, longest] = [toStep(WINDOW_SECONDS.min), toStep(WINDOW_SECONDS.max)];
  if (last - first <= longest) return sound;
  const soundBefore = [0];
  for (const [i, on] of active.entries()) soundBefore.push((soundBefore[i] ?? 0) + (on ? 1 : 0));
  let best = { start: first, end: first + longest, score: Number.NEGATIVE_INFINITY };
  for (let start = first; start + shortest <= last; start++) {
    for (let end = Math.min(last, start + longest); end >= start + shortest; end--) {
      const heard = (soundBefore[end] ?? 0) - (soundBefore[start] ?? 0);
      const cuts = (active[start] ? 1 : 0) + (active[end - 1] ? 1 : 0);
      const score = heard / longest - CUT_COST * cuts;
      if (score > best.score) best = { start, end, score };
    }
  }
  return { start: best.start * STEP_SECONDS, end: best.end * STEP_SECONDS };
}
