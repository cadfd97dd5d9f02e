/** A clock for tests that moves when everybody waits for it. */
import type { StressClock } from "./types.ts";

/** Turns of the event loop in which everything that does not wait for the clock has come to rest. */
const TURNS = 3;

export class TestClock implements StressClock {
  #now = 0;
  readonly #waiting = new Set<{ readonly at: number; readonly wake: () => void }>();

  readonly now = () => this.#now;

  readonly wait = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted) return resolve();
      const one = {
        at: this.#now + Math.max(0, ms),
        wake: () => {
          this.#waiting.delete(one);
          signal?.removeEventListener("abort", one.wake);
          resolve();
        },
      };
      signal?.addEventListener("abort", one.wake);
      this.#waiting.add(one);
    });

  /** Calls a function at a time. */
  at(ms: number, act: () => void): void {
    void this.wait(ms - this.#now).then(act);
  }

  /** Runs until a promise is settled. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const settled = work.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
      const [next] = [...this.#waiting].sort((a, b) => a.at - b.at);
      if (next === undefined) continue;
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    return settled;
  }
}
