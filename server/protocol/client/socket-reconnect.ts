/** When a lost connection is tried again: at growing distances, so often and for so long, and not where it is in vain. */
import type { SonantError } from "./error.ts";
import type { ReconnectOptions } from "./socket-types.ts";

/** Ends of a connection after which the server has the session no more. Those it explained never come here. */
const FINAL_CLOSES: ReadonlySet<number> = new Set([
  1000, 1001, 1003, 1005, 1009, 1011, 4400, 4401, 4404, 4409, 4410,
]);

export interface NextAttempt {
  /** From 1. */
  readonly attempt: number;
  readonly delayMs: number;
  /** Calls when it is time. */
  wait(connect: () => void): void;
}

export class Reconnection {
  readonly #attempts: number;
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  readonly #now: () => number;
  #attempt = 0;
  #lostAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    { attempts = 10, baseMs = 250, maxMs = 8000 }: ReconnectOptions,
    random: (() => number) | undefined,
    now: () => number,
  ) {
    this.#attempts = attempts;
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
    this.#random = random ?? Math.random;
    this.#now = now;
  }

  /**
   * The next attempt; undefined if there is to be none.
   * @param ttlMs how long the server keeps a session whose connection is lost
   */
  next(error: SonantError, ttlMs: number): NextAttempt | undefined {
    if (error.code === "malformed_answer") return undefined;
    if (error.closeCode !== undefined && FINAL_CLOSES.has(error.closeCode)) return undefined;
    if (this.#attempt === 0) this.#lostAt = this.#now();
    if (this.#attempt >= this.#attempts || this.#now() - this.#lostAt > ttlMs) return undefined;
    const longest = Math.min(this.#maxMs, this.#baseMs * 2 ** this.#attempt);
    // Clients that were cut off together do not come back together.
    const delayMs = longest * (0.5 + 0.5 * this.#random());
    this.#attempt += 1;
    return {
      attempt: this.#attempt,
      delayMs,
      wait: (connect) => {
        this.#timer = setTimeout(connect, delayMs);
      },
    };
  }

  succeeded(): void {
    this.#attempt = 0;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
