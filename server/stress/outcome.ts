/** What became of one request, and how it is entered into the sums. */
import { type PlaybackMeter, SonantError, toSonantError } from "../protocol/client/index.ts";
import type { Sums } from "./sums.ts";

/** Codes by which a server says that it has too much to do: data for a load test, and no failure. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...["overloaded", "unavailable", "warming_up", "shutting_down"],
  ...["rate_limited", "too_many_sessions", "request_timeout"],
]);

/** Code of arrivals that the generator itself could not serve. */
export const NO_LANE = "generator_full";

export type Outcome = { readonly kind: "spoken" } | Unspoken;

export interface Unspoken {
  readonly kind: "refused" | "failed" | "stopped";
  readonly code: string;
  readonly message: string;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** @param signal ends the run; what it cuts off is `stopped` */
export function outcomeOf(error: unknown, signal: AbortSignal): Unspoken {
  const { code, message, retryAfterMs } = toSonantError(error, "network", signal);
  if (signal.aborted) return { kind: "stopped", code: "aborted", message, retryAfterMs: undefined };
  return { kind: REFUSALS.has(code) ? "refused" : "failed", code, message, retryAfterMs };
}

/**
 * Enters a request that was spoken.
 * @param meter begun when the request was due, and ended
 * @param cycleMs from its begin until its stream could make the next request
 * @returns `failed` with `no_audio` if it brought no sound
 */
export function enterSpoken(sums: Sums, meter: PlaybackMeter, cycleMs: number): Outcome {
  const { ttfpMs, elapsedMs, audioMs, continuity } = meter.read();
  if (ttfpMs === undefined) {
    const { code, message } = new SonantError("no_audio");
    return enterUnspoken(sums, { kind: "failed", code, message, retryAfterMs: undefined });
  }
  const { counts } = sums;
  counts.spoken += 1;
  if (continuity.ok) counts.continuous += 1;
  if (continuity.events === 0) counts.continuousStrict += 1;
  counts.underruns += continuity.events;
  counts.longestShortfallMs = Math.max(
    counts.longestShortfallMs,
    continuity.underrunSeconds * 1000,
  );
  sums.record("ttfpMs", ttfpMs);
  sums.record("totalMs", elapsedMs);
  sums.record("rtf", elapsedMs / audioMs);
  sums.record("cycleMs", cycleMs);
  return { kind: "spoken" };
}

/** Enters a request that was refused, failed or cut off. */
export function enterUnspoken({ counts }: Sums, outcome: Unspoken): Outcome {
  counts[outcome.kind] += 1;
  if (outcome.kind !== "stopped")
    counts.codes[outcome.code] = (counts.codes[outcome.code] ?? 0) + 1;
  return outcome;
}
