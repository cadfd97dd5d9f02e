/** How alike voices are: pitch, and which of several speakers a recording is nearest to. Pure; recordings are at 16 kHz. */
import { pitchOf } from "../../components/playground/pitch.ts";
import { timbre } from "./eval-voice-mel.ts";

const RATE = 16_000;

/** What of a recording tells its speaker. */
export interface Likeness {
  /** Middle pitch in hertz; undefined if nothing is voiced. */
  readonly pitchHz: number | undefined;
  /** Timbre, and the pitch in octaves as its last number. */
  readonly features: readonly number[];
}

/** Middle pitch in hertz; undefined if nothing is voiced. */
export const middlePitch = (samples: Float32Array) => pitchOf(samples, RATE).median;

export function likenessOf(samples: Float32Array): Likeness {
  const pitchHz = middlePitch(samples);
  return { pitchHz, features: [...timbre(samples), Math.log2(pitchHz ?? RATE)] };
}

/** How much higher `pitchHz` is than `thanHz`, in semitones; undefined where either is. */
export function semitones(pitchHz: number | undefined, thanHz: number | undefined) {
  if (pitchHz === undefined || thanHz === undefined) return undefined;
  return interval(pitchHz, thanHz);
}

/** In semitones. */
const interval = (hertz: number, thanHertz: number) => 12 * Math.log2(hertz / thanHertz);

/** How a copy keeps the voice of its original, counted in windows of 20 ms; sums over recordings are sums of these. */
export interface PitchKept {
  /** Windows with a pitch in the original, and those of them that have one in the copy. */
  readonly voiced: number;
  readonly kept: number;
  /** Windows with a pitch in both, a semitone or more apart. */
  readonly wrong: number;
}

/** Both recordings at 16 kHz and in step. */
export function pitchKept(copy: Float32Array, original: Float32Array): PitchKept {
  const other = pitchOf(copy, RATE).trace;
  const pairs = pitchOf(original, RATE)
    .trace.map((hertz, i) => ({ hertz, copied: other[i] ?? 0 }))
    .filter(({ hertz }) => hertz > 0);
  const both = pairs.filter(({ copied }) => copied > 0);
  const apart = both.filter(({ hertz, copied }) => Math.abs(interval(copied, hertz)) >= 1);
  return { voiced: pairs.length, kept: both.length, wrong: apart.length };
}

export function sumPitchKept(all: readonly PitchKept[]): PitchKept {
  const total = (of: (one: PitchKept) => number) => all.reduce((n, one) => n + of(one), 0);
  return {
    voiced: total(({ voiced }) => voiced),
    kept: total(({ kept }) => kept),
    wrong: total(({ wrong }) => wrong),
  };
}

/**
 * Place of speaker `own` among all `speakers`, by how near each is to `heard`: 1 is the nearest. A feature weighs the less
 * the more it differs among the speakers anyway.
 */
export function placeOf(own: number, heard: Likeness, speakers: readonly Likeness[]): number {
  const spreads = heard.features.map((_, k) => {
    const values = speakers.map(({ features }) => features[k] ?? 0);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    return Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
  });
  const distances = speakers.map(({ features }) =>
    heard.features.reduce((sum, value, k) => {
      const spread = spreads[k] ?? 0;
      return spread > 0 ? sum + ((value - (features[k] ?? 0)) / spread) ** 2 : sum;
    }, 0),
  );
  const mine = distances[own] ?? Number.POSITIVE_INFINITY;
  return 1 + distances.filter((distance) => distance < mine).length;
}
