/** What `npm run eval -- voice` measures on the sound of one recording, and how that adds up. Pure. */
import { type Activity, measureActivity } from "../audio/activity.ts";
import type { Recording } from "./eval-figures.ts";
import { type Lines, sumLines } from "./eval-voice-lines.ts";

/** Seconds for a character of spoken text that speech can take; above it, the model runs on after the text. */
const SENSIBLE_PACE = [0.04, 0.16] as const;
/** A longer silence inside a sentence sounds like a fault. */
export const LONG_SILENCE_SECONDS = 1;

/** What was measured on one recording, or on many of them together. */
export interface Sound {
  readonly recordings: number;
  readonly seconds: number;
  /** Recordings that are too long for their text, and too short. */
  readonly runOn: number;
  readonly cutShort: number;
  /** The longest silence between two sounds, in seconds, and the recordings in which it is over a second. */
  readonly longestSilence: number;
  readonly longSilences: number;
  /** Sum of the levels of the parts with sound in dBFS, and the least and greatest of them. */
  readonly levels: number;
  readonly levelRange: readonly [number, number];
  readonly lines: Lines;
}

/** Seconds of the longest stretch without sound between the first sound and the last. */
export function longestSilence({ active, step }: Activity, sampleRate: number): number {
  let longest = 0;
  let last = -1;
  for (const [i, isActive] of active.entries()) {
    if (!isActive) continue;
    if (last >= 0) longest = Math.max(longest, i - last - 1);
    last = i;
  }
  return (longest * step) / sampleRate;
}

/** Measures one recording; `mono` [n] is its sound in one channel, `lines` what was found in its fricatives. */
export function measureSound(
  { spoken, seconds }: Pick<Recording, "spoken" | "seconds">,
  mono: Float32Array,
  sampleRate: number,
  lines: Lines,
): Sound {
  const pace = seconds / spoken.length;
  const activity = measureActivity(mono, sampleRate);
  const silence = longestSilence(activity, sampleRate);
  const level = activity.soundDb;
  return {
    recordings: 1,
    seconds,
    runOn: pace > SENSIBLE_PACE[1] ? 1 : 0,
    cutShort: pace < SENSIBLE_PACE[0] ? 1 : 0,
    longestSilence: silence,
    longSilences: silence > LONG_SILENCE_SECONDS ? 1 : 0,
    levels: level,
    levelRange: [level, level],
    lines,
  };
}

/** Several recordings or groups together. */
export function sumSounds(all: readonly Sound[]): Sound {
  const total = (of: (sound: Sound) => number) => all.reduce((sum, sound) => sum + of(sound), 0);
  return {
    recordings: total(({ recordings }) => recordings),
    seconds: total(({ seconds }) => seconds),
    runOn: total(({ runOn }) => runOn),
    cutShort: total(({ cutShort }) => cutShort),
    longestSilence: Math.max(0, ...all.map(({ longestSilence }) => longestSilence)),
    longSilences: total(({ longSilences }) => longSilences),
    levels: total(({ levels }) => levels),
    levelRange: [
      Math.min(...all.map(({ levelRange }) => levelRange[0])),
      Math.max(...all.map(({ levelRange }) => levelRange[1])),
    ],
    lines: sumLines(all.map(({ lines }) => lines)),
  };
}
