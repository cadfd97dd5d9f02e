/**
 * What servers leave for each other under an id, until it expires: the place of voice prompts, which a client makes
 * through one server and names to any. Holds so many and no more. Knows nothing of what it holds.
 */
import type { Cluster, Script } from "./cluster.ts";

export interface SharedPromptOptions {
  /** Most at once on all servers together; above it the one that expires first makes room. */
  readonly maxPrompts?: number;
}

const DEFAULT_MAX_PROMPTS = 2000;
const KEY = "prompts";

/** KEYS[1] ranks ids by their ends; ARGV: id, text, seconds, most of them. */
const PUT = `
local id, text, seconds, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local now = tonumber(redis.call('TIME')[1])
redis.call('SET', KEYS[1] .. ':' .. id, text, 'EX', seconds)
redis.call('ZADD', KEYS[1], now + seconds, id)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
while redis.call('ZCARD', KEYS[1]) > most do
  redis.call('DEL', KEYS[1] .. ':' .. redis.call('ZPOPMIN', KEYS[1])[1])
end
if redis.call('TTL', KEYS[1]) < seconds then redis.call('EXPIRE', KEYS[1], seconds) end
`;

const GET = "return redis.call('GET', KEYS[1] .. ':' .. ARGV[1])";

export class SharedPrompts {
  readonly #put: Script;
  readonly #get: Script;
  readonly #maxPrompts: number;

  constructor(cluster: Cluster, { maxPrompts = DEFAULT_MAX_PROMPTS }: SharedPromptOptions = {}) {
    this.#put = cluster.script("putPrompt", PUT);
    this.#get = cluster.script("getPrompt", GET);
    this.#maxPrompts = maxPrompts;
  }

  /** Keeps a text for so many seconds. Fails if Redis is away. */
  async put(id: string, text: string, lifetimeSeconds: number): Promise<void> {
    await this.#put(KEY, id, text, lifetimeSeconds, this.#maxPrompts);
  }

  /** The text of an id; undefined if there is none any more. Fails if Redis is away. */
  async get(id: string): Promise<string | undefined> {
    const text = await this.#get(KEY, id);
    return typeof text === "string" ? text : undefined;
  }
}
