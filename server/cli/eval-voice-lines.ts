/**
 * Sound that repeats where it should be noise: a decoder that makes its sound in patches of 2.5 ms and frames of 80 ms can
 * make the same noise again and again, which shows in fricatives as lines at multiples of 400 Hz, or of 50 Hz where it
 * repeats after 20 ms. Pure; works on one channel at 51.2 kHz, where a frame has 4096 samples.
 */
import { rms, toDb } from "../audio/pcm.ts";
import { fft } from "../audio/spectrum.ts";

/** The rate at which `measureLines` wants its samples, in hertz. */
export const LINES_HZ = 51_200;
/** 80 ms: bins lie 12.5 Hz apart, so that every fourth is a multiple of 50 Hz and every 32nd one of 400 Hz. */
const WINDOW = 4096;
const HOP = WINDOW / 2;
const PATCH_BINS = 32;
const TOKEN_BINS = 4;
/** 2 to 7.6 kHz: above 8 kHz most shipped voices have nothing, below 2 kHz other sounds reach in. */
const [FIRST_PATCH, PATCHES] = [5, 14];
/** Zero crossings a second that only the noise of a fricative has. */
const FRICATIVE_CROSSINGS = 5000;
/** Quieter windows are the noise of pauses, dBFS. */
const QUIETEST_DB = -50;

/**
 * What was counted over many fricatives; `sumLines` adds up. Powers are relative to the mean over all bins, so that noise
 * has 1 everywhere.
 */
export interface Lines {
  /** Fricative windows. */
  readonly windows: number;
  /** Sum over the windows of the power at multiples of 400 Hz, and of its square. */
  readonly on400: number;
  readonly on400Squares: number;
  /** Sum over the windows of the power at multiples of 50 Hz. */
  readonly on50: number;
}

const NOTHING: Lines = { windows: 0, on400: 0, on400Squares: 0, on50: 0 };

function isFricative(samples: Float32Array): boolean {
  if (toDb(rms(samples)) < QUIETEST_DB) return false;
  let crossings = 0;
  for (let i = 1; i < samples.length; i++) {
    if ((samples[i] ?? 0) >= 0 !== (samples[i - 1] ?? 0) >= 0) crossings++;
  }
  return (crossings * LINES_HZ) / samples.length > FRICATIVE_CROSSINGS;
}

/** Mean power at each distance above a multiple of 400 Hz, [32] in steps of 12.5 Hz; each 400 Hz counts the same. */
function profile(samples: Float32Array): Float64Array {
  const re = Float64Array.from(
    samples,
    (sample, i) => sample * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW)),
  );
  const im = new Float64Array(WINDOW);
  fft(re, im);
  const result = new Float64Array(PATCH_BINS);
  for (let patch = FIRST_PATCH; patch < FIRST_PATCH + PATCHES; patch++) {
    const powers = Array.from({ length: PATCH_BINS }, (_, k) => {
      const bin = patch * PATCH_BINS + k;
      return (re[bin] ?? 0) ** 2 + (im[bin] ?? 0) ** 2;
    });
    const mean = powers.reduce((a, b) => a + b, 0) / PATCH_BINS;
    if (mean === 0) continue;
    for (const [k, power] of powers.entries()) {
      result[k] = (result[k] ?? 0) + power / mean / PATCHES;
    }
  }
  return result;
}

/** Looks at the fricatives of `samples` [n]. */
export function measureLines(samples: Float32Array): Lines {
  let { windows, on400, on400Squares, on50 } = NOTHING;
  for (let start = 0; start + WINDOW <= samples.length; start += HOP) {
    const window = samples.subarray(start, start + WINDOW);
    if (!isFricative(window)) continue;
    const powers = profile(window);
    const at400 = powers[0] ?? 0;
    windows++;
    on400 += at400;
    on400Squares += at400 * at400;
    for (let k = 0; k < PATCH_BINS; k += TOKEN_BINS) {
      on50 += ((powers[k] ?? 0) * TOKEN_BINS) / PATCH_BINS;
    }
  }
  return { windows, on400, on400Squares, on50 };
}

export function sumLines(all: readonly Lines[]): Lines {
  return all.reduce(
    (a, b) => ({
      windows: a.windows + b.windows,
      on400: a.on400 + b.on400,
      on400Squares: a.on400Squares + b.on400Squares,
      on50: a.on50 + b.on50,
    }),
    NOTHING,
  );
}

/**
 * Mean powers on the lines, 1 in noise, and the standard error of the first. Undefined where no fricative was found.
 */
export function linePowers({ windows, on400, on400Squares, on50 }: Lines) {
  if (windows === 0) return undefined;
  const mean = on400 / windows;
  const variance = Math.max(0, on400Squares / windows - mean * mean);
  return { on400: mean, error: Math.sqrt(variance / windows), on50: on50 / windows };
}

/**
 * How much less `lines` stick out at 400 Hz than those of `others`, in dB of what they add to the power of noise. Where
 * they add nothing that could be told from chance, twice the standard error counts, and `isAtLeast` is true. Undefined
 * where the others add nothing.
 */
export function linesBelow(lines: Lines, others: Lines) {
  const own = linePowers(lines);
  const theirs = linePowers(others);
  if (own === undefined || theirs === undefined) return undefined;
  const reference = theirs.on400 - 1;
  if (reference <= 2 * theirs.error) return undefined;
  const added = own.on400 - 1;
  const isAtLeast = added <= 2 * own.error;
  const counted = isAtLeast ? Math.max(0, added) + 2 * own.error : added;
  return { db: 10 * Math.log10(reference / counted), isAtLeast };
}
