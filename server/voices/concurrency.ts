/** Two ways to wait: for a place among a few, and for one's turn under a name. No timers, no threads. */

/** Lets at most `places` tasks run at once; the others wait in line. */
export class Gate {
  #free: number;
  readonly #line: Array<() => void> = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs the task when there is a place. Rejects with the signal's reason if aborted while waiting. */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await task();
    } finally {
      const next = this.#line.shift();
      if (next !== undefined) next();
      else this.#free++;
    }
  }

  async #enter(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#line.splice(this.#line.indexOf(enter), 1);
        reject(signal?.reason);
      };
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      this.#line.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}

/** Runs tasks of the same name one after the other, in the order in which they were given. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const turn = (async () => {
      await before?.catch(() => {});
      return task();
    })();
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }
}
