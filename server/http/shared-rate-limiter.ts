/**
 * Token buckets that several servers share: the same buckets as in rate-limiter.ts, kept in Redis and counted by its
 * clock. While Redis is away each server counts for itself, so that a client may then have its share on each.
 */
import { createHash } from "node:crypto";
import type { Cluster, Script } from "../cluster/cluster.ts";
import { type Limiter, RateLimiter } from "./rate-limiter.ts";

/**
 * Takes a token of the bucket KEYS[1], which holds ARGV[1] of them and gets ARGV[2] in a millisecond. Answers as `take`
 * does, in whole milliseconds. A bucket that would be full by now is forgotten.
 */
const TAKE = `
local size, per_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = size
if bucket[1] and bucket[2] then
  tokens = math.min(size, tonumber(bucket[1]) + math.max(0, now - tonumber(bucket[2])) * per_ms)
end
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = math.ceil((1 - tokens) / per_ms) end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((size - tokens) / per_ms) + 1000)
return wait
`;

/** After a question that failed, this server counts alone for so long, in milliseconds. */
const PAUSE_MS = 1000;

export interface SharedLimiterOptions {
  readonly requests: number;
  readonly periodMs: number;
  readonly cluster: Cluster;
  /** Takes a sentence when questions begin to fail and when they are answered again. */
  readonly log?: (sentence: string) => void;
}

export class SharedRateLimiter implements Limiter {
  readonly #alone: RateLimiter;
  readonly #cluster: Cluster;
  readonly #take: Script;
  readonly #rule: readonly [size: number, perMs: number];
  readonly #log: (sentence: string) => void;
  #failedAt: number | undefined;

  constructor({ requests, periodMs, cluster, log = () => {} }: SharedLimiterOptions) {
    this.#alone = new RateLimiter(requests, periodMs);
    this.#cluster = cluster;
    this.#take = cluster.script("takeToken", TAKE);
    this.#rule = [requests, requests / periodMs];
    this.#log = log;
  }

  /** Takes one request's token. Returns 0, or the milliseconds until there is one; then nothing was taken. */
  async take(client: string): Promise<number> {
    const isPause = this.#failedAt !== undefined && performance.now() - this.#failedAt < PAUSE_MS;
    if (isPause || !this.#cluster.isThere) return this.#alone.take(client);
    try {
      const waitMs = Number(await this.#take(bucketOf(client), ...this.#rule));
      if (this.#failedAt !== undefined)
        this.#log("Requests are counted with the other servers again.");
      this.#failedAt = undefined;
      return waitMs;
    } catch (error) {
      if (this.#failedAt === undefined) {
        const reason = (error as Error).message;
        this.#log(
          `Requests are counted by this server alone, since Redis did not answer: ${reason}`,
        );
      }
      this.#failedAt = performance.now();
      return this.#alone.take(client);
    }
  }
}

/** Of one length whatever a client is called, and nobody's address stands in Redis. */
function bucketOf(client: string): string {
  return `rate:${createHash("sha256").update(client).digest("base64url")}`;
}
