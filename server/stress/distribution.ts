/**
 * A distribution of times or ratios, kept in an HdrHistogram: three significant digits at any size, and the percentiles
 * of many processes and runs are those of their sum and not a mean of means.
 */
import {
  decodeHistogram,
  encodeHistogram,
  type Histogram,
  LARGEST_VALUE,
  newHistogram,
} from "./hdr.ts";
import type {
  DistributionPoint,
  StressHistogram,
  StressMeasure,
  StressPercentiles,
} from "./types.ts";

/** Integers of a histogram are values times this: microseconds for milliseconds, millionths for ratios. */
const SCALES: Readonly<Record<StressMeasure | "cycleMs", number>> = {
  ttfpMs: 1000,
  ttfpCorrectedMs: 1000,
  totalMs: 1000,
  rtf: 1_000_000,
  gapMs: 1000,
  cycleMs: 1000,
};

export class Distribution {
  readonly #scale: number;
  /** Made with the first value, since most stretches of a run have none of most measures. */
  #histogram: Histogram | undefined;

  private constructor(scale: number, histogram?: Histogram) {
    this.#scale = scale;
    this.#histogram = histogram;
  }

  static of(measure: StressMeasure | "cycleMs"): Distribution {
    return new Distribution(SCALES[measure]);
  }

  /** @throws Error if the data are not those of a histogram */
  static from({ data, scale }: StressHistogram): Distribution {
    return new Distribution(scale, data === "" ? undefined : decodeHistogram(data));
  }

  get count(): number {
    return this.#histogram?.totalCount ?? 0;
  }

  /** @param value in the unit of the measure; below 0 counts as 0 */
  add(value: number): void {
    const integer = Math.min(LARGEST_VALUE, Math.max(0, Math.round(value * this.#scale)));
    this.#histogram ??= newHistogram();
    this.#histogram.recordValue(integer);
  }

  /** Takes the values of another one of the same measure in. */
  merge(other: Distribution): void {
    if (other.#histogram === undefined) return;
    this.#histogram ??= newHistogram();
    this.#histogram.add(other.#histogram);
  }

  /**
   * A copy with what a closed loop left out: beside each value that is longer than the time between two requests of a
   * stream, those that the requests would have had that the stream did not make meanwhile.
   * @param intervalMs time between two requests; none or 0: an exact copy
   */
  corrected(intervalMs: number | null): Distribution {
    const interval = Math.round((intervalMs ?? 0) * this.#scale);
    const copy = new Distribution(this.#scale, this.#histogram && newHistogram());
    if (this.#histogram === undefined) return copy;
    if (interval <= 0) copy.#histogram?.add(this.#histogram);
    else copy.#histogram?.addWhileCorrectingForCoordinatedOmission(this.#histogram, interval);
    return copy;
  }

  /** @param share 0 to 1 @returns null of no values */
  at(share: number): number | null {
    if (this.#histogram === undefined || this.count === 0) return null;
    return this.#histogram.getValueAtPercentile(share * 100) / this.#scale;
  }

  percentiles(): StressPercentiles {
    const mean = this.#histogram === undefined ? null : this.#histogram.mean / this.#scale;
    return {
      count: this.count,
      mean: this.count === 0 ? null : mean,
      p50: this.at(0.5),
      p75: this.at(0.75),
      p90: this.at(0.9),
      p95: this.at(0.95),
      p99: this.at(0.99),
      p999: this.at(0.999),
      max: this.at(1),
    };
  }

  encoded(): StressHistogram {
    const data = this.#histogram === undefined ? "" : encodeHistogram(this.#histogram);
    return { data, scale: this.#scale };
  }
}

/** Shares that a chart of a distribution is drawn at: finer towards the end, where it matters. */
const SHARES = [
  ...Array.from({ length: 90 }, (_, i) => i / 100),
  ...Array.from({ length: 90 }, (_, i) => 0.9 + i / 1000),
  ...Array.from({ length: 91 }, (_, i) => 0.99 + i / 10_000),
  0.9995,
  0.9999,
  1,
];

/** A kept distribution as points of a chart, by growing share; none of no values. */
export function distributionOf(histogram: StressHistogram): DistributionPoint[] {
  const distribution = Distribution.from(histogram);
  return SHARES.flatMap((share) => {
    const value = distribution.at(share);
    return value === null ? [] : [{ share, value }];
  });
}
