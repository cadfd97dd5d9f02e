/**
 * From a decoded recording to the reference of a voice: refuses what cannot carry a voice, repairs what can be repaired,
 * and reports how good it is. Resampling to the rate of the codec is the engine's work.
 */
import { bestWindow, FLOOR_DB, measureActivity, soundRange } from "./activity.ts";
import type { DecodedAudio } from "./decode.ts";
import { AudioError } from "./error.ts";
import { deinterleave, fromDb, interleave, rms, toDb } from "./pcm.ts";
import { bandwidthHz } from "./spectrum.ts";

export interface ReferenceOptions {
  /** Shortest and longest recording, in seconds, both inclusive. */
  readonly minSeconds?: number;
  readonly maxSeconds?: number;
  /** One channel, or both of a stereo recording. */
  readonly channels?: "mono" | "keep";
  /** Cuts silence off both ends. */
  readonly trim?: boolean;
  /** Brings the speech to about -21 dBFS RMS, as far as the peak allows. */
  readonly level?: boolean;
  /** Keeps only the best stretch of this length, in seconds, where the recording is longer. */
  readonly window?: { readonly minSeconds: number; readonly maxSeconds: number };
}

/** The stretch that clones best with the shipped voices. */
export const RECOMMENDED_WINDOW = { minSeconds: 3, maxSeconds: 6 } as const;

const DEFAULT_MIN_SECONDS = 1;
const DEFAULT_MAX_SECONDS = 30;
/** Sound that must be left when silence is cut off, in seconds. */
const MIN_SOUND_SECONDS = 0.5;
const TARGET_DB = -21;
const MAX_PEAK = 0.98;
/** A recording whose loud parts stay below this level is silence; quiet speech lies 10 dB above it and more. */
const SILENT_DB = -75;
/** Channels this far below the loudest one are left out of the mix. */
const EMPTY_CHANNEL_DB = 40;
const CLIP_LEVEL = 0.998;
const CLIP_RUN = 3;
const CLIP_WARNING_SHARE = 0.001;
const OFFSET_WARNING = 0.02;

export type ReferenceWarning = "clipped" | "opposite_phase" | "offset_removed" | "window_chosen";

/** What was measured on the recording before it was changed. Levels in dBFS, shares from 0 to 1. */
export interface ReferenceReport {
  /** Largest absolute sample. */
  readonly peak: number;
  /** RMS over the whole recording. */
  readonly rmsDb: number;
  readonly silenceShare: number;
  readonly clippedShare: number;
  /** Highest frequency that carries sound. */
  readonly bandwidthHz: number;
  readonly noiseFloorDb: number;
  /** Gain that was applied, 0 unless `level` was asked for. */
  readonly gainDb: number;
  readonly warnings: readonly ReferenceWarning[];
}

export interface Reference {
  /** Interleaved, [frames * channels] */
  readonly pcm: Float32Array;
  readonly channels: 1 | 2;
  readonly sampleRate: number;
  readonly seconds: number;
  readonly report: ReferenceReport;
}

/**
 * Checks and prepares a recording.
 * @throws AudioError `too_short`, `too_long` or `silent`.
 */
export function prepareReference(decoded: DecodedAudio, options: ReferenceOptions = {}): Reference {
  const { sampleRate } = decoded;
  const frames = Math.floor(decoded.pcm.length / decoded.channels);
  checkLength(frames / sampleRate, options);

  const warnings: ReferenceWarning[] = [];
  const planes = deinterleave(decoded.pcm, decoded.channels);
  const clippedShare = Math.max(decoded.overShare, clipped(planes));
  if (clippedShare > CLIP_WARNING_SHARE) warnings.push("clipped");
  if (removeOffsets(planes) > OFFSET_WARNING) warnings.push("offset_removed");
  const stereo = planes.length === 2 && options.channels === "keep" && !lopsided(planes);
  const mix = mixDown(planes, warnings);

  const activity = measureActivity(mix, sampleRate);
  if (activity.loudDb < SILENT_DB) {
    throw new AudioError(
      "silent",
      `Reference audio is silent (${activity.loudDb.toFixed(0)} dBFS). Clear speech above ${SILENT_DB} dBFS is required.`,
    );
  }
  let range = { start: 0, end: mix.length };
  if (options.trim ?? true) range = soundRange(activity, mix.length);
  const sound = (range.end - range.start) / sampleRate;
  if (sound < MIN_SOUND_SECONDS) {
    throw new AudioError(
      "too_short",
      `Reference audio too short (${sound.toFixed(1)}s of sound). At least ${MIN_SOUND_SECONDS}s of clear speech is required.`,
    );
  }
  if (options.window !== undefined) {
    const { minSeconds, maxSeconds } = options.window;
    const window = bestWindow(activity, range, sampleRate, minSeconds, maxSeconds);
    if (window.end - window.start < range.end - range.start) warnings.push("window_chosen");
    range = window;
  }

  const kept = (stereo ? planes : [mix]).map((plane) => plane.slice(range.start, range.end));
  const gainDb = options.level ? applyLevel(kept, activity.soundDb) : 0;
  const silent = activity.active.filter((on) => !on).length;
  return {
    pcm: interleave(kept),
    channels: stereo ? 2 : 1,
    sampleRate,
    seconds: (range.end - range.start) / sampleRate,
    report: {
      peak: largest(decoded.pcm),
      rmsDb: Math.max(FLOOR_DB, toDb(rms(mix))),
      silenceShare: silent / activity.active.length,
      clippedShare,
      bandwidthHz: bandwidthHz(mix.subarray(range.start, range.end), sampleRate),
      noiseFloorDb: activity.noiseFloorDb,
      gainDb,
      warnings,
    },
  };
}

