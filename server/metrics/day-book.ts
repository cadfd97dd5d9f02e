/**
 * The last day of a server in steps of five minutes, for people who look at a status page and have no graphs: how soon
 * streams began, whether they had gaps, what failed and what was refused. Kept in memory and bounded: one bucket a step,
 * and in each at most one counter for every size that a time can have. Single requests leave no trace.
 */

/** Length of a bucket, in seconds. */
const STEP_SECONDS = 300;
const HOUR_SECONDS = 3600;
const DAY_SECONDS = 86_400;
const BUCKETS = DAY_SECONDS / STEP_SECONDS;

/** Times are told apart by a tenth of their size, from a millisecond to 100 seconds: percentiles are good to 5 %. */
const SIZES_A_DECADE = 24;
const SHORTEST_SECONDS = 0.001;
const SIZES = 5 * SIZES_A_DECADE;

/** What happened in the last hour or day. Percentiles are 0 where nothing was measured. */
export interface PastFigures {
  readonly windowSeconds: number;
  /** How much of the window the server has been running. */
  readonly coveredSeconds: number;
  readonly ttfaP50Ms: number;
  readonly ttfaP95Ms: number;
  readonly ttfaP99Ms: number;
  /** Streams that reached their end, and those of them without a gap. */
  readonly streams: number;
  readonly streamsContinuous: number;
  /** Requests that ended, whichever way, and those of them that the server could not finish. */
  readonly requests: number;
  readonly failed: number;
  /** Requests that were refused before they began. */
  readonly refused: number;
}

/** What is added up. */
class Bucket {
  /** Streams by the size of their time to first audio. */
  readonly ttfa = new Map<number, number>();
  streams = 0;
  streamsContinuous = 0;
  requests = 0;
  failed = 0;
  refused = 0;

  constructor(readonly step: number) {}
}

export class DayBook {
  readonly #now: () => number;
  readonly #startedAt: number;
  /** Step by step around; a bucket of an earlier day is replaced when its place is needed. */
  readonly #ring: Bucket[] = [];

  /** @param now seconds on a clock that does not jump */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** A stream had its first audio that long after the request. */
  firstAudio(seconds: number): void {
    const { ttfa } = this.#bucket();
    const size = sizeOf(seconds);
    ttfa.set(size, (ttfa.get(size) ?? 0) + 1);
  }

  /** A stream reached its end. */
  streamEnded(isContinuous: boolean): void {
    const bucket = this.#bucket();
    bucket.streams += 1;
    if (isContinuous) bucket.streamsContinuous += 1;
  }

  /** A request ended, whichever way. */
  requestEnded(hasFailed: boolean): void {
    const bucket = this.#bucket();
    bucket.requests += 1;
    if (hasFailed) bucket.failed += 1;
  }

  /** A request was refused before it began. */
  refused(): void {
    this.#bucket().refused += 1;
  }

  /** The last hour, then the last day; of both, the step that is not over yet counts as a whole one. */
  read(): PastFigures[] {
    return [this.#window(HOUR_SECONDS), this.#window(DAY_SECONDS)];
  }

  #bucket(): Bucket {
    const step = Math.floor(this.#now() / STEP_SECONDS);
    const place = step % BUCKETS;
    const found = this.#ring[place];
    if (found?.step === step) return found;
    const fresh = new Bucket(step);
    this.#ring[place] = fresh;
    return fresh;
  }

  #window(windowSeconds: number): PastFigures {
    const now = this.#now();
    const last = Math.floor(now / STEP_SECONDS);
    const first = last - windowSeconds / STEP_SECONDS + 1;
    const sum = new Bucket(last);
    for (const bucket of this.#ring) {
      // Places that were never reached are holes in the ring.
      if (bucket === undefined || bucket.step < first || bucket.step > last) continue;
      for (const [size, count] of bucket.ttfa)
        sum.ttfa.set(size, (sum.ttfa.get(size) ?? 0) + count);
      sum.streams += bucket.streams;
      sum.streamsContinuous += bucket.streamsContinuous;
      sum.requests += bucket.requests;
      sum.failed += bucket.failed;
      sum.refused += bucket.refused;
    }
    const { streams, streamsContinuous, requests, failed, refused } = sum;
    return {
      windowSeconds,
      coveredSeconds: Math.min(windowSeconds, now - this.#startedAt),
      ttfaP50Ms: 1000 * percentile(sum.ttfa, 0.5),
      ttfaP95Ms: 1000 * percentile(sum.ttfa, 0.95),
      ttfaP99Ms: 1000 * percentile(sum.ttfa, 0.99),
      streams,
      streamsContinuous,
      requests,
      failed,
      refused,
    };
  }
}

/** The size that a time has, from 0 on; what is out of range has the nearest. */
function sizeOf(seconds: number): number {
  const size = Math.floor(SIZES_A_DECADE * Math.log10(seconds / SHORTEST_SECONDS));
  return Number.isFinite(size) ? Math.min(Math.max(size, 0), SIZES - 1) : 0;
}

/** The middle of the size that holds the value of that rank, in seconds; 0 if there is none. @param share between 0 and 1 */
function percentile(counts: ReadonlyMap<number, number>, share: number): number {
  const sizes = [...counts].sort(([a], [b]) => a - b);
  const all = sizes.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [size, count] of sizes) {
    below += count;
    if (below >= share * all) return SHORTEST_SECONDS * 10 ** ((size + 0.5) / SIZES_A_DECADE);
  }
  return 0;
}
