/** The limits of a plan, held against what was measured. */
import { endedOf, shareOf } from "./counts.ts";
import type { Sums } from "./sums.ts";
import type { StressLimits } from "./types.ts";

export interface Verdict {
  /** Null if there are no limits or nothing to hold against them. */
  readonly met: boolean | null;
  /** Which were crossed and by how much, in sentences; empty if none was. */
  readonly text: string;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/**
 * Refused and failed requests both count as errors: for a limit it does not matter whose fault it was. Where requests ended
 * and none was spoken, limits of sound are not met.
 */
export function judge(limits: StressLimits, sums: Sums): Verdict {
  const { ttfpP95Ms, continuity, errorShare } = limits;
  const { counts } = sums;
  const ended = endedOf(counts);
  const hasLimits = [ttfpP95Ms, continuity, errorShare].some((limit) => limit !== undefined);
  if (!hasLimits || ended === 0) return { met: null, text: "" };
  const crossed: string[] = [];
  const p95 = sums.get("ttfpMs").at(0.95);
  if (ttfpP95Ms !== undefined && p95 !== null && p95 > ttfpP95Ms) {
    crossed.push(`The TTFP's p95 was ${p95.toFixed(1)} ms, above the limit of ${ttfpP95Ms} ms.`);
  }
  const continuous = shareOf(counts.continuous, counts.spoken);
  if (continuity !== undefined && continuous !== null && continuous < continuity) {
    crossed.push(
      `${percent(continuous)} of the streams were continuous, below the limit of ${percent(continuity)}.`,
    );
  }
  const errors = (counts.refused + counts.failed) / ended;
  if (errorShare !== undefined && errors > errorShare) {
    crossed.push(
      `${percent(errors)} of the requests were refused or failed, above the limit of ${percent(errorShare)}.`,
    );
  }
  const needsSound = ttfpP95Ms !== undefined || continuity !== undefined;
  if (crossed.length === 0 && needsSound && counts.spoken === 0) {
    crossed.push("No request was spoken to its end.");
  }
  return { met: crossed.length === 0, text: crossed.join(" ") };
}
