/** The outline of a sound: its largest excursions, column by column. */
import type { TakeAudio } from "../audio/take-audio.ts";

const READ_FRAMES = 48_000;

/** Pairs of least and largest sample, -1 to 1, for `columns` equal parts of a sound; first channel. */
export function envelopeOf(sound: TakeAudio, columns: number): Float32Array {
  const pairs = new Float32Array(2 * columns);
  const scale = sound.format === "int16" ? 1 / 32768 : 1;
  for (let start = 0; start < sound.frames; start += READ_FRAMES) {
    const samples = sound.read(start, READ_FRAMES);
    for (let i = 0; i < samples.length; i += sound.channels) {
      const frame = start + i / sound.channels;
      const column = Math.min(columns - 1, Math.floor((frame / sound.frames) * columns));
      const sample = (samples[i] ?? 0) * scale;
      pairs[2 * column] = Math.min(pairs[2 * column] ?? 0, sample);
      pairs[2 * column + 1] = Math.max(pairs[2 * column + 1] ?? 0, sample);
    }
  }
  return pairs;
}
