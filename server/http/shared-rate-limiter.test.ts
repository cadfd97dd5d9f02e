/** Limits that servers share through a real Redis, which goes away and comes back. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HelperProcess, named } from "../cases/helper-process.ts";
import { REDIS_MISSING, startRedis } from "../cases/redis-process.ts";
import { Cluster } from "../cluster/cluster.ts";
import { Access } from "./access.ts";
import { SharedRateLimiter } from "./shared-rate-limiter.ts";

const HOUR_MS = 3_600_000;

describe.skipIf(REDIS_MISSING)(named("limits in Redis", REDIS_MISSING), () => {
  let redis: HelperProcess;
  let clusters: Cluster[];
  const logged: string[] = [];
  beforeEach(async () => {
    redis = await startRedis();
    clusters = [];
    logged.length = 0;
  });
  afterEach(async () => {
    for (const cluster of clusters) cluster.close();
    redis.pause(false);
    await redis.close();
  });

  const until = async (isTrue: () => boolean) => {
    while (!isTrue()) await sleep(5);
  };

  /** What one server counts with. */
  async function limiter(requests: number, periodMs = HOUR_MS, keyPrefix = "test:") {
    const log = (sentence: string) => void logged.push(sentence);
    const cluster = new Cluster({
      redisUrl: `redis://127.0.0.1:${redis.port}`,
      keyPrefix,
      log: (_, sentence) => log(sentence),
    });
    clusters.push(cluster);
    await until(() => cluster.isThere);
    return new SharedRateLimiter({ requests, periodMs, cluster, log });
  }

  /** How many of so many requests are let through, taken in turn by all servers. */
  async function passed(servers: readonly SharedRateLimiter[], client: string, requests: number) {
    const waits = await Promise.all(
      Array.from({ length: requests }, (_, i) => servers[i % servers.length]?.take(client)),
    );
    return waits.filter((waitMs) => waitMs === 0).length;
  }

  it("hold over all servers, for each client and under each prefix", async () => {
    const servers = await Promise.all([limiter(5), limiter(5), limiter(5)]);
    expect(await passed(servers, "a", 12)).toBe(5);
    expect(await passed(servers, "a", 3)).toBe(0);
    expect(await passed(servers, "b".repeat(5000), 6)).toBe(5);
    expect(await passed([await limiter(5, HOUR_MS, "other:")], "a", 6)).toBe(5);
  });

  it("say how long to wait, refill with time, and forget who is idle", async () => {
    const [one, two] = [await limiter(2, 400), await limiter(2, 400)];
    expect([await one.take("a"), await two.take("a")]).toEqual([0, 0]);
    const waitMs = await one.take("a");
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(200);
    await sleep(waitMs + 1);
    expect(await two.take("a")).toBe(0);
    // A bucket is kept until it would be full, and a second more.
    const life = clusters[0]?.script("bucketLife", "return redis.call('PTTL', KEYS[1])");
    const hash = createHash("sha256").update("a").digest("base64url");
    const lifeMs = Number(await life?.(`rate:${hash}`));
    expect(lifeMs).toBeGreaterThan(0);
    expect(lifeMs).toBeLessThanOrEqual(1400);
  });

  it("are each server's own while Redis is away, which is said once, and shared again after", async () => {
    const servers = [await limiter(5), await limiter(5)];
    expect(await passed(servers, "a", 4)).toBe(4);
    await redis.stop();
    await until(() => logged.length === 2);
    expect(await passed(servers, "a", 14)).toBe(10);
    const away = expect.stringMatching(/^Redis is away \(ECONN.*this server goes on alone/);
    expect(logged).toEqual([away, away]);
    await redis.restart();
    await until(() => clusters.every(({ isThere }) => isThere));
    expect(logged.slice(2)).toEqual(["Redis is back.", "Redis is back."]);
    // It kept nothing, and counts anew.
    expect(await passed(servers, "a", 12)).toBe(5);
  });

  it("are not waited for when Redis does not answer", async () => {
    const server = await limiter(2);
    redis.pause(true);
    expect(await passed([server], "a", 6)).toBe(2);
    expect(logged).toEqual([expect.stringMatching(/^Requests are counted by this server alone/)]);
    redis.pause(false);
    await until(() => clusters.every(({ isThere }) => isThere));
    while (logged.length < 2) {
      await server.take("b");
      await sleep(20);
    }
    expect(logged[1]).toBe("Requests are counted with the other servers again.");
  });

  it("are told at the door as any limit", async () => {
    const doors = [await limiter(1), await limiter(1)].map(
      (each) => new Access({ apiKeys: [], requestsPerMinute: 1, limiter: each }),
    );
    await doors[0]?.count(undefined, "1.1.1.1");
    await expect(doors[1]?.count(undefined, "1.1.1.1")).rejects.toMatchObject({
      code: "rate_limited",
      details: { retryAfterSeconds: 3600 },
    });
    await doors[1]?.count(undefined, "2.2.2.2");
  });
});
