/**
 * Sample arithmetic shared by readers and writers: 16-bit conversion, channel layout, levels. Pure; knows no file
 * format. "Interleaved" means frame after frame, each with one sample per channel.
 */

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

/**
 * Samples [n] in [-1, 1] to signed 16-bit little-endian bytes [2n]; louder samples are clipped, NaN becomes 0. The engine
 * gives the same bytes beside its samples (`native/engine/pcm16.h`), so this is for samples that were changed since.
 */
export function toPcm16(samples: Float32Array): Uint8Array {
  // In the machine's own order, which is little-endian wherever the engine runs: a third faster than through a DataView.
  const integers = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) integers[i] = toInt16(samples[i] ?? 0);
  return new Uint8Array(integers.buffer);
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

/** Joins sample arrays. */
export function concatSamples(parts: readonly Float32Array[]): Float32Array {
  const single = parts[0];
  if (parts.length === 1 && single !== undefined) return single;
  const out = new Float32Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
