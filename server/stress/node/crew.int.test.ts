/** Worker processes that make load together: an exact split, one report, and the death of one of them. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { Conductor } from "../conductor.ts";
import { requestSeed } from "../random.ts";
import { planWith } from "../test-door.ts";
import { Crew, type CrewOptions } from "./crew.ts";
import { startCrewStress } from "./run.ts";
import { openSpeechServer, type TestSpeechServer } from "./test-speech-server.ts";

let server: TestSpeechServer;
beforeEach(async () => {
  server = await openSpeechServer(30);
});
afterEach(() => server.close());

it("split a plan exactly, and their figures are one report", async () => {
  const heard = new Set<number>();
  const run = await startCrewStress({
    plan: planWith({
      shape: { kind: "fixed", concurrency: 5 },
      seconds: 60,
      maxRequests: 41,
      processes: 2,
      probe: true,
      warmup: 2,
    }),
    kind: "command",
    baseUrl: server.url,
    apiKey: "secret",
    headers: { "x-mark": "mine" },
    lowPriority: true,
    serverFigures: () => null,
    onSound: ({ lane }) => void heard.add(lane),
  });
  run.listen(3);
  const report = await run.report;
  expect(report.end).toEqual({
    kind: "limit",
    reason: "The cost guard of 41 requests was reached.",
  });
  expect(report.totals).toMatchObject({ begun: 41, spoken: 41, failed: 0, codes: {} });
  expect(report.totals.audioSeconds).toBeCloseTo(41 * 0.2, 6);
  expect(report.percentiles.ttfpMs.count).toBe(41);
  expect(report.generator).toMatchObject({ kind: "command", processes: 2 });
  expect(report.ticks.some(({ generator }) => generator.processes === 2)).toBe(true);
  expect(report.probe).toMatchObject({ firstDifference: null });
  expect([...heard]).toEqual([3]);
  // Five streams of the load, and the probe beside them.
  expect(server.most()).toBeLessThanOrEqual(6);
  const seeds = new Set(server.requests.map(({ body }) => body.seed));
  for (let number = 0; number < 41; number++) expect(seeds).toContain(requestSeed(1, number));
  for (const { headers } of server.requests) {
    expect(headers).toMatchObject({ "x-mark": "mine", authorization: "Bearer secret" });
  }
}, 30_000);

it("go on without one that dies, and its death is told", async () => {
  const plan = planWith({ shape: { kind: "fixed", concurrency: 4 }, seconds: 1.2, processes: 2 });
  const options: CrewOptions = { plan, baseUrl: server.url };
  const crew = await Crew.start(options);
  const generator = { kind: "command", processes: 2, cores: 2, agent: "Chip" } as const;
  let killed: number | undefined;
  const run = new Conductor(
    {
      ...{ plan, generator },
      access: { baseUrl: server.url },
      serverFigures: () => null,
      onTick: ({ phase }) => {
        const victim = crew.alive[1];
        if (phase !== "load" || killed !== undefined || victim?.pid === undefined) return;
        killed = victim.pid;
        process.kill(victim.pid, "SIGKILL");
      },
    },
    crew,
  );
  const { end, caveats, totals, ticks } = await run.report;
  expect(end.kind).toBe("finished");
  expect(caveats.join(" ")).toContain("Process 2 of 2 was ended by SIGKILL");
  expect(totals.spoken).toBeGreaterThan(0);
  expect(ticks.at(-1)?.generator.processes).toBe(1);
  expect(crew.alive).toEqual([]);
}, 30_000);

it("that are all gone end the run as a failure", async () => {
  const plan = planWith({ seconds: 60 });
  const crew = await Crew.start({ plan, baseUrl: server.url });
  const run = new Conductor(
    {
      plan,
      access: { baseUrl: server.url },
      generator: { kind: "command", processes: 1, cores: 2, agent: "Chip" },
      serverFigures: () => null,
      onTick: () => crew.alive[0]?.kill(),
    },
    crew,
  );
  const { end } = await run.report;
  expect(end).toEqual({ kind: "failed", reason: "Every process that made load has ended." });
}, 30_000);
