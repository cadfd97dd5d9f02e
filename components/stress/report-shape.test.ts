/** Which reports the page takes, and what it says of the others. */
import { expect, it } from "vitest";
import { STRESS_MEASURES, type StressReport } from "../../server/stress/types.ts";
import { flawOf } from "./report-shape.ts";

const NONE = {
  count: 0,
  mean: null,
  p50: null,
  p75: null,
  p90: null,
  p95: null,
  p99: null,
  p999: null,
  max: null,
};
const ofMeasures = (value: unknown) =>
  Object.fromEntries(STRESS_MEASURES.map((name) => [name, value]));
const COUNTS = { spoken: 0, refused: 0, failed: 0, stopped: 0 };

const REPORT = {
  id: "1",
  startedAt: "2026-01-31T12:00:00Z",
  plan: {
    target: "ws",
    shape: { kind: "knee", from: 1, to: 2, stepSeconds: 1 },
    texts: { name: "short", items: ["Done."] },
    voices: [],
    limits: {},
  },
  server: null,
  generator: { kind: "browser", processes: 1, cores: 2, agent: "" },
  end: { kind: "failed", reason: "The server never answered." },
  seconds: 0,
  totals: COUNTS,
  timesRealTime: 0,
  requestsPerSecond: 0,
  continuity: null,
  continuityStrict: null,
  percentiles: ofMeasures(NONE),
  histograms: ofMeasures({ data: "", scale: 1000 }),
  steps: [{ wanted: 1, counts: COUNTS, percentiles: ofMeasures(NONE), timesRealTime: 0 }],
  ticks: [],
  caveats: [],
};

const flaw = (change: object) => flawOf({ ...REPORT, ...change } as unknown as StressReport);

it("a report of nothing is one", () => {
  expect(flaw({})).toBeUndefined();
});

it.each([
  [{ startedAt: "yesterday" }, "startedAt"],
  [{ plan: { ...REPORT.plan, shape: { kind: "spiral" } } }, "plan.shape.kind"],
  [{ end: { kind: "failed" } }, "end.reason"],
  [{ percentiles: { ttfpMs: NONE } }, "percentiles.ttfpCorrectedMs"],
  [{ steps: [REPORT.steps[0], { wanted: "1" }] }, "steps[1].wanted"],
  [{ ticks: null }, "ticks"],
  [{ caveats: [{}] }, "caveats[0]"],
])("%j is not: the flaw is at %s", (change, path) => {
  expect(flaw(change)).toBe(path);
});
