/** Prompts that servers leave for each other in a real Redis. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HelperProcess, named } from "../cases/helper-process.ts";
import { REDIS_MISSING, startRedis } from "../cases/redis-process.ts";
import { Cluster } from "./cluster.ts";
import { SharedPrompts } from "./shared-prompts.ts";

describe.skipIf(REDIS_MISSING)(named("prompts in Redis", REDIS_MISSING), () => {
  let redis: HelperProcess;
  let cluster: Cluster;
  beforeEach(async () => {
    redis = await startRedis();
    cluster = new Cluster({ redisUrl: `redis://127.0.0.1:${redis.port}`, keyPrefix: "t:" });
    while (!cluster.isThere) await sleep(5);
  });
  afterEach(async () => {
    cluster.close();
    await redis.close();
  });

  it("are found until they expire", async () => {
    const prompts = new SharedPrompts(cluster);
    await prompts.put("vp_a", "one", 1);
    await prompts.put("vp_b", "two", 60);
    expect([await prompts.get("vp_a"), await prompts.get("vp_b")]).toEqual(["one", "two"]);
    expect(await prompts.get("vp_c")).toBeUndefined();
    while ((await prompts.get("vp_a")) !== undefined) await sleep(50);
    expect(await prompts.get("vp_b")).toBe("two");
  });

  it("make room when there are too many, the one that expires first before the others", async () => {
    const prompts = new SharedPrompts(cluster, { maxPrompts: 2 });
    await prompts.put("vp_a", "one", 60);
    await prompts.put("vp_b", "two", 30);
    await prompts.put("vp_c", "three", 90);
    const found = await Promise.all(["vp_a", "vp_b", "vp_c"].map((id) => prompts.get(id)));
    expect(found).toEqual(["one", undefined, "three"]);
  });

  it("cannot be asked for while Redis is away", async () => {
    const prompts = new SharedPrompts(cluster);
    await prompts.put("vp_a", "one", 60);
    await redis.stop();
    await expect(prompts.get("vp_a")).rejects.toThrow();
    await expect(prompts.put("vp_b", "two", 60)).rejects.toThrow();
  });
});
