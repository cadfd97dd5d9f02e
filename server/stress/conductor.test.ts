/** Whole runs on a clock of the test's own: ticks, steps, limits, guards, the knee, stopping, and what a report says. */
import { describe, expect, it } from "vitest";
import { Conductor } from "./conductor.ts";
import { LoadGenerator } from "./generator.ts";
import { TestClock } from "./test-clock.ts";
import { type Fate, overloaded, planWith, TestServer, versionFetch } from "./test-door.ts";
import type { StressGeneratorFacts, StressOptions, StressPlan, StressTick } from "./types.ts";

const GENERATOR: StressGeneratorFacts = { kind: "command", processes: 1, cores: 2, agent: "Chip" };

function runOf(
  changes: Partial<StressPlan>,
  fate?: (number: number, running: number) => Fate,
  options: Partial<StressOptions> = {},
) {
  const clock = new TestClock();
  const server = new TestServer(clock, fate);
  const plan = planWith(changes);
  const access = { baseUrl: "http://server", fetch: versionFetch };
  const ticks: StressTick[] = [];
  const generator = new LoadGenerator({
    ...{ plan, access, clock },
    index: 0,
    processes: 1,
    openDoor: server.open,
  });
  const conductor = new Conductor(
    {
      ...{ plan, access, clock, generator: GENERATOR },
      serverFigures: () => ({ active: 1, queue: 2, capacity: 4, cores: 0.5, residentMb: 100 }),
      onTick: (tick) => void ticks.push(tick),
      ...options,
    },
    generator,
  );
  return { clock, server, ticks, conductor, report: () => clock.run(conductor.report) };
}

describe("a run", () => {
  it("of one load tells two ticks a second and adds up to its report", async () => {
    const { ticks, report } = runOf({ shape: { kind: "fixed", concurrency: 4 }, seconds: 3 });
    const { steps, totals, seconds, end, server, ...rest } = await report();
    expect(end.kind).toBe("finished");
    expect(server).toMatchObject({ version: "1.2.3", model: "m", engine: null });
    // Four streams, a request of 100 ms each.
    expect(totals).toMatchObject({ begun: 120, spoken: 120, refused: 0, failed: 0, stopped: 0 });
    expect(seconds).toBeCloseTo(3, 1);
    expect(rest.requestsPerSecond).toBeCloseTo(40, 0);
    expect(rest.timesRealTime).toBeCloseTo(40, 0);
    expect(rest.percentiles.ttfpMs.p95).toBeCloseTo(10, 1);
    expect(rest.continuityStrict).toBe(1);
    expect(rest.caveats).toEqual([]);
    expect(rest.knee).toBeNull();
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject({ wanted: 4, counts: totals, met: null });
    expect(steps[0]?.server).toMatchObject({ cores: 0.5 });
    const load = ticks.filter(({ phase }) => phase === "load");
    expect(load.map(({ at }) => at)).toEqual([0.5, 1, 1.5, 2, 2.5, 3]);
    for (const tick of load) {
      expect(tick).toMatchObject({ wanted: 4, active: 4, continuity: 1, lanesLeftOut: 0 });
      expect(tick.lanes.map(({ id }) => id)).toEqual([0, 1, 2, 3]);
      expect(tick.ttfpMs.p95).toBeCloseTo(10, 1);
    }
    expect(rest.ticks).toHaveLength(ticks.length);
    expect(rest.ticks[0]).not.toHaveProperty("lanes");
  });

  it("in steps counts each request in the step in which it was begun", async () => {
    const shape = { kind: "steps", from: 1, to: 3, by: 1, stepSeconds: 1 } as const;
    const { steps, totals } = await runOf({ shape }).report();
    expect(steps.map(({ wanted, counts }) => [wanted, counts.spoken])).toEqual([
      [1, 10],
      [2, 20],
      [3, 30],
    ]);
    expect(totals.spoken).toBe(60);
    expect(steps.map(({ seconds }) => seconds)).toEqual([1, 1, 1]);
  });

  it("by chance is the same for a seed", async () => {
    const plan = { shape: { kind: "poisson", perSecond: 20 }, seconds: 5 } as const;
    const once = await runOf(plan).report();
    const again = await runOf(plan).report();
    expect(again.totals).toEqual(once.totals);
    expect(again.histograms).toEqual(once.histograms);
    expect((await runOf({ ...plan, seed: 2 }).report()).totals.begun).not.toBe(once.totals.begun);
  });

  it("does not count its warm-up, and compares its probe", async () => {
    const plan = { warmup: 3, probe: true, seconds: 3 };
    const { server, report } = runOf(plan);
    const { totals, probe, ticks } = await report();
    expect(ticks.slice(0, 2).map(({ phase }) => phase)).toEqual(["probe", "warmup"]);
    expect(totals.begun).toBe(server.begun.length - 3 - 1 - 3);
    expect(probe).toMatchObject({ runs: 3, equal: 3, firstDifference: null });
  });
});

