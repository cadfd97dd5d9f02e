/**
 * A connection for the adapter of socket.io, which sends commands without looking at what becomes of them: none of them
 * may end the process, and the copies that the adapter makes have to be closed by somebody. Owns nothing of what is said.
 */
import { Redis } from "ioredis";

/** Least time between two attempts, in milliseconds; also what keeps a refused read from being repeated at once. */
const RETRY_MS = 500;
const MOST_RETRY_MS = 5000;

const OPTIONS = {
  // Commands wait until the connection is there again, however long that takes.
  maxRetriesPerRequest: null,
  connectTimeout: 5000,
  retryStrategy: (attempts: number) => Math.min(RETRY_MS * attempts, MOST_RETRY_MS),
};

export class StandingRedis extends Redis<"legacy"> {
  readonly #address: string;
  readonly #copies = new Set<StandingRedis>();
  #isClosed = false;

  constructor(address: string) {
    super(address, OPTIONS);
    this.#address = address;
    this.on("error", () => {}); // whoever shares the address says it
  }

  override duplicate(): never {
    const copy = new StandingRedis(this.#address);
    this.#copies.add(copy);
    // Of the library's generic signature only this form is ever used.
    return copy as never;
  }

  override sendCommand(...[command, stream]: Parameters<Redis["sendCommand"]>): unknown {
    // The adapter reads again whatever the answer is, and would do so for ever once every answer is that this has ended.
    if (this.#isClosed && command.name === "xread") return new Promise(() => {});
    command.promise.catch(() => {
      // A read that is refused would be repeated without a pause; a new connection takes its time.
      if (command.name === "xread" && !this.#isClosed) this.disconnect(true);
    });
    return super.sendCommand(command, stream);
  }

  /** Ends the connection and all copies at once. */
  close(): void {
    this.#isClosed = true;
    for (const copy of this.#copies) copy.close();
    this.disconnect();
  }
}
