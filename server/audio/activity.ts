/**
 * Where a recording has sound and where it is quiet, from the levels of 20 ms steps. It measures level and knows nothing
 * about speech, so a steady tone counts as sound throughout. Pure; works on one channel.
 */
import { rms, toDb } from "./pcm.ts";

/** Levels below this are reported as this, so that digital silence stays a number. */
export const FLOOR_DB = -120;
const STEP_SECONDS = 0.02;
/** Shorter sounds are clicks. */
const MIN_SOUND_STEPS = 3;
/** Kept around the sound when edges are trimmed, so that soft onsets and endings survive. */
const LEAD_STEPS = 5;
const TAIL_STEPS = 8;

/** A range of samples, end not included. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Activity {
  /** Samples in one step. */
  readonly step: number;
  /** One entry a step: whether it holds sound. */
  readonly active: readonly boolean[];
  /** Level that a tenth of the steps stay below, dBFS. */
  readonly noiseFloorDb: number;
  /** Level that a twentieth of the steps exceed, dBFS. */
  readonly loudDb: number;
  /** RMS over the steps with sound, dBFS. */
  readonly soundDb: number;
}

/** Measures `samples` [n] at `sampleRate` Hz. */
export function measureActivity(samples: Float32Array, sampleRate: number): Activity {
  const step = Math.max(1, Math.round(sampleRate * STEP_SECONDS));
  const levels: number[] = [];
  for (let at = 0; at < samples.length; at += step) {
    const level = toDb(rms(samples, at, Math.min(samples.length, at + step)));
    levels.push(Math.max(FLOOR_DB, level));
  }
  const sorted = levels.toSorted((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? FLOOR_DB;
  const noiseFloorDb = quantile(0.1);
  const loudDb = quantile(0.95);
  const threshold = Math.min(Math.max(noiseFloorDb + 8, loudDb - 40), loudDb - 20);
  const active = withoutClicks(levels.map((level) => level > threshold && level > FLOOR_DB));
  const powers = levels.filter((_, i) => active[i]).map((level) => 10 ** (level / 10));
  const mean = powers.reduce((sum, power) => sum + power, 0) / Math.max(1, powers.length);
  const soundDb = Math.max(FLOOR_DB, 10 * Math.log10(mean));
  return { step, active, noiseFloorDb, loudDb, soundDb };
}

/** Clears runs of sound that are too short to be anything but a click. */
function withoutClicks(active: boolean[]): boolean[] {
  const kept = active.slice();
  for (let i = 0; i < active.length; ) {
    let end = i;
    while (active[end]) end++;
    if (end - i < MIN_SOUND_STEPS) kept.fill(false, i, end);
    i = Math.max(end, i + 1);
  }
  return kept;
}

/** The range from the first sound to the last with a little air around it; empty when there is none. */
export function soundRange({ active, step }: Activity, samples: number): Range {
  const first = active.indexOf(true);
  if (first < 0) return { start: 0, end: 0 };
  return {
    start: Math.max(0, first - LEAD_STEPS) * step,
    end: Math.min(samples, (active.lastIndexOf(true) + 1 + TAIL_STEPS) * step),
  };
}

/**
 * The stretch of `minSeconds` to `maxSeconds` inside `range` that holds the most sound and begins and ends in a pause if
 * one can be found.
 */
export function bestWindow(
  { active, step }: Activity,
  range: Range,
  sampleRate: number,
  minSeconds: number,
  maxSeconds: number,
): Range {
  const toStep = (samples: number) => Math.floor(samples / step);
  const [first, last] = [toStep(range.start), Math.ceil(range.end / step)];
  const [shortest, longest] = [toStep(minSeconds * sampleRate), toStep(maxSeconds * sampleRate)];
  if (last - first <= longest) return range;
  const soundBefore = [0];
  active.forEach((on, i) => {
    soundBefore.push((soundBefore[i] ?? 0) + (on ? 1 : 0));
  });
  let best = { start: first, end: first + longest, score: Number.NEGATIVE_INFINITY };
  for (let start = first; start + shortest <= last; start++) {
    for (let end = Math.min(last, start + longest); end >= start + shortest; end--) {
      const sound = (soundBefore[end] ?? 0) - (soundBefore[start] ?? 0);
      const cuts = (active[start] ? 1 : 0) + (active[end - 1] ? 1 : 0);
      const score = sound / longest - 0.15 * cuts;
      if (score > best.score) best = { start, end, score };
    }
  }
  return { start: best.start * step, end: Math.min(range.end, best.end * step) };
}