describe("limits", () => {
  it("end a run, and the knee is the last step that met them", async () => {
    const shape = { kind: "levels", levels: [2, 4, 8, 16], stepSeconds: 6 } as const;
    const { report } = runOf(
      { shape: { ...shape, levels: [...shape.levels] }, limits: { ttfpP95Ms: 100 } },
      (_, running) => ({ ttfpMs: running > 4 ? 300 : 10 }),
    );
    const { end, steps, knee, totals, caveats } = await report();
    expect(end).toMatchObject({ kind: "limit" });
    expect(end.reason).toContain("above the limit of 100 ms");
    expect(steps.map(({ wanted, met }) => [wanted, met])).toEqual([
      [2, true],
      [4, true],
      [8, false],
    ]);
    expect(knee).toMatchObject({ concurrency: 4, above: 8 });
    expect(totals.spoken + totals.stopped).toBe(totals.begun);
    expect(caveats.join(" ")).toContain("ended by a limit");
  });

  it("count refusals, which are data and no failure of the run", async () => {
    const refuseAll = () => ({ ttfpMs: 0, error: overloaded() });
    const { end, totals, caveats } = await runOf({ seconds: 2 }, refuseAll).report();
    expect(end.kind).toBe("finished");
    expect(totals).toMatchObject({ spoken: 0, failed: 0 });
    expect(totals.refused).toBeGreaterThan(10);
    expect(caveats.join(" ")).toContain("overloaded");
    const limited = await runOf({ seconds: 60, limits: { errorShare: 0.1 } }, refuseAll).report();
    expect(limited.end.kind).toBe("limit");
    expect(limited.seconds).toBeLessThan(10);
  });

  it.each([
    [{ maxRequests: 25, seconds: 60 }, "25 requests"],
    [{ maxSeconds: 2, seconds: 60 }, "2 s"],
  ])("of cost hold: %j", async (plan, text) => {
    const { end, totals, seconds } = await runOf(plan).report();
    expect(end).toEqual({ kind: "limit", reason: `The cost guard of ${text} was reached.` });
    expect(totals.begun).toBeLessThanOrEqual(25);
    expect(seconds).toBeLessThan(4);
  });
});

describe("a search for the knee", () => {
  const plan = {
    shape: { kind: "knee", from: 1, to: 32, stepSeconds: 2 },
    limits: { ttfpP95Ms: 50 },
  } as const;

  it("finds the largest load that the server bears, each tried from quiet to quiet", async () => {
    const { report } = runOf(plan, (_, running) => ({ ttfpMs: running > 11 ? 200 : 10 }));
    const { knee, steps, end } = await report();
    expect(end.kind).toBe("finished");
    expect(knee).toMatchObject({ concurrency: 11, above: 12 });
    expect(knee?.reason).toContain("above the limit of 50 ms");
    expect(steps.map(({ wanted }) => wanted)).toEqual([1, 2, 4, 8, 16, 12, 10, 11]);
    for (const { counts } of steps) expect(counts.spoken).toBe(counts.begun);
  });

  it("says so where nothing is enough, and where everything is", async () => {
    const bad = await runOf(plan, () => ({ ttfpMs: 200 })).report();
    expect(bad.knee).toMatchObject({ concurrency: null, above: 1 });
    const good = await runOf(plan).report();
    expect(good.knee).toMatchObject({ concurrency: 32, above: null });
  });
});

describe("the end", () => {
  it("by hand keeps what was measured and cuts off what is under way", async () => {
    const stop = new AbortController();
    const { clock, server, report } = runOf({ seconds: 60 }, undefined, { signal: stop.signal });
    clock.at(1550, () => stop.abort("Enough."));
    const { end, totals, seconds, steps } = await report();
    expect(end).toEqual({ kind: "stopped", reason: "Enough." });
    expect(totals).toMatchObject({ begun: 16, spoken: 15, stopped: 1, failed: 0 });
    expect(seconds).toBeCloseTo(1.55, 1);
    expect(steps[0]?.seconds).toBeCloseTo(1.55, 1);
    expect(server.begun).toHaveLength(16);
  });

  it("comes at once where it was stopped before it began", async () => {
    const { end, totals } = await runOf({}, undefined, {
      signal: AbortSignal.abort("No."),
    }).report();
    expect(end).toEqual({ kind: "stopped", reason: "No." });
    expect(totals.begun).toBe(0);
  });

  it("tells of a server that is not there, or does not speak", async () => {
    const fetch = async () => Promise.reject(new TypeError("fetch failed"));
    const access = { baseUrl: "http://nobody", fetch };
    const gone = await runOf({}, undefined, { access }).report();
    expect(gone.end).toMatchObject({ kind: "failed" });
    expect(gone.end.reason).toContain("cannot be reached");
    expect(gone).toMatchObject({ server: null, steps: [], seconds: 0 });
    const error = Object.assign(overloaded(), { code: "invalid_voice" });
    const mute = await runOf({ warmup: 1 }, () => ({ error })).report();
    expect(mute.end.reason).toContain("does not speak through the target 'http'");
  });

  it("does not wait for ever for requests that do not end", async () => {
    const hang = (number: number) => (number === 0 ? { ttfpMs: 1e9 } : {});
    const { end, totals, caveats } = await runOf({ seconds: 1 }, hang).report();
    expect(end.kind).toBe("finished");
    expect(totals).toMatchObject({ begun: 1, stopped: 1 });
    expect(caveats.join(" ")).toContain("were cut off");
  });
});
