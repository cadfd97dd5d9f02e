/**
 * A bounded cache whose values are made once, however many ask at the same time. Owns no policy about what is cached;
 * keys are content hashes or ids whose content never changes, so nothing here expires by time.
 */

/** Makes a value; the signal aborts when nobody waits for it any more. */
export type Make<T> = (signal: AbortSignal) => Promise<T>;

export interface CacheLimits {
  readonly entries: number;
  /** Sum of the sizes of all values, in bytes. */
  readonly bytes: number;
}

interface Flight<T> {
  readonly value: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

interface Kept<T> {
  readonly value: T;
  readonly bytes: number;
}

export class SharedCache<T> {
  /** In order of use, the least recently used first. */
  readonly #kept = new Map<string, Kept<T>>();
  readonly #flights = new Map<string, Flight<T>>();
  readonly #limits: CacheLimits;
  readonly #sizeOf: (value: T) => number;
  #bytes = 0;

  constructor(limits: CacheLimits, sizeOf: (value: T) => number) {
    this.#limits = limits;
    this.#sizeOf = sizeOf;
  }

  /** Number and total size in bytes of the values kept, and how many are being made. */
  get usage(): { readonly entries: number; readonly bytes: number; readonly making: number } {
    return { entries: this.#kept.size, bytes: this.#bytes, making: this.#flights.size };
  }

  /**
   * The value of `key`, made if need be. Failures are given to all who wait and not kept. Aborting ends the wait of
   * this caller alone; the work stops when the last one has gone.
   */
  async get(key: string, make: Make<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.value;
    }
    const flight = this.#flights.get(key) ?? this.#start(key, make);
    flight.waiting++;
    try {
      return await untilAborted(flight.value, signal);
    } finally {
      flight.waiting--;
      if (flight.waiting === 0) this.#abandon(key, flight);
    }
  }

  #start(key: string, make: Make<T>): Flight<T> {
    const controller = new AbortController();
    const flight: Flight<T> = { value: make(controller.signal), controller, waiting: 0 };
    this.#flights.set(key, flight);
    const land = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    flight.value.then((made) => {
      land();
      if (!controller.signal.aborted) this.#keep(key, made);
    }, land);
    return flight;
  }

  /** Nobody waits any more: work that is still going on is stopped. */
  #abandon(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) !== flight) return;
    this.#flights.delete(key);
    flight.controller.abort();
  }

  #keep(key: string, value: T): void {
    const bytes = this.#sizeOf(value);
    if (bytes > this.#limits.bytes) return;
    this.#kept.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#kept.size <= this.#limits.entries && this.#bytes <= this.#limits.bytes) return;
      this.#kept.delete(oldest);
      this.#bytes -= freed;
    }
  }
}

/** The promise, or a rejection with the signal's reason if that comes first. */
export async function untilAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
