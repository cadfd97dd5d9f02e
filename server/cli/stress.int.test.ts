/** The load test as a user runs it, against a server that it starts and ends itself. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseReport } from "../stress/output.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const folder = temporaryFolder();

it("measures a server that it starts, writes its reports, and compares them", async () => {
  const file = (name: string) => join(folder, name);
  const { status, stdout, stderr } = await new Command("stress.ts", [
    ...["--concurrency", "1,2", "--step-seconds", "1", "--warmup", "1", "--target", "ws"],
    ...["--text", "Ready.", "--processes", "2", "--json"],
    ...["--report", file("a.json"), "--report", file("a.md"), "--report", file("a.csv")],
  ]).result;
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stderr).toContain("ws, step 2, 2 at once");
  const report = parseReport(String(stdout));
  expect(parseReport(readFileSync(file("a.json"), "utf8"))).toEqual(report);
  expect(report.server).toMatchObject({ device: "cpu" });
  expect(report.server?.configSha256).toMatch(/^[0-9a-f]{64}$/);
  expect(report.steps.map(({ wanted }) => wanted)).toEqual([1, 2]);
  for (const { counts, percentiles, server, timesRealTime } of report.steps) {
    expect(counts.spoken).toBeGreaterThan(0);
    expect(counts.codes).toEqual({});
    expect(percentiles.ttfpMs.p50).toBeGreaterThan(0);
    expect(timesRealTime).toBeGreaterThan(0);
    expect(server?.residentMb).toBeGreaterThan(0);
  }
  // The same request among the load gives the same samples.
  expect(report.probe?.runs).toBeGreaterThan(0);
  expect(report.probe?.equal).toBe(report.probe?.runs);
  expect(report.probe?.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(file("a.md"), "utf8")).toContain("--target ws --shape levels");
  expect(readFileSync(file("a.csv"), "utf8").trimEnd().split("\r\n")).toHaveLength(3);
  const compared = await new Command("stress.ts", ["compare", file("a.json"), file("a.json")])
    .result;
  expect(compared).toMatchObject({ status: 0 });
  expect(String(compared.stdout)).toContain("| TTFP p95, ms");
});

it("keeps what was measured when it is interrupted", async () => {
  const file = join(folder, "stopped.json");
  const command = new Command("stress.ts", [
    ...["--target", "sse", "--rate", "20", "--seconds", "300", "--text", "Ready."],
    ...["--no-probe", "--report", file],
  ]);
  let stderr = "";
  command.onError((text) => {
    stderr += text;
  });
  await command.until(() => stderr.includes("20 a second"));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  command.interrupt();
  const { status } = await command.result;
  expect(status).toBe(130);
  const { end, totals } = parseReport(readFileSync(file, "utf8"));
  expect(end.kind).toBe("stopped");
  expect(totals.spoken).toBeGreaterThan(0);
});

it("ends with 1 where a limit was crossed", async () => {
  const { status, stdout } = await new Command("stress.ts", [
    ...["bisect", "--from", "1", "--to", "2", "--step-seconds", "0.5", "--text", "Ready."],
    ...["--limit-ttfp-p95", "1", "--no-probe", "--json"],
  ]).result;
  expect(status).toBe(1);
  expect(parseReport(String(stdout)).knee).toMatchObject({ concurrency: null, above: 1 });
});

it("says what is wrong with an address where nobody is, and with options", async () => {
  const say = async (...args: string[]) => {
    const { status, stderr } = await new Command("stress.ts", args).result;
    return { status, stderr };
  };
  const nobody = await say("--url", "http://127.0.0.1:9", "--seconds", "1");
  expect(nobody).toMatchObject({ status: 1 });
  expect(nobody.stderr).toContain("cannot be reached");
  for (const [args, text] of [
    [["--concurrency", "many"], "--concurrency must be a whole number"],
    [["--shape", "wave"], "--shape must be fixed, steps, levels, ramp, poisson, knee"],
    [["--shape", "knee"], "needs one limit at least"],
    [["--real-time-readers"], "Only readers of the target 'ws'"],
    [["--report", "figures.xlsx"], "--report must end in .json, .md, .csv"],
    [["frobnicate"], "There is no command 'frobnicate'"],
  ] as const) {
    const wrong = await say(...args);
    expect(wrong).toMatchObject({ status: 2 });
    expect(wrong.stderr).toContain(text);
  }
});
