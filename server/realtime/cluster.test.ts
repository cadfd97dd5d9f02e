/**
 * Pages of several servers that share a Redis: what all of them hear, what concerns one server alone, and what is left
 * when Redis is away.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { io, type Socket } from "socket.io-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HelperProcess, named } from "../cases/helper-process.ts";
import { REDIS_MISSING, startRedis } from "../cases/redis-process.ts";
import { Cluster } from "../cluster/cluster.ts";
import type { PageToServer, ServerToPage } from "../protocol/playground.ts";
import type { VoiceLibrary } from "../voices/library.ts";
import { type Doors, openDoors, openToneHouse, type ToneHouse, until } from "./test-doors.ts";

/** What was sent has arrived when nothing more did for so long. */
const QUIET_MS = 200;

type Page = Socket<ServerToPage, PageToServer>;

/** A server whose voices change when the test says so. */
interface TestServer {
  readonly doors: Doors;
  readonly cluster: Cluster;
  change(): void;
}

describe.skipIf(REDIS_MISSING)(named("pages of a cluster", REDIS_MISSING), () => {
  let redis: HelperProcess;
  let house: ToneHouse;
  const servers: TestServer[] = [];
  const pages: Page[] = [];
  beforeEach(async () => {
    redis = await startRedis();
    house = await openToneHouse();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) page.disconnect();
    for (const { doors, cluster } of servers.splice(0)) {
      await doors.close();
      cluster.close();
    }
    await redis.close();
    await house.close();
  });

  async function serve(): Promise<TestServer> {
    const cluster = new Cluster({ redisUrl: `redis://127.0.0.1:${redis.port}`, keyPrefix: "t:" });
    const watchers: Array<() => void> = [];
    const onChange = (watcher: () => void) => {
      watchers.push(watcher);
      return () => {};
    };
    const voices = { ...house.voices, onChange } as unknown as VoiceLibrary;
    const doors = await openDoors({ ...house, voices }, {}, undefined, cluster);
    const change = () => {
      for (const watcher of watchers) watcher();
    };
    const server = { doors, cluster, change };
    servers.push(server);
    return server;
  }

  async function visit({ doors }: TestServer, options: object = {}) {
    const page: Page = io(`http://127.0.0.1:${doors.port}`, {
      transports: ["websocket"],
      reconnection: false,
      forceNew: true,
      ...options,
    });
    pages.push(page);
    const heard: string[] = [];
    page.onAny((name: string) => heard.push(name));
    await new Promise<void>((resolve, reject) => {
      page.on("connect", resolve).on("connect_error", reject);
    });
    return { page, heard };
  }

  /** Returns when events of a server are heard elsewhere, for which the adapter has to have begun to read, and all were. */
  async function joined(one: TestServer, heard: readonly string[]): Promise<void> {
    const before = heard.length;
    await until(async () => {
      one.change();
      await sleep(20);
      return heard.length > before;
    });
    let seen = -1;
    while (seen !== heard.length) {
      seen = heard.length;
      await sleep(QUIET_MS);
    }
  }

  it("hear of changed voices on whichever server, once each", async () => {
    const [one, two] = [await serve(), await serve()];
    const [near, far] = [await visit(one), await visit(two)];
    await joined(one, far.heard);
    await joined(two, near.heard);
    near.heard.length = 0;
    far.heard.length = 0;
    one.change();
    await until(() => far.heard.length > 0);
    two.change();
    await until(() => near.heard.length > 1 && far.heard.length > 1);
    expect([near.heard, far.heard]).toEqual([
      ["voices", "voices"],
      ["voices", "voices"],
    ]);
  });

  it("see the gauges of their own server, and stay when another one leaves", async () => {
    const [one, two] = [await serve(), await serve()];
    const [near, far] = [await visit(one), await visit(two)];
    await visit(one);
    await joined(one, far.heard);
    const ticks: number[] = [];
    far.page.on("status", ({ sockets }) => ticks.push(sockets));
    near.page.emit("watch", { status: true });
    far.page.emit("watch", { status: true });
    await until(() => ticks.length > 1);
    expect(ticks).toEqual(ticks.map(() => 1));
    await servers.shift()?.doors.close();
    one.cluster.close();
    await until(() => near.page.disconnected);
    const before = ticks.length;
    await until(() => ticks.length > before);
    expect(far.page.connected).toBe(true);
  });

  it("go on as pages of one server while Redis is away, and together when it is back", async () => {
    const [one, two] = [await serve(), await serve()];
    const [near, far] = [await visit(one), await visit(two)];
    await joined(one, far.heard);
    await redis.stop();
    near.heard.length = 0;
    one.change();
    await until(() => near.heard.length === 1);
    const late = await visit(two);
    expect(late.page.connected).toBe(true);
    await redis.restart();
    await joined(one, late.heard);
  });

  it("come by websocket alone, since a page's requests may come to different servers", async () => {
    const one = await serve();
    await expect(visit(one, { transports: ["polling"] })).rejects.toThrow();
    expect((await visit(one)).page.connected).toBe(true);
  });
});
