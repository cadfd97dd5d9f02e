/** Pings that are on their way, and the time they take to the server and back. */
import type { SonantError } from "./error.ts";

interface Waiting {
  readonly sentAt: number;
  readonly settle: (ms: number) => void;
  readonly fail: (error: SonantError) => void;
}

export class SocketPings {
  readonly #now: () => number;
  readonly #waiting = new Map<string, Waiting>();
  #next = 0;

  /** @param now milliseconds on a clock that does not jump */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends one, marked by what comes back with its answer. Resolves to milliseconds. */
  send(send: (mark: string) => void): Promise<number> {
    const mark = `ping:${this.#next++}`;
    return new Promise((settle, fail) => {
      this.#waiting.set(mark, { sentAt: this.#now(), settle, fail });
      send(mark);
    });
  }

  answered(mark: unknown): void {
    const waiting = this.#waiting.get(String(mark));
    this.#waiting.delete(String(mark));
    waiting?.settle(this.#now() - waiting.sentAt);
  }

  /** The connection is gone, and their answers with it. */
  lost(error: SonantError): void {
    for (const { fail } of this.#waiting.values()) fail(error);
    this.#waiting.clear();
  }
}
