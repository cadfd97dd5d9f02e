/** How far up a recording has sound, which tells a telephone from a studio. Pure; works on one channel. */

const SIZE = 2048;
/** Frames averaged at most, spread over the recording. */
const MAX_FRAMES = 120;
/** A band this far below the strongest one is empty. */
const EMPTY_DB = 65;
const BAND_HZ = 250;

/** The highest frequency in Hz that carries sound, to 250 Hz; 0 for less than 43 ms at 48 kHz and for silence. */
export function bandwidthOf(samples: Float32Array, sampleRate: number): number {
  const power = meanPower(samples);
  const bands = new Float64Array(Math.ceil(sampleRate / 2 / BAND_HZ));
  for (const [bin, value] of power.entries()) {
    const hertz = (bin * sampleRate) / SIZE;
    const band = Math.min(bands.length - 1, Math.floor(hertz / BAND_HZ));
    bands[band] = Math.max(bands[band] ?? 0, value);
  }
  const strongest = bands.reduce((most, value) => Math.max(most, value), 0);
  const last = bands.findLastIndex((value) => value > strongest / 10 ** (EMPTY_DB / 10));
  return Math.min((last + 1) * BAND_HZ, sampleRate / 2);
}

/** Mean power of each frequency bin under a Hann window. */
function meanPower(samples: Float32Array): Float64Array {
  const power = new Float64Array(SIZE / 2 + 1);
  const frames = Math.min(MAX_FRAMES, Math.floor(samples.length / SIZE));
  const hop = frames > 1 ? Math.floor((samples.length - SIZE) / (frames - 1)) : 0;
  for (let frame = 0; frame < frames; frame++) {
    const real = Float64Array.from({ length: SIZE }, (_, i) => {
      const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SIZE);
      return hann * (samples[frame * hop + i] ?? 0);
    });
    const imaginary = new Float64Array(SIZE);
    transform(real, imaginary);
    for (let bin = 0; bin < power.length; bin++) {
      const square = (real[bin] ?? 0) ** 2 + (imaginary[bin] ?? 0) ** 2;
      power[bin] = (power[bin] ?? 0) + square / frames;
    }
  }
  return power;
}

/** Fourier transform in place; the length is a power of two. */
function transform(real: Float64Array, imaginary: Float64Array): void {
  const length = real.length;
  reorder(real);
  reorder(imaginary);
  for (let size = 2; size <= length; size *= 2) {
    const half = size / 2;
    for (let k = 0; k < half; k++) {
      const cos = Math.cos((2 * Math.PI * k) / size);
      const sin = -Math.sin((2 * Math.PI * k) / size);
      for (let even = k; even < length; even += size) {
        const odd = even + half;
        const [re, im] = [real[odd] ?? 0, imaginary[odd] ?? 0];
        const turnedRe = re * cos - im * sin;
        const turnedIm = re * sin + im * cos;
        real[odd] = (real[even] ?? 0) - turnedRe;
        imaginary[odd] = (imaginary[even] ?? 0) - turnedIm;
        real[even] = (real[even] ?? 0) + turnedRe;
        imaginary[even] = (imaginary[even] ?? 0) + turnedIm;
      }
    }
  }
}

/** Puts values in the order of their bit-reversed indexes. */
function reorder(values: Float64Array): void {
  for (let i = 1, j = 0; i < values.length; i++) {
    let bit = values.length >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    const kept = values[i] ?? 0;
    values[i] = values[j] ?? 0;
    values[j] = kept;
  }
}