function checkLength(seconds: number, options: ReferenceOptions): void {
  const { minSeconds = DEFAULT_MIN_SECONDS, maxSeconds = DEFAULT_MAX_SECONDS } = options;
  if (seconds < minSeconds) {
    throw new AudioError(
      "too_short",
      `Reference audio too short (${seconds.toFixed(1)}s). At least ${minSeconds}s of clear speech is required.`,
    );
  }
  if (seconds > maxSeconds) {
    throw new AudioError(
      "too_long",
      `Reference audio too long (${seconds.toFixed(1)}s). Maximum ${maxSeconds}s supported — use a shorter clip.`,
    );
  }
}

/** Share of samples in runs at full scale: single peaks there are loud, runs are clipped. */
function clipped(planes: readonly Float32Array[]): number {
  let count = 0;
  let total = 0;
  for (const plane of planes) {
    let run = 0;
    for (let i = 0; i < plane.length; i++) {
      run = Math.abs(plane[i] ?? 0) >= CLIP_LEVEL ? run + 1 : 0;
      if (run === CLIP_RUN) count += CLIP_RUN;
      else if (run > CLIP_RUN) count++;
    }
    total += plane.length;
  }
  return count / total;
}

/** Subtracts each channel's mean in place; returns the largest that was found. */
function removeOffsets(planes: readonly Float32Array[]): number {
  let largestOffset = 0;
  for (const plane of planes) {
    let sum = 0;
    for (let i = 0; i < plane.length; i++) sum += plane[i] ?? 0;
    const mean = sum / plane.length;
    for (let i = 0; i < plane.length; i++) plane[i] = (plane[i] ?? 0) - mean;
    largestOffset = Math.max(largestOffset, Math.abs(mean));
  }
  return largestOffset;
}

/** Whether one channel of two is practically empty, as in recordings made with one microphone. */
function lopsided(planes: readonly Float32Array[]): boolean {
  return carrying(planes).length < planes.length;
}

function carrying(planes: readonly Float32Array[]): Float32Array[] {
  const levels = planes.map((plane) => rms(plane));
  const least = Math.max(...levels) * fromDb(-EMPTY_CHANNEL_DB);
  return planes.filter((_, i) => (levels[i] ?? 0) >= least);
}

/**
 * The mean of the channels that carry sound. Channels of opposite phase would cancel: then the loudest is taken alone.
 */
function mixDown(planes: readonly Float32Array[], warnings: ReferenceWarning[]): Float32Array {
  const used = carrying(planes);
  const [first] = used;
  if (first === undefined || used.length === 1) return first ?? new Float32Array(0);
  const mix = new Float32Array(first.length);
  for (const plane of used) {
    for (let i = 0; i < mix.length; i++) mix[i] = (mix[i] ?? 0) + (plane[i] ?? 0) / used.length;
  }
  const loudest = used.reduce((a, b) => (rms(b) > rms(a) ? b : a));
  if (rms(mix) > rms(loudest) / 4) return mix;
  warnings.push("opposite_phase");
  return loudest;
}

/** Scales in place towards the target level; returns the gain in dB. */
function applyLevel(planes: readonly Float32Array[], soundDb: number): number {
  const peak = Math.max(...planes.map(largest));
  const gainDb = Math.min(TARGET_DB - soundDb, toDb(MAX_PEAK / peak));
  const gain = fromDb(gainDb);
  for (const plane of planes) {
    for (let i = 0; i < plane.length; i++) plane[i] = (plane[i] ?? 0) * gain;
  }
  return gainDb;
}

function largest(samples: Float32Array): number {
  let peak = 0;
  for (let i = 0; i < samples.length; i++) peak = Math.max(peak, Math.abs(samples[i] ?? 0));
  return peak;
}
