/**
 * Integrated loudness as EBU R 128 defines it (ITU-R BS.1770-4): K-weighting, blocks of 400 ms, two gates. Pure; used for
 * the metadata of voices.
 */
import { deinterleave } from "./pcm.ts";

const BLOCK_SECONDS = 0.4;
const HOP_SECONDS = 0.1;
const ABSOLUTE_GATE = -70;
const RELATIVE_GATE = -10;
/** Loudness of a mean square of 1. */
const OFFSET = -0.691;

interface Biquad {
  readonly b: readonly [number, number, number];
  readonly a: readonly [number, number];
}

/**
 * Integrated loudness in LUFS of interleaved samples [frames * channels], mono or stereo; -Infinity for silence and for
 * less than 400 ms.
 */
export function integratedLoudness(
  pcm: Float32Array,
  channels: number,
  sampleRate: number,
): number {
  const hop = Math.round(sampleRate * HOP_SECONDS);
  const blockHops = Math.round(BLOCK_SECONDS / HOP_SECONDS);
  const hopPowers = channelHopPowers(pcm, channels, sampleRate, hop);
  const blocks: number[] = [];
  for (let i = 0; i + blockHops <= hopPowers.length; i++) {
    blocks.push(mean(hopPowers.slice(i, i + blockHops)));
  }
  const audible = blocks.filter((power) => toLufs(power) > ABSOLUTE_GATE);
  const gate = toLufs(mean(audible)) + RELATIVE_GATE;
  return toLufs(mean(audible.filter((power) => toLufs(power) > gate)));
}

/** Mean square of the weighted signal in each whole hop, summed over channels. */
function channelHopPowers(
  pcm: Float32Array,
  channels: number,
  sampleRate: number,
  hop: number,
): number[] {
  const powers = new Array<number>(Math.floor(pcm.length / channels / hop)).fill(0);
  for (const plane of deinterleave(pcm, channels)) {
    const weighted = filter(
      filter(Float64Array.from(plane), shelf(sampleRate)),
      highPass(sampleRate),
    );
    powers.forEach((power, i) => {
      let sum = 0;
      for (let at = i * hop; at < (i + 1) * hop; at++) sum += (weighted[at] ?? 0) ** 2;
      powers[i] = power + sum / hop;
    });
  }
  return powers;
}

/** The head's effect: +4 dB above about 1.7 kHz; the analogue prototype of the standard's 48 kHz coefficients. */
function shelf(sampleRate: number): Biquad {
  const k = Math.tan((Math.PI * 1681.974450955533) / sampleRate);
  const q = 0.7071752369554196;
  const high = 10 ** (3.999843853973347 / 20);
  const band = high ** 0.4996667741545416;
  const scale = 1 + k / q + k * k;
  return {
    b: [
      (high + (band * k) / q + k * k) / scale,
      (2 * (k * k - high)) / scale,
      (high - (band * k) / q + k * k) / scale,
    ],
    a: [(2 * (k * k - 1)) / scale, (1 - k / q + k * k) / scale],
  };
}

/** The ear's deafness to low frequencies: a high-pass at 38 Hz. */
function highPass(sampleRate: number): Biquad {
  const k = Math.tan((Math.PI * 38.13547087602444) / sampleRate);
  const q = 0.5003270373238773;
  const scale = 1 + k / q + k * k;
  return { b: [1, -2, 1], a: [(2 * (k * k - 1)) / scale, (1 - k / q + k * k) / scale] };
}

/** Runs a filter over samples [n] in place. */
function filter(samples: Float64Array, { b, a }: Biquad): Float64Array {
  const [b0, b1, b2] = b;
  const [a1, a2] = a;
  let x1 = 0;
  let x2 = 0;
  let y1 = 0;
  let y2 = 0;
  for (let i = 0; i < samples.length; i++) {
    const x = samples[i] ?? 0;
    const y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
    x2 = x1;
    x1 = x;
    y2 = y1;
    y1 = y;
    samples[i] = y;
  }
  return samples;
}

function toLufs(power: number): number {
  return OFFSET + 10 * Math.log10(power);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
