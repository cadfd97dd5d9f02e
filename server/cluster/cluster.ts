/**
 * What joins several servers: a Redis that all of them know. Owns the connections and tells when Redis goes and comes; a
 * server goes on alone while it is away. Knows nothing of requests, voices or pages.
 */
import { createAdapter } from "@socket.io/redis-streams-adapter";
import { Redis } from "ioredis";
import { StandingRedis } from "./standing-redis.ts";

export interface ClusterOptions {
  /** `redis://` or `rediss://`; may hold a password and is never logged. */
  readonly redisUrl: string;
  /** What all names in Redis begin with. */
  readonly keyPrefix: string;
  /** Takes a sentence when Redis goes away or comes back. */
  readonly log?: (level: "info" | "warn", sentence: string) => void;
}

/** An answer that a request waits for has to come within this time, in milliseconds. */
const ANSWER_MS = 300;
const CONNECT_MS = 2000;
const MOST_RETRY_MS = 1000;
/** Events that servers which lost Redis for a while may catch up with. */
const EVENTS_KEPT = 1000;

/** Asks Redis with a key, without the prefix, and arguments. */
export type Script = (key: string, ...args: readonly (string | number)[]) => Promise<unknown>;

/** Makes the adapters of a socket.io server. */
export type PageAdapter = ReturnType<typeof createAdapter>;

export class Cluster {
  readonly #prefix: string;
  readonly #url: string;
  readonly #redis: Redis;
  readonly #log: NonNullable<ClusterOptions["log"]>;
  readonly #standing: StandingRedis[] = [];
  #isAway = false;

  /** Connects in the background; a Redis that is away is tried again for as long as it takes. */
  constructor({ redisUrl, keyPrefix, log = () => {} }: ClusterOptions) {
    this.#prefix = keyPrefix;
    this.#url = redisUrl;
    this.#log = log;
    this.#redis = new Redis(redisUrl, {
      // Nobody waits for a Redis that is not there: what cannot be asked at once is decided without it.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      commandTimeout: ANSWER_MS,
      connectTimeout: CONNECT_MS,
      retryStrategy: (attempts) => Math.min(50 * attempts, MOST_RETRY_MS),
    });
    this.#redis.on("error", (error) => this.#lost(error));
    this.#redis.on("ready", () => this.#found());
  }

  /** Whether Redis can be asked at this moment. */
  get isThere(): boolean {
    return this.#redis.status === "ready";
  }

  /**
   * Makes a question out of a script that works on one key, as one step that nobody comes between. Asking fails if Redis
   * is away, does not answer in time or refuses.
   * @param name of the script, in one word
   */
  script(name: string, lua: string): Script {
    this.#redis.defineCommand(name, { numberOfKeys: 1, lua });
    const command = (this.#redis as unknown as Readonly<Record<string, Script>>)[name] as Script;
    return (key, ...args) => command.call(this.#redis, this.#prefix + key, ...args);
  }

  /** Lets a socket.io server share its broadcasts with those of the other servers. */
  pageAdapter(): PageAdapter {
    const standing = new StandingRedis(this.#url);
    this.#standing.push(standing);
    return createAdapter(standing, {
      streamName: `${this.#prefix}pages`,
      channelPrefix: `${this.#prefix}pages`,
      sessionKeyPrefix: `${this.#prefix}pages:session:`,
      maxLen: EVENTS_KEPT,
    });
  }

  /** Ends all connections. */
  close(): void {
    this.#redis.disconnect();
    for (const standing of this.#standing) standing.close();
  }

  #lost(error: Error): void {
    if (this.#isAway) return;
    this.#isAway = true;
    const reason = (error as NodeJS.ErrnoException).code ?? error.message;
    this.#log("warn", `Redis is away (${reason}): this server goes on alone until it is back.`);
  }

  #found(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#log("info", "Redis is back.");
  }
}
