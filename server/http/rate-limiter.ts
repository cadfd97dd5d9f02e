/** Token buckets by client: so many requests in a period, spent at once or spread out. Forgets clients that are idle. */

/** Counts requests of clients; several servers may count together. */
export interface Limiter {
  /** Takes one request's token. Gives 0, or the milliseconds until there is one; then nothing was taken. */
  take(client: string): number | Promise<number>;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was true. */
  at: number;
}

/** Full buckets are cleared away when there are more than this. */
const MANY_CLIENTS = 10_000;

export class RateLimiter implements Limiter {
  readonly #buckets = new Map<string, Bucket>();
  readonly #size: number;
  readonly #perMs: number;
  readonly #now: () => number;

  constructor(requests: number, periodMs: number, now: () => number = () => performance.now()) {
    this.#size = requests;
    this.#perMs = requests / periodMs;
    this.#now = now;
  }

  /** Takes one request's token. Returns 0, or the milliseconds until there is one; then nothing was taken. */
  take(client: string): number {
    const now = this.#now();
    const bucket = this.#buckets.get(client) ?? { tokens: this.#size, at: now };
    const tokens = this.#tokens(bucket, now);
    const waitMs = tokens >= 1 ? 0 : (1 - tokens) / this.#perMs;
    this.#buckets.set(client, { tokens: waitMs === 0 ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > MANY_CLIENTS) this.#forgetIdle(now);
    return waitMs;
  }

  /** Clients that are remembered. */
  get clients(): number {
    return this.#buckets.size;
  }

  #tokens({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.#size, tokens + (now - at) * this.#perMs);
  }

  #forgetIdle(now: number): void {
    for (const [client, bucket] of this.#buckets) {
      if (this.#tokens(bucket, now) >= this.#size) this.#buckets.delete(client);
    }
  }
}
