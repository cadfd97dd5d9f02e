/** Silence that is nobody's fault. Pure. */
import type { TakeSentence } from "../store/takes.ts";

/** Sentences begin where the sound so far ends; positions are rounded to samples on the way. */
const ROUNDING_MS = 1;

/**
 * Whether playback ran dry because the writer paused: the text of what comes next was not there when the silence began.
 * @param positionMs where in the take it ran dry
 * @param sinceMs when, on the clock of `performance.now()`
 */
export function wasWritersPause(
  sentences: readonly Pick<TakeSentence, "startMs" | "givenAt">[],
  positionMs: number,
  sinceMs: number,
): boolean {
  const next = sentences.findLast(({ startMs }) => startMs <= positionMs + ROUNDING_MS);
  return next !== undefined && next.givenAt > sinceMs;
}
