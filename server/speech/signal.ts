/** "Something has changed": waiters wake up and look again. Owns its waiters' timers; carries no value. */
export class Signal {
  readonly #waiters = new Set<() => void>();
  #count = 0;

  /** How often it has been notified; for those who look, do something else and wait then. */
  get count(): number {
    return this.#count;
  }

  /** Wakes everybody who waits now. */
  notify(): void {
    this.#count += 1;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  /** Resolves with the first `notify` after the one numbered `since`, or after `timeoutMs`. Never rejects. */
  wait(timeoutMs = Number.POSITIVE_INFINITY, since = this.#count): Promise<void> {
    if (since !== this.#count) return Promise.resolve();
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const wake = () => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      this.#waiters.add(wake);
      if (Number.isFinite(timeoutMs)) timer = setTimeout(wake, Math.max(0, timeoutMs));
    });
  }
}
