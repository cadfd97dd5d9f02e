/** Sounds for tests, made from a seed: speech-like sound, noise, hum, rooms. Planes of floats. */

import { randomly } from "../../server/stress/random.ts";

/** White noise with an RMS of `rms`. */
export function noise(seconds: number, rate: number, rms: number, seed = 1): Float32Array {
  const random = randomly(seed);
  const scale = rms * Math.sqrt(3);
  return Float32Array.from(
    { length: Math.round(seconds * rate) },
    () => scale * (2 * random() - 1),
  );
}

export function sine(seconds: number, rate: number, hertz: number, amplitude = 0.5): Float32Array {
  const length = Math.round(seconds * rate);
  return Float32Array.from(
    { length },
    (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / rate),
  );
}

/** Bursts of 0.3 s at about -21 dBFS with pauses of 0.1 s, wide in band, over a floor of noise. */
export function babble(seconds: number, rate: number, noiseRms = 1e-4): Float32Array {
  const bursts = noise(seconds, rate, 0.09, 7);
  const floor = noise(seconds, rate, noiseRms, 8);
  return bursts.map((x, i) => {
    const place = (i / rate) % 0.4;
    const edge = Math.min(1, place / 0.02, Math.max(0, (0.3 - place) / 0.03));
    return x * edge + (floor[i] ?? 0);
  });
}

/** Noise whose power falls by 3 dB an octave, with an RMS of `rms`. */
export function pinkNoise(seconds: number, rate: number, rms: number, seed = 1): Float32Array {
  const random = randomly(seed);
  const corners = [0.004, 0.016, 0.06, 0.22, 0.7];
  const states = corners.map(() => 0);
  const samples = Float32Array.from({ length: Math.round(seconds * rate) }, () => {
    const white = 2 * random() - 1;
    let sum = 0;
    for (const [i, corner] of corners.entries()) {
      const state = (states[i] ?? 0) + corner * (white - (states[i] ?? 0));
      states[i] = state;
      // Each low-pass has the power of its band, a quarter of the next one's width.
      sum += state * 2 ** (corners.length - 1 - i);
    }
    return sum;
  });
  return atRms(samples, rms);
}

/** What a mains supply leaves in a recording: `hertz` and its overtones, with an RMS of `rms`. */
export function hum(seconds: number, rate: number, hertz: number, rms: number): Float32Array {
  const overtones = [2, 3].map((n) => sine(seconds, rate, n * hertz, 0.5 ** n));
  return atRms(mixed(sine(seconds, rate, hertz), ...overtones), rms);
}

/**
 * Syllables that swell and fade at about -21 dBFS, each with a weak consonant before it, no two alike; after every fourth
 * comes a silent pause of 0.3 s. As in real voices, the wave is not symmetric: its mean is not 0 while it sounds.
 * @param pauses whether there are any
 */
export function speech(seconds: number, rate: number, pauses = true): Float32Array {
  const random = randomly(11);
  const samples = new Float32Array(Math.round(seconds * rate));
  for (let at = 0, count = 1; at < samples.length; count++) {
    const [length, loudness, hertz] = [0.13 + 0.14 * random(), 0.08 + 0.1 * random(), random()];
    const consonant = 0.001 * 10 ** random();
    const frames = Math.round(length * rate);
    for (let i = 0; i < frames && at + i < samples.length; i++) {
      const place = i / frames;
      const phase = (2 * Math.PI * (100 + 50 * hertz) * i) / rate;
      const wave = Math.sin(phase) + 0.5 * Math.sin(2 * phase) + 0.25 * Math.sin(9 * phase) + 0.06;
      const hiss = consonant * (1 - place) ** 2 * (2 * random() - 1);
      samples[at + i] = loudness * Math.sin(Math.PI * place) ** 2 * wave + hiss;
    }
    at += frames + (pauses && count % 4 === 0 ? Math.round(0.3 * rate) : 0);
  }
  return samples;
}

/** All at once, as long as the first. */
export function mixed(first: Float32Array, ...others: readonly Float32Array[]): Float32Array {
  return first.map((x, i) => others.reduce((sum, other) => sum + (other[i] ?? 0), x));
}

function atRms(samples: Float32Array, rms: number): Float32Array {
  const gain = rms / Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length);
  return samples.map((x) => x * gain);
}

/** The sound in a room in which it takes `decaySeconds` to fall by 60 dB. */
export function inRoom(dry: Float32Array, rate: number, decaySeconds: number): Float32Array {
  const random = randomly(9);
  const wet = dry.slice();
  // Echoes at random times, each a random sign, dense enough for the steps that are measured.
  for (let echo = 0; echo < 200; echo++) {
    const delay = Math.round(random() * decaySeconds * rate);
    const gain = 0.25 * 10 ** ((-3 * delay) / rate / decaySeconds) * (random() < 0.5 ? -1 : 1);
    for (let i = delay; i < wet.length; i++) wet[i] = (wet[i] ?? 0) + gain * (dry[i - delay] ?? 0);
  }
  return wet;
}

/** One after the other. */
export function joined(...parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
