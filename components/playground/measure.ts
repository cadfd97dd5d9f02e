/** Small facts about a take's sound: its receipt, the silence at its head, where two differ. */
import type { TakeAudio } from "../audio/take-audio.ts";

/** SHA-256 of the interleaved 16-bit PCM in hexadecimal; undefined where the page may not compute it (no https). */
export async function hashOf(sound: TakeAudio): Promise<string | undefined> {
  if (globalThis.crypto?.subtle === undefined) return undefined;
  const samples = sound.read(0, sound.frames);
  const digest = await crypto.subtle.digest("SHA-256", samples.buffer as ArrayBuffer);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Samples below this, about -44 dB, count as silence at the head of a take. */
const AUDIBLE = 200;

/** Milliseconds before the first audible sample; undefined if there is none. */
export function headSilenceMs(sound: TakeAudio): number | undefined {
  const samples = sound.read(0, Math.min(sound.frames, 5 * sound.sampleRate));
  const first = samples.findIndex((sample) => Math.abs(sample) > AUDIBLE);
  if (first < 0) return undefined;
  return (1000 * Math.floor(first / sound.channels)) / sound.sampleRate;
}

/** How two takes compare, sample by sample. */
export type Difference =
  | { readonly kind: "identical" }
  | { readonly kind: "length" }
  | { readonly kind: "sample"; readonly frame: number };

export function compareSounds(a: TakeAudio, b: TakeAudio): Difference {
  const first = a.read(0, a.frames);
  const second = b.read(0, b.frames);
  const shared = Math.min(first.length, second.length);
  for (let i = 0; i < shared; i++) {
    if (first[i] !== second[i]) return { kind: "sample", frame: Math.floor(i / a.channels) };
  }
  return { kind: first.length === second.length ? "identical" : "length" };
}

/** An id that no other take has; works without https, where `crypto.randomUUID` does not. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
