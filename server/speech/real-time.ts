/** How many can be spoken to in real time, from what the engine has learned of its ticks. */
import type { EngineStats } from "../engine/types.ts";

/**
 * Sequences that together take at most that share of a frame's time in a tick; at least 1. Infinite where another one
 * costs nothing, or nothing is known.
 * @param frameMs sound in a frame @param share 0 to 1; the rest is left for other programs
 */
export function realTimeSequences(
  cost: Pick<EngineStats, "tickFixedMs" | "tickSequenceMs" | "tickPromptMs">,
  frameMs: number,
  share: number,
): number {
  const eachMs = cost.tickSequenceMs + cost.tickPromptMs;
  if (!(eachMs > 0)) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor((frameMs * share - cost.tickFixedMs) / eachMs));
}
