/** Upper bounds of the histograms. The letters are those of the interface description. */

/** A: latencies and durations of whole requests, in seconds. */
export const REQUEST_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];
/** B: short times, in seconds. */
export const SHORT_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
/** C: real-time factors. */
export const RTF = [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.25, 1.5, 2, 5, 10];
/** D: sizes in bytes, from 1 KiB to 256 MiB. */
export const BYTES = Array.from({ length: 10 }, (_, power) => 1024 * 4 ** power);
/** Time to first audio of a small model, in seconds. */
export const FIRST_AUDIO_SECONDS = [
  0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5,
];
/** Sizes of chunks, in frames. */
export const CHUNK_FRAMES = [1, 2, 4, 8, 16, 32];
