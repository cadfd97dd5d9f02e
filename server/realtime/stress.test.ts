/** The load generator's door: who may start, stop and listen, and what becomes of a run whose page is gone. */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "socket.io";
import { io, type Socket } from "socket.io-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StressPlanInput } from "../protocol/stress.ts";
import { STRESS_NAMESPACE } from "../protocol/stress-bounds.ts";
import type { StressReport, StressTick } from "../protocol/stress-report.ts";
import type {
  PageToStress,
  StressHello,
  StressRefusal,
  StressStarted,
  StressToPage,
} from "../protocol/stress-socket.ts";
import type { CrewRunOptions } from "../stress/node/run.ts";
import type { StressRun } from "../stress/types.ts";
import type { RealtimeDeps } from "./deps.ts";
import { StressDoor } from "./stress.ts";
import { openDoors, openToneHouse, until } from "./test-doors.ts";

type Page = Socket<StressToPage, PageToStress>;

const PLAN: StressPlanInput = {
  target: "ws",
  shape: { kind: "fixed", concurrency: 4 },
  seconds: 20,
  texts: { name: "own", items: ["Ready."] },
};
const GRACE_MS = 150;

/** A run that does nothing until it is told to end. */
class QuietRun implements StressRun {
  readonly options: CrewRunOptions;
  readonly id: string;
  readonly heard: (number | null)[] = [];
  reason: string | undefined;
  #end: (report: StressReport) => void = () => {};
  readonly report = new Promise<StressReport>((resolve) => {
    this.#end = resolve;
  });

  constructor(options: CrewRunOptions, number: number) {
    this.options = options;
    this.id = `run-${number}`;
  }

  stop(reason = "by hand"): void {
    this.reason ??= reason;
    this.#end({ id: this.id, end: { kind: "stopped", reason } } as StressReport);
  }

  listen(lane: number | null): void {
    this.heard.push(lane);
  }

  caveat(): void {}
}

let http: HttpServer;
let door: StressDoor;
const runs: QuietRun[] = [];
const pages: Page[] = [];

