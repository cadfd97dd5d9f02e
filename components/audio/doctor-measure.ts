/**
 * Measures a recording that is to become a voice: levels, sound and silence, noise, clipping, offset, decay. Follows the
 * server's own measures (20 ms steps, the same thresholds), so that page and server agree on what is refused. Pure.
 */
import { loudnessOf } from "./loudness.ts";
import { fromDb, peakOf, rmsOf, toDb } from "./pcm.ts";
import { bandwidthOf } from "./spectrum.ts";

/** Levels below this are reported as this, so that digital silence stays a number. */
export const FLOOR_DB = -120;
export const STEP_SECONDS = 0.02;
/** Shorter sounds are clicks. */
const MIN_SOUND_STEPS = 3;
/** Kept around the sound when silence is cut off. */
const LEAD_STEPS = 5;
const TAIL_STEPS = 8;
/** Steps below this are what files are padded with; they tell nothing of the room. */
const PADDING_DB = -85;
/** The quietest steps lie between these shares of the sorted levels; a lone dropout lies below both. */
const QUIETEST = { from: 0.02, to: 0.08 } as const;
/** Noise stands still: its steps differ by less than this, those of fading sound by far more. */
const MAX_NOISE_SPREAD_DB = 4;
/** What lies this far below the sound is no speech any more, whether it stands still or not. */
const PAUSE_DB = 30;
/** Whatever is as loud as the loud parts all the time may be the sound itself. */
const MIN_RISE_DB = 6;
/** Channels this far below the loudest one are left out of the mix. */
const EMPTY_CHANNEL_DB = 40;
const CLIP_LEVEL = 0.998;
const CLIP_RUN = 3;
/** A decay is a fall of this much from loud sound, and three of them are enough to tell. */
const DECAY_DB = 15;
const MIN_DECAYS = 3;
const STEADY_DB = 3;

/** A range in seconds. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Levels in dBFS, shares from 0 to 1. */
export interface Measures {
  readonly seconds: number;
  /** From the first sound to the last with a little air; empty if there is none. */
  readonly sound: Range;
  /** Level that a twentieth of the steps exceed. */
  readonly loudDb: number;
  /** RMS of the steps with sound. */
  readonly soundDb: number;
  readonly peakDb: number;
  /** Integrated loudness; -Infinity for silence. */
  readonly lufs: number;
  /** Level between the words; undefined where no pause is long or clear enough to tell it. */
  readonly noiseDb: number | undefined;
  /** Share of samples in runs at full scale. */
  readonly clippedShare: number;
  readonly silenceShare: number;
  readonly leadingSilence: number;
  readonly trailingSilence: number;
  /** Highest frequency with sound, Hz. */
  readonly bandwidthHz: number;
  /** Largest mean of a channel, as an amplitude. */
  readonly offset: number;
  /** Seconds that sound would take to fall by 60 dB, from how it falls; undefined where that cannot be told. */
  readonly decaySeconds: number | undefined;
  /** Whether the two channels cancel each other in the middle. */
  readonly isOppositePhase: boolean;
  /** One entry for each step of 20 ms. */
  readonly active: readonly boolean[];
}

