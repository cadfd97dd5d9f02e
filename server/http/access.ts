/**
 * Who may call, and how often: API keys and limits on requests, for every door alike. Keys are compared in constant time
 * and never logged. Owns no sockets and no routes.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../protocol/envelope.ts";
import { type Limiter, RateLimiter } from "./rate-limiter.ts";

export interface AccessOptions {
  /** Empty: no key is asked for. */
  readonly apiKeys: readonly string[];
  /** Of one key or address; 0: no limit. */
  readonly requestsPerMinute: number;
  /** Counts together with other servers, by the same limit; absent: this server counts alone. */
  readonly limiter?: Limiter | undefined;
  /** Milliseconds on a clock that does not jump; for tests. */
  readonly now?: () => number;
}

/** Of the limit on requests. */
export const PERIOD_MS = 60_000;

const digest = (text: string) => createHash("sha256").update(text).digest();

export class Access {
  readonly #keys: readonly Buffer[];
  readonly #limiter: Limiter | undefined;

  constructor({ apiKeys, requestsPerMinute, limiter, now }: AccessOptions) {
    this.#keys = apiKeys.map(digest);
    if (requestsPerMinute === 0) return;
    this.#limiter = limiter ?? new RateLimiter(requestsPerMinute, PERIOD_MS, now);
  }

  /** Whether a key has to be sent at all. */
  get needsKey(): boolean {
    return this.#keys.length > 0;
  }

  /** Whether an Authorization header opens the door; any does while no key is configured. */
  opens(authorization: string | undefined): boolean {
    if (!this.needsKey) return true;
    const key = digest(bearer(authorization));
    // Every key is looked at, so that the time taken does not tell which one was close.
    return this.#keys.map((known) => timingSafeEqual(known, key)).includes(true);
  }

  /**
   * Counts a request of a client: of its key where keys are asked for, else of its address.
   * @throws ApiError `rate_limited` with the time to wait
   */
  async count(authorization: string | undefined, address: string): Promise<void> {
    const client = this.needsKey ? `key ${digest(bearer(authorization)).toString("hex")}` : address;
    const waitMs = (await this.#limiter?.take(client)) ?? 0;
    if (waitMs === 0) return;
    throw new ApiError("rate_limited", undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) });
  }
}

function bearer(authorization = ""): string {
  return /^bearer\s+(\S+)\s*$/i.exec(authorization)?.[1] ?? "";
}
