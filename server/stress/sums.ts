/** Counts and distributions of one stretch of a run: what steps, totals and the messages of processes are made of. */
import { addCounts, type Counts, noCounts } from "./counts.ts";
import { Distribution } from "./distribution.ts";
import type { StressCounts, StressHistogram, StressMeasure, StressPercentiles } from "./types.ts";

/** What is recorded of requests; the corrected TTFP follows from the others. */
export const RECORDED = ["ttfpMs", "totalMs", "rtf", "gapMs", "cycleMs"] as const;
export type Recorded = (typeof RECORDED)[number];

/** Sums as they travel between processes. */
export interface PackedSums {
  readonly counts: StressCounts;
  readonly histograms: Readonly<Record<Recorded, StressHistogram>>;
}

export class Sums {
  readonly counts: Counts = noCounts();
  readonly #recorded: Record<Recorded, Distribution>;

  constructor() {
    this.#recorded = {
      ttfpMs: Distribution.of("ttfpMs"),
      totalMs: Distribution.of("totalMs"),
      rtf: Distribution.of("rtf"),
      gapMs: Distribution.of("gapMs"),
      cycleMs: Distribution.of("cycleMs"),
    };
  }

  static unpack({ counts, histograms }: PackedSums): Sums {
    const sums = new Sums();
    addCounts(sums.counts, counts);
    for (const name of RECORDED) sums.#recorded[name] = Distribution.from(histograms[name]);
    return sums;
  }

  pack(): PackedSums {
    return {
      counts: this.counts,
      histograms: {
        ttfpMs: this.#recorded.ttfpMs.encoded(),
        totalMs: this.#recorded.totalMs.encoded(),
        rtf: this.#recorded.rtf.encoded(),
        gapMs: this.#recorded.gapMs.encoded(),
        cycleMs: this.#recorded.cycleMs.encoded(),
      },
    };
  }

  record(name: Recorded, value: number): void {
    this.#recorded[name].add(value);
  }

  merge(other: Sums): void {
    addCounts(this.counts, other.counts);
    for (const name of RECORDED) this.#recorded[name].merge(other.#recorded[name]);
  }

  get(name: Recorded): Distribution {
    return this.#recorded[name];
  }

  /**
   * The TTFP with the requests that stalled streams did not make (see `StressMeasure`). The pace that a stream would have
   * kept is the median time from one of its requests to the next.
   */
  correctedTtfp(isOpenLoop: boolean): Distribution {
    return this.#recorded.ttfpMs.corrected(isOpenLoop ? null : this.#recorded.cycleMs.at(0.5));
  }

  percentiles(corrected: Distribution): Record<StressMeasure, StressPercentiles> {
    return {
      ttfpMs: this.#recorded.ttfpMs.percentiles(),
      ttfpCorrectedMs: corrected.percentiles(),
      totalMs: this.#recorded.totalMs.percentiles(),
      rtf: this.#recorded.rtf.percentiles(),
      gapMs: this.#recorded.gapMs.percentiles(),
    };
  }

  histograms(corrected: Distribution): Record<StressMeasure, StressHistogram> {
    const { ttfpMs, totalMs, rtf, gapMs } = this.pack().histograms;
    return { ttfpMs, ttfpCorrectedMs: corrected.encoded(), totalMs, rtf, gapMs };
  }
}
