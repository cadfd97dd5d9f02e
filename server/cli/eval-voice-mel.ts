/**
 * Spectra on the mel scale: how far two recordings of the same sound are from each other, and what of a recording tells
 * its speaker. Pure; works on one channel.
 */
import { measureActivity } from "../audio/activity.ts";
import { fft } from "../audio/spectrum.ts";

/** Triangular filters [filters][bins] from `low` to `high` Hz; each reaches to the middles of its neighbours. */
function melFilters(size: number, rate: number, count: number, low: number, high: number) {
  const mel = (hertz: number) => 2595 * Math.log10(1 + hertz / 700);
  const edges = Array.from({ length: count + 2 }, (_, i) => {
    const place = mel(low) + ((mel(high) - mel(low)) * i) / (count + 1);
    return 700 * (10 ** (place / 2595) - 1);
  });
  return Array.from({ length: count }, (_, i) => {
    const [from = 0, middle = 0, to = 0] = edges.slice(i, i + 3);
    return Float64Array.from({ length: size / 2 + 1 }, (_, bin) => {
      const hertz = (bin * rate) / size;
      return Math.max(0, Math.min((hertz - from) / (middle - from), (to - hertz) / (to - middle)));
    });
  });
}

/** Magnitudes through the filters, [frames][filters], of Hann windows of `size` samples a quarter apart. */
function melFrames(samples: Float32Array, size: number, filters: readonly Float64Array[]) {
  const frames: Float64Array[] = [];
  const spans = filters.map((filter) => {
    const first = filter.findIndex((weight) => weight > 0);
    return { filter, first, last: filter.findLastIndex((weight) => weight > 0) };
  });
  const magnitudes = new Float64Array(size / 2 + 1);
  for (let start = 0; start + size <= samples.length; start += size / 4) {
    const re = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size);
      re[i] = (samples[start + i] ?? 0) * hann;
    }
    const im = new Float64Array(size);
    fft(re, im);
    for (let bin = 0; bin < magnitudes.length; bin++) {
      magnitudes[bin] = Math.hypot(re[bin] ?? 0, im[bin] ?? 0);
    }
    const frame = spans.map(({ filter, first, last }) => {
      let sum = 0;
      for (let bin = Math.max(0, first); bin <= last; bin++) {
        sum += (filter[bin] ?? 0) * (magnitudes[bin] ?? 0);
      }
      return sum;
    });
    frames.push(Float64Array.from(frame));
  }
  return frames;
}

/** Window sizes and numbers of filters of the codec's training loss (native/training/sonant_training/losses.py). */
const RESOLUTIONS = [
  [128, 10],
  [256, 20],
  [512, 40],
  [1024, 80],
  [2048, 160],
] as const;
const MEL_RATE = 48_000;
const SMALLEST = 1e-4;
const LINEAR_WEIGHT = 0.3;

/**
 * Mean distance of the mel spectra of `samples` from those of `wanted`, both at 48 kHz and in step: the difference of
 * natural logarithms plus 0.3 of the relative linear one, over five resolutions. 0: the same.
 * @throws Error for less than 43 ms, the longest window
 */
export function melDistance(samples: Float32Array, wanted: Float32Array): number {
  const length = Math.min(samples.length, wanted.length);
  if (length < 2048) throw new Error("A mel distance needs recordings of at least 2048 samples.");
  let total = 0;
  for (const [size, count] of RESOLUTIONS) {
    const filters = melFilters(size, MEL_RATE, count, 0, MEL_RATE / 2);
    const got = melFrames(samples.subarray(0, length), size, filters);
    const aim = melFrames(wanted.subarray(0, length), size, filters);
    let logs = 0;
    let linear = 0;
    let loudness = 0;
    for (const [t, frame] of aim.entries()) {
      for (const [k, value] of frame.entries()) {
        const other = got[t]?.[k] ?? 0;
        logs += Math.abs(Math.log(Math.max(SMALLEST, other) / Math.max(SMALLEST, value)));
        linear += Math.abs(other - value);
        loudness += value;
      }
    }
    const cells = aim.length * count;
    total += logs / cells + (LINEAR_WEIGHT * linear) / cells / Math.max(SMALLEST, loudness / cells);
  }
  return total / RESOLUTIONS.length;
}

const CEPSTRA = 19;
const SPEAKER_RATE = 16_000;
const SPEAKER_WINDOW = 512;
const SPEAKER_FILTERS = melFilters(SPEAKER_WINDOW, SPEAKER_RATE, 40, 60, 7600);

/** Bands this far below the loudest count as empty: what lies there tells the microphone, not the speaker. */
const EMPTY_SHARE = 1e-3;

/**
 * What of a recording at 16 kHz tells its speaker: the mean of 19 mel cepstra over the parts with sound, [19]. Neither
 * loudness nor pitch is in it. How much the cepstra vary finds no more of a speaker's own recordings, so it is left out.
 */
export function timbre(samples: Float32Array): Float64Array {
  const { active, step } = measureActivity(samples, SPEAKER_RATE);
  const frames = melFrames(samples, SPEAKER_WINDOW, SPEAKER_FILTERS).filter(
    (_, t) => active[Math.floor((SPEAKER_WINDOW * (t / 4 + 0.5)) / step)],
  );
  const loudness = frames.reduce((sum, frame) => sum + Math.max(...frame), 0) / frames.length;
  const result = new Float64Array(CEPSTRA);
  for (const frame of frames) {
    const logs = frame.map((value) => Math.log(Math.max(EMPTY_SHARE * loudness, value)));
    for (const [k, value] of cosines(logs).entries()) {
      result[k] = (result[k] ?? 0) + value / frames.length;
    }
  }
  return result;
}

/** Cosine transform without its first number, which is loudness. */
function cosines(values: Float64Array): Float64Array {
  return Float64Array.from({ length: CEPSTRA }, (_, k) =>
    values.reduce(
      (sum, value, i) =>
        sum + (value * Math.cos((Math.PI * (k + 1) * (i + 0.5)) / values.length)) / values.length,
      0,
    ),
  );
}
