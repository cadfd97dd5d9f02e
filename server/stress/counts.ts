/** What is counted of requests, added up over stretches of a run, steps and processes. */
import type { StressCounts } from "./types.ts";

type Changeable<T> = { -readonly [K in keyof T]: T[K] };
/** Counts that grow. */
export type Counts = Changeable<Omit<StressCounts, "codes">> & { codes: Record<string, number> };

export function noCounts(): Counts {
  return {
    begun: 0,
    spoken: 0,
    refused: 0,
    failed: 0,
    stopped: 0,
    codes: {},
    continuous: 0,
    continuousStrict: 0,
    underruns: 0,
    longestShortfallMs: 0,
    audioSeconds: 0,
  };
}

/** Takes more counts in. */
export function addCounts(sum: Counts, more: StressCounts): void {
  sum.begun += more.begun;
  sum.spoken += more.spoken;
  sum.refused += more.refused;
  sum.failed += more.failed;
  sum.stopped += more.stopped;
  for (const [code, count] of Object.entries(more.codes)) {
    sum.codes[code] = (sum.codes[code] ?? 0) + count;
  }
  sum.continuous += more.continuous;
  sum.continuousStrict += more.continuousStrict;
  sum.underruns += more.underruns;
  sum.longestShortfallMs = Math.max(sum.longestShortfallMs, more.longestShortfallMs);
  sum.audioSeconds += more.audioSeconds;
}

/** Requests that came to an end of their own. */
export function endedOf({ spoken, refused, failed }: StressCounts): number {
  return spoken + refused + failed;
}

/** A share, or null of nothing. */
export function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
