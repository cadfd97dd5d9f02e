/** Loudness of speech where there is speech: pauses would make a slow speaker seem quiet. Pure. */

/** Level that every sample is brought to, in dB below full scale. */
const TARGET_DB = -17;
/** Largest change in either direction; more would lift noise, or hide a broken recording. */
const MOST_DB = 12;
const WINDOW_SECONDS = 0.03;
/** Windows this far below the loudest count as pauses. */
const PAUSE_DB = 25;

/** Mean level of the windows that hold speech, in dB below full scale; undefined for silence. */
export function voicedLevel(mono: Float32Array, sampleRate: number): number | undefined {
  const size = Math.round(WINDOW_SECONDS * sampleRate);
  const powers: number[] = [];
  for (let start = 0; start + size <= mono.length; start += size) {
    let sum = 0;
    for (let i = start; i < start + size; i++) sum += (mono[i] ?? 0) ** 2;
    powers.push(sum / size);
  }
  const loudest = Math.max(0, ...powers);
  if (loudest < 1e-8) return undefined;
  const spoken = powers.filter((power) => power > loudest * 10 ** (-PAUSE_DB / 10));
  return 10 * Math.log10(spoken.reduce((sum, power) => sum + power, 0) / spoken.length);
}

/** Change in dB that brings speech to the common level without a sample over full scale. */
export function gainToMatch(mono: Float32Array, sampleRate: number): number {
  const level = voicedLevel(mono, sampleRate);
  if (level === undefined) return 0;
  const peak = mono.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1e-6);
  const room = -20 * Math.log10(peak);
  return Math.min(room, Math.max(-MOST_DB, Math.min(MOST_DB, TARGET_DB - level)));
}
