/** What crossed a socket, for the inspector: the latest messages, and how many came before them. */
import type { FrameLogEntry } from "../../server/protocol/client/index.ts";

const KEPT = 1000;

export class FrameLog {
  #entries: FrameLogEntry[] = [];
  #total = 0;
  readonly #listeners = new Set<() => void>();

  add(entry: FrameLogEntry): void {
    // A new list each time, so that React sees the difference; a bound, so that a long session does not fill the memory.
    this.#entries = [...this.#entries.slice(1 - KEPT), entry];
    this.#total++;
    for (const listener of this.#listeners) listener();
  }

  get entries(): readonly FrameLogEntry[] {
    return this.#entries;
  }

  /** Messages that are no longer kept. */
  get dropped(): number {
    return this.#total - this.#entries.length;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}
