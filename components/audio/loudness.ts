/**
 * How loud sound is to a listener: ITU-R BS.1770-4 with K-weighting, blocks of 400 ms and two gates. Used to compare takes
 * at equal loudness. Pure.
 */
import { peakOf, rmsOf, toDb } from "./pcm.ts";

const BLOCK_HOPS = 4;
const HOP_SECONDS = 0.1;
const ABSOLUTE_GATE = -70;
const RELATIVE_GATE = -10;
/** Loudness of a mean square of 1. */
const OFFSET = -0.691;
/** Gain never lifts a peak above this. */
const MAX_PEAK_DB = -1;

/** Coefficients of a second-order filter, a0 = 1. */
type Biquad = readonly [b0: number, b1: number, b2: number, a1: number, a2: number];

/**
 * Integrated loudness in LUFS of one or two planes at `sampleRate` Hz; of less than 400 ms the loudness of the whole,
 * ungated; -Infinity for silence.
 */
export function loudnessOf(planes: readonly Float32Array[], sampleRate: number): number {
  const weighted = planes.map((plane) => weigh(plane, sampleRate));
  const frames = planes[0]?.length ?? 0;
  const hop = Math.round(sampleRate * HOP_SECONDS);
  const hops = Math.floor(frames / hop);
  if (hops < BLOCK_HOPS) {
    return toLufs(weighted.reduce((sum, plane) => sum + rmsOf(plane) ** 2, 0));
  }
  const powers = Array.from({ length: hops }, (_, i) =>
    weighted.reduce((sum, plane) => sum + rmsOf(plane, i * hop, (i + 1) * hop) ** 2, 0),
  );
  const blocks: number[] = [];
  for (let i = 0; i + BLOCK_HOPS <= hops; i++) blocks.push(mean(powers.slice(i, i + BLOCK_HOPS)));
  const audible = blocks.filter((power) => toLufs(power) > ABSOLUTE_GATE);
  const gate = toLufs(mean(audible)) + RELATIVE_GATE;
  return toLufs(mean(audible.filter((power) => toLufs(power) > gate)));
}

/**
 * The gains in dB that bring takes to one loudness without clipping any of them: to the loudness of the target, or to
 * what the take with the least room can reach, whichever is lower. Silent takes keep their level.
 */
export function matchingGains(
  takes: readonly { readonly planes: readonly Float32Array[]; readonly sampleRate: number }[],
  targetLufs = -23,
): number[] {
  const levels = takes.map(({ planes, sampleRate }) => loudnessOf(planes, sampleRate));
  const reach = takes.map(({ planes }, i) => {
    const peakDb = toDb(Math.max(...planes.map(peakOf)));
    return (levels[i] ?? 0) + MAX_PEAK_DB - peakDb;
  });
  const common = Math.min(targetLufs, ...reach.filter(Number.isFinite));
  return levels.map((level) => (Number.isFinite(level) ? common - level : 0));
}

function weigh(plane: Float32Array, sampleRate: number): Float32Array {
  return filter(filter(plane, shelf(sampleRate)), highPass(sampleRate));
}

/** What a head does: about +4 dB above 1.7 kHz. The analogue prototype of the standard's table for 48 kHz. */
function shelf(sampleRate: number): Biquad {
  const k = Math.tan((Math.PI * 1681.974450955533) / sampleRate);
  const damping = k / 0.7071752369554196;
  const high = 10 ** (3.999843853973347 / 20);
  const band = high ** 0.4996667741545416;
  const scale = 1 + damping + k * k;
  return [
    (high + band * damping + k * k) / scale,
    (2 * (k * k - high)) / scale,
    (high - band * damping + k * k) / scale,
    (2 * (k * k - 1)) / scale,
    (1 - damping + k * k) / scale,
  ];
}

/** What an ear does to the lowest frequencies: a high-pass at 38 Hz. */
function highPass(sampleRate: number): Biquad {
  const k = Math.tan((Math.PI * 38.13547087602444) / sampleRate);
  const damping = k / 0.5003270373238773;
  const scale = 1 + damping + k * k;
  return [1, -2, 1, (2 * (k * k - 1)) / scale, (1 - damping + k * k) / scale];
}

function filter(samples: Float32Array, [b0, b1, b2, a1, a2]: Biquad): Float32Array {
  const filtered = new Float32Array(samples.length);
  // Transposed form 2, whose state stays accurate at low frequencies.
  let state1 = 0;
  let state2 = 0;
  for (let i = 0; i < samples.length; i++) {
    const x = samples[i] ?? 0;
    const y = b0 * x + state1;
    state1 = b1 * x - a1 * y + state2;
    state2 = b2 * x - a2 * y;
    filtered[i] = y;
  }
  return filtered;
}

function toLufs(power: number): number {
  return OFFSET + 10 * Math.log10(power);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
