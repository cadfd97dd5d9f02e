/**
 * What went wrong since the server began, counted by code with the time of the latest: for people who look at a status
 * page rather than at graphs. Bounded by the registry of errors, since nothing else is a code.
 */
import type { ErrorCode } from "../protocol/error-registry.ts";

export interface Failure {
  readonly code: ErrorCode;
  readonly count: number;
  /** Unix time in milliseconds. */
  readonly lastAtMs: number;
}

export class FailureBook {
  readonly #failures = new Map<ErrorCode, Failure>();
  readonly #now: () => number;

  /** @param now Unix time in milliseconds; for tests */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  note(code: ErrorCode): void {
    const count = (this.#failures.get(code)?.count ?? 0) + 1;
    // Taken out and put in again, so that the order of the map is that of the latest time.
    this.#failures.delete(code);
    this.#failures.set(code, { code, count, lastAtMs: this.#now() });
  }

  /** The latest first. */
  list(): Failure[] {
    return [...this.#failures.values()].reverse();
  }
}
