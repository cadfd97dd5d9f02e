/** Samples as 16-bit integers and as floats, in planes and interleaved. Pure. */
import type { Samples } from "./take-audio.ts";

const FULL_SCALE = 32_768;

/** Floats from -1 to 1; n becomes exactly n / 32768. */
export function toFloat(samples: Samples): Float32Array {
  if (samples instanceof Float32Array) return samples;
  const floats = new Float32Array(samples.length);
  for (let i = 0; i < samples.length; i++) floats[i] = (samples[i] ?? 0) / FULL_SCALE;
  return floats;
}

/** 16-bit integers, rounded to the nearest and clipped, so that `toInt16(toFloat(x))` is x. */
export function toInt16(samples: Samples): Int16Array {
  if (samples instanceof Int16Array) return samples;
  const integers = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const scaled = Math.round((samples[i] ?? 0) * FULL_SCALE);
    integers[i] = Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, scaled));
  }
  return integers;
}

/** One plane of floats a channel. */
export function deinterleave(samples: Samples, channels: number): Float32Array[] {
  const frames = Math.floor(samples.length / channels);
  const scale = samples instanceof Int16Array ? 1 / FULL_SCALE : 1;
  return Array.from({ length: channels }, (_, channel) => {
    const plane = new Float32Array(frames);
    for (let i = 0; i < frames; i++) plane[i] = (samples[i * channels + channel] ?? 0) * scale;
    return plane;
  });
}

/** Planes of equal length as one stream of frames. */
export function interleave(planes: readonly Float32Array[]): Float32Array {
  const channels = planes.length;
  const frames = planes[0]?.length ?? 0;
  const samples = new Float32Array(frames * channels);
  for (const [channel, plane] of planes.entries()) {
    for (let i = 0; i < frames; i++) samples[i * channels + channel] = plane[i] ?? 0;
  }
  return samples;
}

/** Largest absolute sample. */
export function peakOf(samples: Float32Array): number {
  let peak = 0;
  for (let i = 0; i < samples.length; i++) peak = Math.max(peak, Math.abs(samples[i] ?? 0));
  return peak;
}

/** Root mean square of the samples from `start` to `end`; 0 for none. */
export function rmsOf(samples: Float32Array, start = 0, end = samples.length): number {
  let sum = 0;
  for (let i = start; i < end; i++) sum += (samples[i] ?? 0) ** 2;
  return end > start ? Math.sqrt(sum / (end - start)) : 0;
}

/** An amplitude in dB; 1 is 0 dB, and 0 is -Infinity. */
export function toDb(amplitude: number): number {
  return 20 * Math.log10(amplitude);
}

/** The amplitude of a level in dB. */
export function fromDb(db: number): number {
  return 10 ** (db / 20);
}
