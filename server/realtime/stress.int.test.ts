/** A load test that a whole server makes on itself, in processes of its own, as a page sees it. */
import { io, type Socket } from "socket.io-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { StressPlanInput } from "../protocol/stress.ts";
import { STRESS_NAMESPACE } from "../protocol/stress-bounds.ts";
import type { StressReport, StressTick } from "../protocol/stress-report.ts";
import type { PageToStress, StressStarted, StressToPage } from "../protocol/stress-socket.ts";
import { until } from "./test-doors.ts";
import { LiveServer } from "./test-live-server.ts";

let server: LiveServer;
let page: Socket<StressToPage, PageToStress>;
const ticks: StressTick[] = [];
const reports: StressReport[] = [];
const heard = { bytes: 0, rates: new Set<number>() };

beforeAll(async () => {
  // One socket of each address: the load has limits of its own.
  server = await LiveServer.start({ deploy: { ws: { max_sessions_per_client: 1 } } });
  page = io(`http://127.0.0.1:${server.port}${STRESS_NAMESPACE}`, { transports: ["websocket"] });
  page.on("tick", (_, tick) => void ticks.push(tick));
  page.on("done", (_, report) => void reports.push(report));
  page.on("pcm", ({ sampleRate }, audio) => {
    heard.bytes += audio.byteLength;
    heard.rates.add(sampleRate);
  });
});
afterAll(async () => {
  page.disconnect();
  expect(await server.stop()).toBe(0);
});

const plan = (changes: Partial<StressPlanInput> = {}): StressPlanInput => ({
  target: "ws",
  shape: { kind: "fixed", concurrency: 3 },
  seconds: 2,
  texts: { name: "own", items: ["Ready.", "Please hold the line."] },
  warmup: 1,
  ...changes,
});

it("goes through the doors, is told while it is on, and can be listened to", async () => {
  const started = (await page.emitWithAck("start", plan())) as StressStarted;
  expect(started).toHaveProperty("id");
  expect(await page.emitWithAck("listen", { lane: 0 })).toBeNull();
  await until(() => reports.length === 1);
  const [report] = reports;
  expect(report?.id).toBe(started.id);
  expect(report?.end).toMatchObject({ kind: "finished" });
  expect(report?.totals).toMatchObject({ refused: 0, failed: 0, codes: {} });
  expect(report?.totals.spoken).toBeGreaterThan(0);
  expect(report?.probe?.equal).toBe(report?.probe?.runs);
  expect(report?.generator.kind).toBe("server");
  const load = ticks.filter(({ phase }) => phase === "load");
  expect(load.length).toBeGreaterThan(0);
  expect(load.some(({ active, lanes }) => active > 0 && lanes.length === 3)).toBe(true);
  expect(load.at(-1)?.server?.residentMb).toBeGreaterThan(0);
  expect(heard.bytes).toBeGreaterThan(0);
  expect([...heard.rates]).toEqual([48_000]);
});

it("ends within moments when it is stopped, and leaves nothing behind", async () => {
  reports.length = 0;
  ticks.length = 0;
  const { id } = (await page.emitWithAck("start", plan({ seconds: 60 }))) as StressStarted;
  await until(() => ticks.some(({ totals }) => totals.spoken > 0));
  expect(await page.emitWithAck("stop", { id })).toBeNull();
  await until(() => reports.length === 1);
  expect(reports[0]?.end).toMatchObject({ kind: "stopped" });
  expect(reports[0]?.totals.spoken).toBeGreaterThan(0);
  const load = async () => (await fetch(`http://127.0.0.1:${server.port}/load`)).json();
  await until(async () => ((await load()) as { server_load: number }).server_load === 0);
});
