/** Sounds for tests, made from a seed: speech-like bursts, noise, rooms. Planes of floats. */

/** Numbers from 0 to 1, the same ones for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** White noise with an RMS of `rms`. */
export function noise(seconds: number, rate: number, rms: number, seed = 1): Float32Array {
  const random = randomNumbers(seed);
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

/** The sound in a room in which it takes `decaySeconds` to fall by 60 dB. */
export function inRoom(dry: Float32Array, rate: number, decaySeconds: number): Float32Array {
  const random = randomNumbers(9);
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
