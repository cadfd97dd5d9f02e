/**
 * The search for the largest load that meets the limits: doubles until one does not, then halves what lies between. Pure;
 * who asks makes the load and says what came of it.
 */
import type { StressKnee } from "./types.ts";

/** Differences below this share of the load are not worth a step. */
const RESOLUTION = 0.02;

export class KneeSearch {
  readonly #to: number;
  /** Largest that met the limits, smallest that did not. */
  #good: number | null = null;
  #bad: number | null = null;
  #why = "";
  #next: number | undefined;

  /** @param from least and @param to largest number of requests at once */
  constructor(from: number, to: number) {
    this.#to = to;
    this.#next = from;
  }

  /** What is to be tried next; undefined when the search is over. */
  get next(): number | undefined {
    return this.#next;
  }

  /** Says what came of it. @param verdict which limit was crossed, in a sentence */
  tried(concurrency: number, met: boolean, verdict = ""): void {
    if (met) this.#good = concurrency;
    else {
      this.#bad = concurrency;
      this.#why = verdict;
    }
    this.#next = this.#following();
  }

  #following(): number | undefined {
    const [good, bad] = [this.#good, this.#bad];
    if (good === null) return undefined;
    if (bad === null) return good >= this.#to ? undefined : Math.min(this.#to, good * 2);
    const least = Math.max(1, Math.floor(bad * RESOLUTION));
    return bad - good <= least ? undefined : Math.floor((good + bad) / 2);
  }

  /** What is known so far. */
  result(): StressKnee {
    const [good, bad] = [this.#good, this.#bad];
    const because = this.#why === "" ? "" : ` ${this.#why}`;
    if (good === null && bad === null) {
      return { concurrency: null, above: null, reason: "Nothing was tried to its end." };
    }
    if (good === null) {
      const reason = `Not even ${bad} at once met the limits.${because}`;
      return { concurrency: null, above: bad, reason };
    }
    if (bad === null) {
      return {
        concurrency: good,
        above: null,
        reason: `${good} at once met the limits; more was not tried.`,
      };
    }
    const reason = `${good} at once met the limits, ${bad} did not.${because}`;
    return { concurrency: good, above: bad, reason };
  }
}
