/** Signals and measurements that the tests of this folder share. Deterministic. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { concatBytes, concatSamples } from "./pcm.ts";

const SHARED = fileURLToPath(new URL("../../shared", import.meta.url));
const SHARED_BESIDE = fileURLToPath(new URL("../../../shared", import.meta.url));

/** Real recordings that may lie beside the checkout; undefined where they do not. */
export const RECORDINGS = [SHARED_BESIDE, SHARED]
  .map((folder) => join(folder, "data/reference-audio"))
  .find(existsSync);

/** A sine, interleaved, the same in every channel. */
export function sine(
  hertz: number,
  seconds: number,
  { rate = 48_000, channels = 1, amplitude = 0.3 } = {},
): Float32Array {
  const frames = Math.round(seconds * rate);
  return Float32Array.from(
    { length: frames * channels },
    (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * Math.floor(i / channels)) / rate),
  );
}

/** Repeatable noise in [-1, 1). */
export function noise(length: number, seed = 1): Float32Array {
  const random = randomNumbers(seed);
  return Float32Array.from({ length }, () => random() * 2 - 1);
}

/** Repeatable numbers in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A stand-in for speech: a buzz of harmonics whose pitch and level move, in syllables of 160 ms with pauses of 80 ms.
 */
export function babble(seconds: number, rate = 48_000): Float32Array {
  let phase = 0;
  return Float32Array.from({ length: Math.round(seconds * rate) }, (_, i) => {
    const t = i / rate;
    phase += (2 * Math.PI * (130 + 30 * Math.sin(2 * Math.PI * 0.7 * t))) / rate;
    const place = (t % 0.24) / 0.16;
    const envelope = place < 1 ? Math.sin(Math.PI * place) : 0;
    let sample = 0;
    for (let harmonic = 1; harmonic <= 12; harmonic++)
      sample += Math.sin(phase * harmonic) / harmonic;
    return 0.2 * envelope * sample;
  });
}

/** Cuts samples into chunks of changing size, whole frames each. */
export function chunked(pcm: Float32Array, channels: number, seed = 7): Float32Array[] {
  const random = randomNumbers(seed);
  const chunks: Float32Array[] = [];
  for (let at = 0; at < pcm.length; ) {
    const size = channels * Math.floor(random() * 5000);
    chunks.push(pcm.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

/** Runs chunks through a stage or an encoder and joins what comes out. */
export function runSamples(
  stage: { push(pcm: Float32Array): Float32Array; end(): Float32Array },
  chunks: readonly Float32Array[],
): Float32Array {
  return concatSamples([...chunks.map((chunk) => stage.push(chunk)), stage.end()]);
}

/** Runs chunks through an encoder and joins the bytes. */
export function runBytes(
  encoder: { push(pcm: Float32Array): Uint8Array; end(): Uint8Array },
  chunks: readonly Float32Array[],
): Uint8Array {
  return concatBytes([...chunks.map((chunk) => encoder.push(chunk)), encoder.end()]);
}

/** Whether two arrays hold the same bits. */
export function same(a: Float32Array | Uint8Array, b: Float32Array | Uint8Array): boolean {
  const bytes = (array: typeof a) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  return bytes(a).equals(bytes(b));
}

/** Mean frequency of a mono tone in Hz, from interpolated upward zero crossings. */
export function frequency(samples: Float32Array, rate: number): number {
  const crossings: number[] = [];
  for (let i = 1; i < samples.length; i++) {
    const [before, after] = [samples[i - 1] ?? 0, samples[i] ?? 0];
    if (before < 0 && after >= 0) crossings.push(i - after / (after - before));
  }
  const [first, last] = [crossings[0] ?? 0, crossings.at(-1) ?? 0];
  return ((crossings.length - 1) * rate) / (last - first);
}

/** Largest step between neighbouring samples of one channel. */
export function largestStep(samples: Float32Array): number {
  let largest = 0;
  for (let i = 1; i < samples.length; i++) {
    largest = Math.max(largest, Math.abs((samples[i] ?? 0) - (samples[i - 1] ?? 0)));
  }
  return largest;
}

/** Whether sox is installed. */
export const HAS_SOX = spawnSync("sox", ["--version"]).status === 0;

/** Runs sox from a file with these bytes to a file in the format of its name, and returns that. */
export function sox(input: Uint8Array, from: string, to: string, ...effects: string[]): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "sonant-audio-"));
  try {
    const [source, target] = [join(folder, `in.${from}`), join(folder, `out.${to}`)];
    writeFileSync(source, input);
    const options = effects[0]?.startsWith("-") ? effects : [];
    const result = spawnSync("sox", [source, ...options, target, ...effects.slice(options.length)]);
    if (result.status !== 0) throw new Error(result.stderr.toString());
    return new Uint8Array(readFileSync(target));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
