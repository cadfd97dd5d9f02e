/** How late the event loop of a generator runs: what it measures of a server is late by as much. */
import type { StressClock } from "./types.ts";

const BEAT_MS = 50;

export class LagMeter {
  readonly #end = new AbortController();
  #worstMs = 0;

  constructor(clock: StressClock) {
    void this.#beat(clock);
  }

  /** Largest lateness since it was last taken, in milliseconds. */
  take(): number {
    const worst = this.#worstMs;
    this.#worstMs = 0;
    return worst;
  }

  end(): void {
    this.#end.abort();
  }

  async #beat({ now, wait }: StressClock): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const due = now() + BEAT_MS;
      await wait(BEAT_MS, signal);
      if (!signal.aborted) this.#worstMs = Math.max(this.#worstMs, now() - due);
    }
  }
}
