/**
 * One end for many: each of those who are under way has a signal of its own, since thousands of listeners on one signal
 * are slow and are taken for a leak.
 */
export class CutOff {
  readonly #open = new Set<AbortController>();
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Does something with a signal that comes with the end of all. */
  async during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    if (this.#isOver) controller.abort();
    this.#open.add(controller);
    try {
      return await work(controller.signal);
    } finally {
      this.#open.delete(controller);
    }
  }

  /** Ends all who are there, and all who come. */
  now(): void {
    this.#isOver = true;
    for (const controller of this.#open) controller.abort();
  }
}