async function open(
  stress: Partial<RealtimeDeps["config"]["stress"]> = {},
  needsKey = false,
): Promise<void> {
  http = createServer();
  const server = new Server(http);
  const deps = {
    access: { needsKey },
    config: { stress: { enabled: true, maxStreams: 100, maxSeconds: 60, ...stress } },
    models: { load: { active: 1, waiting: 2, capacity: 4, expectedWaitMs: 0 } },
  } as unknown as RealtimeDeps;
  const start = async (options: CrewRunOptions) => {
    const run = new QuietRun(options, runs.length);
    runs.push(run);
    return run;
  };
  door = new StressDoor(server, http, deps, (_, decide) => decide(), {
    start,
    ownerGraceMs: GRACE_MS,
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
}

const portOf = () => (http.address() as AddressInfo).port;

async function connect(
  auth: object = {},
  origin?: string,
): Promise<{ page: Page; hellos: StressHello[] }> {
  const page: Page = io(`http://127.0.0.1:${portOf()}${STRESS_NAMESPACE}`, {
    transports: ["websocket"],
    reconnection: false,
    forceNew: true,
    auth,
    extraHeaders: origin === undefined ? {} : { origin },
  });
  pages.push(page);
  const hellos: StressHello[] = [];
  page.on("hello", (hello) => void hellos.push(hello));
  await until(() => hellos.length > 0);
  return { page, hellos };
}

type Answer = StressStarted & StressRefusal;
const start = (page: Page, plan: object = PLAN) =>
  page.emitWithAck("start", plan as StressPlanInput) as Promise<Answer>;

beforeEach(() => {
  runs.length = 0;
});
afterEach(async () => {
  for (const page of pages.splice(0)) page.disconnect();
  await door.close();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});

it("starts for pages of its own, for programs and for those who have a key, and for no other site", async () => {
  await open();
  const own = await connect({}, `http://127.0.0.1:${portOf()}`);
  const other = await connect({}, "http://example.com");
  expect(await start(other.page)).toMatchObject({ code: "stress_forbidden" });
  expect(await start(own.page)).toMatchObject({ id: "run-0" });
  await door.close();
  http.close();
  await open({}, true);
  const known = await connect({ key: "secret" }, "http://example.com");
  expect(await start(known.page)).toMatchObject({ id: "run-1" });
});

describe("a page", () => {
  it("starts a run, sees its ticks with everybody else, and gets its report", async () => {
    await open();
    const { page, hellos } = await connect({ key: "secret" });
    const other = await connect();
    expect(hellos[0]).toMatchObject({ enabled: true, maxStreams: 100, running: null });
    const ticks: string[] = [];
    const done: string[] = [];
    other.page.on("tick", (id, { at }) => void ticks.push(`${id} ${at}`));
    page.on("done", (id, { end }) => void done.push(`${id} ${end.reason}`));
    const { id } = await start(page);
    expect(id).toBe("run-0");
    const { options } = runs[0] ?? expect.unreachable();
    expect(options).toMatchObject({
      ...{ kind: "server", lowPriority: true, maxStreams: 100, apiKey: "secret" },
      baseUrl: `http://127.0.0.1:${portOf()}`,
      plan: { ...PLAN, seed: 1, probe: true },
    });
    expect(options.serverFigures?.()).toMatchObject({ active: 1, queue: 2, capacity: 4 });
    options.onTick?.({ at: 0.5 } as StressTick);
    await until(() => ticks.length > 0);
    expect(ticks).toEqual(["run-0 0.5"]);
    expect(hellos.at(-1)?.running).toMatchObject({ id });
    expect(await page.emitWithAck("stop", { id })).toBeNull();
    await until(() => done.length > 0);
    expect(done).toEqual(["run-0 by hand"]);
    await until(() => hellos.at(-1)?.running === null);
    expect((await start(page)).id).toBe("run-1");
  });

  it("hears the stream that it chose, and nobody else does", async () => {
    await open();
    const { page } = await connect();
    const other = await connect();
    const heard: number[] = [];
    page.on("pcm", ({ lane }, audio) => void heard.push(lane, audio.length));
    other.page.on("pcm", () => expect.unreachable());
    await start(page);
    const [run] = runs;
    const sound = () =>
      run?.options.onSound?.(
        { lane: 7, sampleRate: 8000, channels: 1, first: true },
        new Uint8Array(4),
      );
    sound();
    expect(await page.emitWithAck("listen", { lane: 7 })).toBeNull();
    expect(run?.heard).toEqual([7]);
    sound();
    await until(() => heard.length > 0);
    expect(heard).toEqual([7, 4]);
    expect(await other.page.emitWithAck("listen", { lane: 1 })).toMatchObject({
      code: "stress_unknown",
    });
  });
});

describe("a start is refused", () => {
  it("while another run is on, and it is said until when", async () => {
    await open();
    const { page } = await connect();
    const other = await connect();
    const both = await Promise.all([start(page), start(other.page)]);
    expect(both.map(({ id, code }) => id ?? code).sort()).toEqual(["run-0", "stress_busy"]);
    const refusal = await start(other.page);
    expect(refusal).toMatchObject({ code: "stress_busy", retryable: true });
    expect(refusal.message).toMatch(/ends by \d{4}-\d\d-\d\dT\S+Z at the latest/);
    expect(await other.page.emitWithAck("stop", { id: "run-0" })).toMatchObject({
      code: "stress_unknown",
    });
    expect(runs[0]?.reason).toBeUndefined();
  });

  it.each([
    [{ shape: { kind: "fixed", concurrency: 101 } }, "up to 100 requests at once, not 101"],
    [{ seconds: 61 }, "takes up to 60 s, not 61 s"],
    [{ source: "browser" }, "makes load as 'server'"],
    [{ processes: 64 }, "processes:"],
    [{ shape: { kind: "wave" } }, "shape"],
    [{ texts: { name: "own", items: [] } }, "texts"],
    [{ speed: 5 }, "speed"],
  ])("with what is wrong and what is allowed: %j", async (change, text) => {
    await open();
    const { page } = await connect();
    const { code, message } = await start(page, { ...PLAN, ...change });
    expect(["invalid_value", "schema_violation"]).toContain(code);
    expect(message).toContain(text);
    expect(runs).toEqual([]);
  });

  it("where the deploy file says so", async () => {
    await open({ enabled: false });
    const { page, hellos } = await connect();
    expect(hellos[0]).toMatchObject({ enabled: false });
    expect(await start(page)).toMatchObject({ code: "stress_disabled" });
  });
});

describe("a run whose page is gone", () => {
  it("ends after a while", async () => {
    await open();
    const { page } = await connect();
    await start(page);
    page.disconnect();
    await until(() => runs[0]?.reason !== undefined);
    expect(runs[0]?.reason).toContain("was gone for");
    expect(runs[0]?.heard).toEqual([null]);
  });

  it("goes on if the page comes back in time, and nobody else can take it", async () => {
    await open();
    const { page } = await connect();
    const { id } = await start(page);
    const again = await connect();
    expect(await again.page.emitWithAck("attach", { id })).toMatchObject({
      code: "stress_unknown",
    });
    page.disconnect();
    const attach = () => again.page.emitWithAck("attach", { id }) as Promise<Answer>;
    await until(async () => (await attach()).id === id);
    await new Promise((resolve) => setTimeout(resolve, 2 * GRACE_MS));
    expect(runs[0]?.reason).toBeUndefined();
    expect(await again.page.emitWithAck("stop", { id })).toBeNull();
  });

  it("and that has ended meanwhile gives its report to the page that asks for it", async () => {
    await open();
    const { page } = await connect();
    const { id } = await start(page);
    page.disconnect();
    await until(() => runs[0]?.reason !== undefined);
    const again = await connect();
    const done: string[] = [];
    again.page.on("done", (ended) => void done.push(ended));
    expect(await again.page.emitWithAck("attach", { id })).toMatchObject({ id });
    await until(() => done.length > 0);
    expect(done).toEqual([id]);
  });
});

it("a server that shuts down ends the run and waits for it", async () => {
  await open();
  const { page } = await connect();
  await start(page);
  await door.close();
  expect(runs[0]?.reason).toBe("The server was shut down.");
});

it("the door needs the key that all doors need", async () => {
  await open();
  const house = await openToneHouse();
  const doors = await openDoors(house, { server: { apiKeys: ["secret"] } });
  try {
    const come = (auth: object) =>
      new Promise<string>((resolve) => {
        const page: Page = io(`http://127.0.0.1:${doors.port}${STRESS_NAMESPACE}`, {
          ...{ transports: ["websocket"], reconnection: false, forceNew: true, auth },
        });
        pages.push(page);
        page.on("hello", () => resolve("hello"));
        page.on("connect_error", (error) =>
          resolve((error as Error & { data?: { code: string } }).data?.code ?? "refused"),
        );
      });
    expect(await come({})).toBe("unauthorized");
    expect(await come({ key: "wrong" })).toBe("unauthorized");
    expect(await come({ key: "secret" })).toBe("hello");
  } finally {
    for (const page of pages.splice(0)) page.disconnect();
    await doors.close();
    await house.close();
  }
});
