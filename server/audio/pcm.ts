/**
 * Sample arithmetic shared by readers and writers: 16-bit conversion, channel layout, levels. Pure; knows no file
 * format. "Interleaved" means frame after frame, each with one sample per channel.
 */

/** Samples as floats in [-1, 1], or as the 16-bit integers that `toInt16` makes of them. */
export type Samples = Float32Array | Int16Array;

/** Converts one sample in [-1, 1] to a signed 16-bit integer, rounding down and clipping as libsndfile does; NaN to 0. */
export function toInt16(sample: number): number {
  if (sample >= 1) return 32767;
  if (sample <= -1) return -32768;
  return Math.floor(sample * 0x7fffffff + 0.5) >> 16;
}

/** The sample, limited to [-1, 1]; NaN becomes 0. */
export function clamp(sample: number): number {
  if (sample >= -1 && sample <= 1) return sample;
  return sample > 1 ? 1 : sample < -1 ? -1 : 0;
}

/** Samples [n] as integers [n]; louder ones are clipped, NaN becomes 0. Those that are integers are given on. */
export function toIntegers(samples: Samples): Int16Array {
  if (samples instanceof Int16Array) return samples;
  const integers = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) integers[i] = toInt16(samples[i] ?? 0);
  return integers;
}

/** Samples [n] as floats [n]. Those that are floats are given on. */
export function toFloats(samples: Samples): Float32Array {
  if (samples instanceof Float32Array) return samples;
  return Float32Array.from(samples, (integer) => integer / 0x8000);
}

/** Samples [n] to signed 16-bit little-endian bytes [2n]; those of integers share their memory. */
export function toPcm16(samples: Samples): Uint8Array {
  // In the machine's own order, which is little-endian wherever the engine runs: a third faster than through a DataView.
  const { buffer, byteOffset, byteLength } = toIntegers(samples);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Samples [n] to 32-bit float little-endian bytes [4n], unclipped. */
export function toFloat32Bytes(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * 4);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < samples.length; i++) view.setFloat32(i * 4, samples[i] ?? 0, true);
  return bytes;
}

/** Planes (one array [frames] a channel) to one interleaved array [frames * channels]. */
export function interleave(planes: readonly Float32Array[]): Float32Array {
  const channels = planes.length;
  const first = planes[0];
  if (first === undefined) return new Float32Array(0);
  if (channels === 1) return first.slice();
  const out = new Float32Array(first.length * channels);
  planes.forEach((plane, channel) => {
    for (let i = 0; i < first.length; i++) out[i * channels + channel] = plane[i] ?? 0;
  });
  return out;
}

/** Interleaved samples [frames * channels] to planes, one array [frames] a channel; a partial last frame is dropped. */
export function deinterleave(pcm: Float32Array, channels: number): Float32Array[] {
  const frames = Math.floor(pcm.length / channels);
  return Array.from({ length: channels }, (_, channel) => {
    const plane = new Float32Array(frames);
    for (let i = 0; i < frames; i++) plane[i] = pcm[i * channels + channel] ?? 0;
    return plane;
  });
}

/** Linear amplitude to decibels below full scale; silence gives -Infinity. */
export function toDb(amplitude: number): number {
  return 20 * Math.log10(amplitude);
}

/** Decibels to linear amplitude. */
export function fromDb(db: number): number {
  return 10 ** (db / 20);
}

/** Root mean square of samples [start, end); 0 for an empty range. */
export function rms(samples: Float32Array, start = 0, end = samples.length): number {
  let sum = 0;
  for (let i = start; i < end; i++) sum += (samples[i] ?? 0) ** 2;
  return end > start ? Math.sqrt(sum / (end - start)) : 0;
}

/** Joins byte arrays. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const single = parts[0];
  if (parts.length === 1 && single !== undefined) return single;
  const out = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Joins samples, which are all floats or all integers; a single part is given on. */
export function concatSamples(parts: readonly Float32Array[]): Float32Array;
export function concatSamples(parts: readonly Samples[]): Samples;
export function concatSamples(parts: readonly Samples[]): Samples {
  const single = parts[0];
  if (parts.length === 1 && single !== undefined) return single;
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  const out = single instanceof Int16Array ? new Int16Array(total) : new Float32Array(total);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
