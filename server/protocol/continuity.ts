/**
 * Whether a listener heard gaps: a player that starts with the first chunk and plays in real time runs dry when the
 * next chunk comes later than the sound it has. Times in seconds on any clock.
 */

/** Longest gap that still counts as continuous, in seconds. */
export const CONTINUITY_THRESHOLD_S = 0.1;
/** A gap below this is rounding, not silence. */
const EPSILON_S = 1e-6;

export interface Continuity {
  /** Largest shortfall that was met, in seconds. */
  readonly underrunSeconds: number;
  /** Chunks that came too late. */
  readonly events: number;
  readonly ok: boolean;
}

/** Follows the chunks of one stream. */
export class ContinuityMeter {
  private startedAt: number | undefined;
  private receivedSeconds = 0;
  private worst = 0;
  private late = 0;

  constructor(private readonly thresholdSeconds = CONTINUITY_THRESHOLD_S) {}

  /** Notes a chunk: when it came and how much sound it holds. */
  add(atSeconds: number, audioSeconds: number): void {
    if (audioSeconds <= 0) return;
    this.startedAt ??= atSeconds;
    const deficit = atSeconds - this.startedAt - this.receivedSeconds;
    if (deficit > EPSILON_S) {
      this.late += 1;
      this.worst = Math.max(this.worst, deficit);
    }
    this.receivedSeconds += audioSeconds;
  }

  result(): Continuity {
    const ok = this.worst <= this.thresholdSeconds + EPSILON_S;
    return { underrunSeconds: this.worst, events: this.late, ok };
  }
}

/** The same for times that were recorded. Lists of different lengths say nothing and count as continuous. */
export function continuity(
  arrivalsSeconds: readonly number[],
  audioSeconds: readonly number[],
  thresholdSeconds = CONTINUITY_THRESHOLD_S,
): Continuity {
  const meter = new ContinuityMeter(thresholdSeconds);
  if (arrivalsSeconds.length !== audioSeconds.length) return meter.result();
  for (const [index, arrival] of arrivalsSeconds.entries()) {
    meter.add(arrival, audioSeconds[index] ?? 0);
  }
  return meter.result();
}