/** Measures one plane a channel, of equal lengths, at `sampleRate` Hz. */
export function measure(planes: readonly Float32Array[], sampleRate: number): Measures {
  const offsets = planes.map(meanOf);
  const centred = planes.map((plane, i) => plane.map((x) => x - (offsets[i] ?? 0)));
  const { mix, isOppositePhase } = mixDown(centred);
  const seconds = mix.length / sampleRate;
  const step = Math.max(1, Math.round(sampleRate * STEP_SECONDS));
  const levels = stepLevels(mix, step);
  const sorted = levels.toSorted((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? FLOOR_DB;
  const [floorDb, loudDb] = [quantile(0.1), quantile(0.95)];
  const threshold = Math.min(Math.max(floorDb + 8, loudDb - 40), loudDb - 20);
  const active = withoutClicks(levels.map((level) => level > threshold && level > FLOOR_DB));
  const first = active.indexOf(true);
  const last = active.lastIndexOf(true);
  const hasSound = first >= 0;
  const toSeconds = (steps: number) => Math.min(seconds, Math.max(0, steps) * (step / sampleRate));
  const sound = hasSound
    ? { start: toSeconds(first - LEAD_STEPS), end: toSeconds(last + 1 + TAIL_STEPS) }
    : { start: 0, end: 0 };
  const heard = levels.filter((_, i) => active[i]);
  const soundDb = meanLevel(heard);
  const cut = mix.subarray(
    Math.round(sound.start * sampleRate),
    Math.round(sound.end * sampleRate),
  );
  return {
    seconds,
    sound,
    loudDb,
    soundDb,
    peakDb: Math.max(FLOOR_DB, toDb(Math.max(0, ...planes.map(peakOf)))),
    lufs: loudnessOf(planes.slice(0, 2), sampleRate),
    noiseDb: noiseOf(stepLevels(mix, step, true), soundDb, loudDb),
    clippedShare: clippedShare(planes),
    silenceShare: 1 - heard.length / Math.max(1, levels.length),
    leadingSilence: hasSound ? toSeconds(first) : seconds,
    trailingSilence: hasSound ? seconds - toSeconds(last + 1) : seconds,
    bandwidthHz: bandwidthOf(cut, sampleRate),
    offset: Math.max(0, ...offsets.map(Math.abs)),
    decaySeconds: decayOf(levels, loudDb, threshold),
    isOppositePhase,
    active,
  };
}

function meanOf(samples: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < samples.length; i++) sum += samples[i] ?? 0;
  return sum / Math.max(1, samples.length);
}

/** The mean of the channels that carry sound; where they cancel each other, the loudest alone. */
function mixDown(planes: readonly Float32Array[]): { mix: Float32Array; isOppositePhase: boolean } {
  const levels = planes.map((plane) => rmsOf(plane));
  const loudest = Math.max(0, ...levels);
  const used = planes.filter((_, i) => (levels[i] ?? 0) >= loudest * fromDb(-EMPTY_CHANNEL_DB));
  const [first] = used;
  if (first === undefined || used.length === 1) {
    return { mix: first ?? new Float32Array(0), isOppositePhase: false };
  }
  const mix = new Float32Array(first.length);
  for (const plane of used) {
    for (let i = 0; i < mix.length; i++) mix[i] = (mix[i] ?? 0) + (plane[i] ?? 0) / used.length;
  }
  if (loudest === 0 || rmsOf(mix) > loudest / 4) return { mix, isOppositePhase: false };
  return { mix: planes[levels.indexOf(loudest)] ?? first, isOppositePhase: true };
}

/** RMS of each step; around the mean of that step alone if `isCentred`. */
function stepLevels(samples: Float32Array, step: number, isCentred = false): number[] {
  const levels: number[] = [];
  for (let at = 0; at < samples.length; at += step) {
    const part = samples.subarray(at, Math.min(samples.length, at + step));
    const mean = isCentred ? meanOf(part) : 0;
    const level = 10 * Math.log10(Math.max(0, rmsOf(part) ** 2 - mean ** 2));
    levels.push(Math.max(FLOOR_DB, level));
  }
  return levels;
}

/** Level of the mean power. */
function meanLevel(levels: readonly number[]): number {
  const power = levels.reduce((sum, level) => sum + 10 ** (level / 10), 0);
  return Math.max(FLOOR_DB, 10 * Math.log10(power / Math.max(1, levels.length)));
}

/**
 * The level of the quietest steps, if that is noise. Noise is there all the time, so nothing lies below it and many steps
 * lie at it. Quiet sounds of speech do not stand still; taking all that is quiet for noise would blame clean speech. The
 * steps are centred one by one: speech is not symmetric, so the mean of the recording is not that of its pauses.
 */
function noiseOf(steps: readonly number[], soundDb: number, loudDb: number): number | undefined {
  const levels = steps.filter((level) => level > PADDING_DB).sort((a, b) => a - b);
  const at = (share: number) => Math.floor(share * (levels.length - 1));
  const quietest = levels.slice(at(QUIETEST.from), at(QUIETEST.to) + 1);
  const noiseDb = meanLevel(quietest);
  const spread = (quietest.at(-1) ?? 0) - (quietest[0] ?? 0);
  const isPause = spread <= MAX_NOISE_SPREAD_DB || soundDb - noiseDb >= PAUSE_DB;
  return quietest.length > 0 && isPause && loudDb - noiseDb >= MIN_RISE_DB ? noiseDb : undefined;
}

function withoutClicks(active: readonly boolean[]): boolean[] {
  const kept = active.slice();
  for (let i = 0; i < active.length; ) {
    let end = i;
    while (active[end]) end++;
    if (end - i < MIN_SOUND_STEPS) kept.fill(false, i, end);
    i = Math.max(end, i + 1);
  }
  return kept;
}

/** Single samples at full scale are loud; runs of them are clipped. */
function clippedShare(planes: readonly Float32Array[]): number {
  let clipped = 0;
  let total = 0;
  for (const plane of planes) {
    let run = 0;
    for (let i = 0; i < plane.length; i++) {
      run = Math.abs(plane[i] ?? 0) >= CLIP_LEVEL ? run + 1 : 0;
      if (run === CLIP_RUN) clipped += CLIP_RUN;
      else if (run > CLIP_RUN) clipped++;
    }
    total += plane.length;
  }
  return clipped / Math.max(1, total);
}

/**
 * The median time of the falls from loud sound towards silence, stretched to 60 dB. A room keeps sound from falling fast,
 * whatever is said in it.
 */
function decayOf(levels: readonly number[], loudDb: number, floorDb: number): number | undefined {
  const times: number[] = [];
  for (let i = 0; i < levels.length; ) {
    let end = i;
    const goesOn = () => {
      const [here = FLOOR_DB, next = FLOOR_DB] = [levels[end], levels[end + 1]];
      return end + 1 < levels.length && next < here + 1 && here > floorDb;
    };
    while (goesOn()) end++;
    const part = levels.slice(i, end + 1);
    const loudest = Math.max(...part);
    // The sound itself is steady; the fall begins where it leaves that level for good.
    const from = part.findLastIndex((level) => level > loudest - STEADY_DB);
    const fall = (part[from] ?? FLOOR_DB) - (part.at(-1) ?? FLOOR_DB);
    if (loudest > loudDb - DECAY_DB && fall >= DECAY_DB) {
      times.push((60 / fall) * (part.length - 1 - from) * STEP_SECONDS);
    }
    i = end + 1;
  }
  if (times.length < MIN_DECAYS) return undefined;
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
}
