/** Samples between -1 and 1 as signed 16-bit integers, rounded down and clipped, little-endian on the wire. */

const SCALE = 32768;
const HIGHEST = 32767;

/** One sample; what is not a number is silence. */
export function toPcm16(sample: number): number {
  const scaled = Math.floor(sample * SCALE);
  return Number.isNaN(scaled) ? 0 : Math.min(HIGHEST, Math.max(-SCALE, scaled));
}

/** Samples as bytes of interleaved 16-bit PCM. */
export function pcm16Bytes(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  for (const [index, sample] of samples.entries()) view.setInt16(index * 2, toPcm16(sample), true);
  return bytes;
}

/** Seconds of sound in a number of bytes of 16-bit PCM. */
export function pcmSeconds(bytes: number, sampleRate: number, channels: number): number {
  return bytes / (2 * channels * sampleRate);
}
