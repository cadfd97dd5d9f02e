/** Power spectrum of a recording, to tell telephone audio from full-band audio. Pure; works on one channel. */

const SIZE = 1024;
/** Frames averaged at most, spread over the recording: more would cost time and tell nothing new. */
const MAX_FRAMES = 100;
/** Bands this far below the strongest one count as empty. */
const EMPTY_DB = 65;
const BAND_HZ = 250;

/**
 * In-place complex FFT of power-of-two length.
 * @param re real parts [n]
 * @param im imaginary parts [n]
 */
export function fft(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      swap(re, i, j);
      swap(im, i, j);
    }
  }
  for (let length = 2; length <= n; length *= 2) {
    const half = length / 2;
    for (let k = 0; k < half; k++) {
      const angle = (-2 * Math.PI * k) / length;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let a = k; a < n; a += length) {
        const b = a + half;
        const [br, bi] = [re[b] ?? 0, im[b] ?? 0];
        const [xr, xi] = [br * cos - bi * sin, br * sin + bi * cos];
        re[b] = (re[a] ?? 0) - xr;
        im[b] = (im[a] ?? 0) - xi;
        re[a] = (re[a] ?? 0) + xr;
        im[a] = (im[a] ?? 0) + xi;
      }
    }
  }
}

/** Mean power in each bin [513] of Hann-windowed frames spread over `samples` [n]; all zero when n is too small. */
function meanSpectrum(samples: Float32Array): Float64Array {
  const power = new Float64Array(SIZE / 2 + 1);
  const frames = Math.min(MAX_FRAMES, Math.floor(samples.length / SIZE));
  const step = frames > 1 ? Math.floor((samples.length - SIZE) / (frames - 1)) : 0;
  for (let frame = 0; frame < frames; frame++) {
    const re = new Float64Array(SIZE);
    const im = new Float64Array(SIZE);
    for (let i = 0; i < SIZE; i++) {
      const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SIZE);
      re[i] = (samples[frame * step + i] ?? 0) * hann;
    }
    fft(re, im);
    for (let bin = 0; bin < power.length; bin++) {
      power[bin] = (power[bin] ?? 0) + ((re[bin] ?? 0) ** 2 + (im[bin] ?? 0) ** 2) / frames;
    }
  }
  return power;
}

/** The highest frequency in Hz that carries sound: the upper edge of the last band above the empty level. */
export function bandwidthHz(samples: Float32Array, sampleRate: number): number {
  const power = meanSpectrum(samples);
  const binHz = sampleRate / SIZE;
  const bands = new Float64Array(Math.ceil(sampleRate / 2 / BAND_HZ));
  power.forEach((value, bin) => {
    const band = Math.min(bands.length - 1, Math.floor((bin * binHz) / BAND_HZ));
    bands[band] = Math.max(bands[band] ?? 0, value);
  });
  const floor = Math.max(...bands) / 10 ** (EMPTY_DB / 10);
  const last = bands.findLastIndex((value) => value > floor);
  return Math.min((last + 1) * BAND_HZ, sampleRate / 2);
}

function swap(values: Float64Array, i: number, j: number): void {
  const kept = values[i] ?? 0;
  values[i] = values[j] ?? 0;
  values[j] = kept;
}
