/**
 * What is done to a recording before it becomes a voice: a stretch of it is kept, and faults that can be repaired are. The
 * recording itself is never changed, so everything can be taken back. Pure.
 */
import {
  type Diagnosis,
  diagnose,
  type Fix,
  GOOD_SECONDS,
  type ReferenceLimits,
} from "../audio/doctor.ts";
import { applyFixes } from "../audio/doctor-fixes.ts";
import type { Range } from "../audio/doctor-measure.ts";
import { interleave, toInt16 } from "../audio/pcm.ts";
import { buildWav } from "../audio/wav.ts";

/** Samples from -1 to 1, one plane a channel. */
export interface Clip {
  readonly planes: readonly Float32Array[];
  /** Hz */
  readonly sampleRate: number;
}

export interface Treatment {
  /** What is kept, in seconds of the recording. */
  readonly range: Range;
  /** Brings the speech to the level that clones best, whatever stretch is kept. */
  readonly levels: boolean;
  readonly removesOffset: boolean;
}

/** A recording as it will be uploaded, and what the doctor says of it. */
export interface Examined {
  readonly planes: readonly Float32Array[];
  readonly diagnosis: Diagnosis;
}

/** Shortest stretch that the handles allow, in seconds; whether it is enough is the doctor's affair. */
export const SHORTEST_SECONDS = 0.2;
const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;

export const secondsOf = ({ planes, sampleRate }: Clip) => (planes[0]?.length ?? 0) / sampleRate;

/** How a recording is treated at first: all of it is kept, or of a long one the stretch that clones best. */
export function firstTreatment(clip: Clip, whole: Diagnosis): Treatment {
  const seconds = secondsOf(clip);
  const { bestWindow } = whole;
  const isLong = seconds > GOOD_SECONDS.max && bestWindow.end > bestWindow.start;
  const range = isLong ? bestWindow : { start: 0, end: seconds };
  return { range: within(range, seconds), levels: false, removesOffset: false };
}

/** A range inside a recording, at least as long as the handles allow; to the millisecond, as it is shown. */
export function within({ start, end }: Range, seconds: number): Range {
  const shortest = Math.min(SHORTEST_SECONDS, seconds);
  const from = Math.min(Math.max(0, finite(start)), seconds - shortest);
  const to = Math.max(Math.min(seconds, finite(end)), from + shortest);
  return { start: round(from), end: to === seconds ? seconds : round(to) };
}

const finite = (value: number) => (Number.isFinite(value) ? value : 0);
const round = (value: number) => Math.round(value * 1000) / 1000;

/** Adds what the doctor suggests for the stretch that is kept now. */
export function withFix(treatment: Treatment, fix: Fix, seconds: number): Treatment {
  if (fix.kind === "gain") return { ...treatment, levels: true };
  if (fix.kind === "remove_offset") return { ...treatment, removesOffset: true };
  const { start } = treatment.range;
  const range = { start: start + fix.start, end: start + fix.end };
  return { ...treatment, range: within(range, seconds) };
}

/** Treats a recording and examines the result. */
export function examine(
  clip: Clip,
  { range, levels, removesOffset }: Treatment,
  limits?: ReferenceLimits,
): Examined {
  const { sampleRate } = clip;
  const fixes: Fix[] = [{ kind: "trim", ...range }];
  if (removesOffset) fixes.push({ kind: "remove_offset" });
  const planes = applyFixes(clip.planes, sampleRate, fixes);
  const diagnosis = diagnose(planes, sampleRate, limits);
  const gain = diagnosis.findings.flatMap(({ fix }) => (fix?.kind === "gain" ? [fix] : []));
  if (!levels || gain.length === 0) return { planes, diagnosis };
  const levelled = applyFixes(planes, sampleRate, gain);
  return { planes: levelled, diagnosis: diagnose(levelled, sampleRate, limits) };
}

/** One or two channels: those of a recording with more are mixed. */
export function fewChannels(planes: readonly Float32Array[]): readonly Float32Array[] {
  return planes.length <= 2 ? planes : [mixed(planes)];
}

function mixed(planes: readonly Float32Array[]): Float32Array {
  const mix = new Float32Array(planes[0]?.length ?? 0);
  for (const plane of planes) {
    for (let i = 0; i < mix.length; i++) mix[i] = (mix[i] ?? 0) + (plane[i] ?? 0) / planes.length;
  }
  return mix;
}

/** The file to upload: 16-bit WAV; in one channel where two would be more bytes than the server takes. */
export function uploadFile({ planes, sampleRate }: Clip, maxBytes: number): Blob {
  const frames = planes[0]?.length ?? 0;
  const size = HEADER_BYTES + frames * planes.length * BYTES_PER_SAMPLE;
  const kept = size > maxBytes && planes.length > 1 ? [mixed(planes)] : planes;
  return buildWav(toInt16(interleave(kept)), sampleRate, kept.length);
}
