/** Reports as text, side by side, and back. */
import { beforeAll, describe, expect, it } from "vitest";
import { compareReports } from "./compare.ts";
import { Conductor } from "./conductor.ts";
import { LoadGenerator } from "./generator.ts";
import { parseReport, reportCsv, reportJson, reportMarkdown, ticksCsv } from "./output.ts";
import { csvOf } from "./table.ts";
import { TestClock } from "./test-clock.ts";
import { planWith, TestServer, versionFetch } from "./test-door.ts";
import type { StressReport } from "./types.ts";

async function reportOf(ttfpMs: number, concurrency: number): Promise<StressReport> {
  const clock = new TestClock();
  const plan = planWith({
    shape: { kind: "levels", levels: [1, concurrency], stepSeconds: 2 },
    probe: true,
    limits: { ttfpP95Ms: 50 },
  });
  const access = { baseUrl: "http://server", fetch: versionFetch };
  const { open: openDoor } = new TestServer(clock, () => ({ ttfpMs }));
  const options = { plan, access, clock };
  const source = new LoadGenerator({ ...options, index: 0, processes: 1, openDoor });
  const generator = { kind: "server", processes: 1, cores: 2, agent: "Chip" } as const;
  return clock.run(new Conductor({ ...options, generator }, source).report);
}

let quick: StressReport;
let slow: StressReport;
beforeAll(async () => {
  quick = await reportOf(10, 4);
  slow = await reportOf(30, 4);
});

it("a report says in Markdown where it was measured, what came of it, and how to do it again", () => {
  const text = reportMarkdown(quick, "http://server");
  expect(text).toContain("m on cpu, Sonant 1.2.3; target http, texts 'own'");
  expect(text).toContain("| 4 at once |");
  expect(text).toContain("Knee: 4 at once.");
  expect(text).toMatch(/Probe \(seed 1\): (\d+) of \1 repetitions/);
  expect(text).toContain("on the server's own machine");
  expect(text).toContain(
    "`npm run stress -- --url http://server --target http --shape levels --concurrency 1,4 --step-seconds 2",
  );
  const tables = text.split("\n\n").filter((part) => part.startsWith("|"));
  expect(tables).toHaveLength(2);
  for (const table of tables) {
    expect(new Set(table.split("\n").map(({ length }) => length)).size).toBe(1);
  }
});

it("a report has a line of CSV for each step, and one for each tick", () => {
  const [titles = "", ...steps] = reportCsv(quick).trimEnd().split("\r\n");
  expect(steps).toHaveLength(2);
  const cell = (line: string | undefined, title: string) =>
    line?.split(",")[titles.split(",").indexOf(title)];
  expect(cell(steps[1], "wanted")).toBe("4");
  expect(cell(steps[1], "spoken")).toBe(String(quick.steps[1]?.counts.spoken));
  expect(cell(steps[0], "ttfpMs_p95")).toBe(String(quick.steps[0]?.percentiles.ttfpMs.p95));
  expect(ticksCsv(quick).trimEnd().split("\r\n")).toHaveLength(1 + quick.ticks.length);
  expect(csvOf(["a"], [['say "no", then'], [null], [0]])).toBe(
    'a\r\n"say ""no"", then"\r\n\r\n0\r\n',
  );
});

it("a report comes back from JSON as it was, and nothing else passes for one", () => {
  expect(parseReport(reportJson(quick))).toEqual(quick);
  expect(() => parseReport("{")).toThrow("it is not JSON");
  expect(() => parseReport("null")).toThrow("it has no 'id'");
  const { histograms: _, ...rest } = quick;
  expect(() => parseReport(JSON.stringify(rest))).toThrow("it has no 'histograms'");
  expect(() => parseReport(JSON.stringify({ ...quick, version: 9 }))).toThrow("version 9");
});

describe("two reports", () => {
  const row = (name: string, a: StressReport, b: StressReport) =>
    compareReports(a, b).rows.find((one) => one.name === name);

  it("are compared figure by figure, and it is said which is better", () => {
    const ttfp = row("TTFP p95", quick, slow);
    expect(ttfp).toMatchObject({ unit: "ms", better: "a" });
    expect(ttfp?.difference).toBeCloseTo(20, 1);
    expect(ttfp?.relative).toBeCloseTo(2, 1);
    expect(row("Sound made", slow, quick)).toMatchObject({ better: "b" });
    expect(row("Continuous at 100 ms", quick, slow)).toMatchObject({ difference: 0, better: null });
    expect(row("Spoken", quick, slow)?.better).toBeNull();
  });

  it("of different plans say what differs", () => {
    expect(compareReports(quick, slow).differences).toEqual([]);
    const other: StressReport = {
      ...slow,
      plan: { ...slow.plan, target: "ws", texts: { name: "own", items: ["x"] } },
      server: null,
    };
    const { differences } = compareReports(quick, other);
    expect(differences).toContain("Target: http and ws.");
    expect(differences).toContain("Server: 1.2.3 and null.");
    expect(differences.at(-1)).toContain("are not the same");
  });
});
