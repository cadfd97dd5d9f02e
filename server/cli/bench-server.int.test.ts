/** The load test as a user runs it, against a server that it starts and ends itself. */
import { expect, it } from "vitest";
import type { Report } from "./bench-server-report.ts";
import { Command } from "./test-command.ts";

it("measures both doors, under both kinds of load, and ends its server", async () => {
  const args = ["server", "--seconds", "1", "--concurrency", "2", "--rate", "3", "--warmup", "1"];
  const { status, stdout, stderr } = await new Command("bench.ts", [
    ...args,
    ...["--text", "Ready.", "--json", "-"],
  ]).result;
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const report = JSON.parse(String(stdout)) as Report;
  expect(report.steps.map(({ door, load }) => [door, load.kind])).toEqual([
    ["http", "closed"],
    ["http", "poisson"],
    ["ws", "closed"],
    ["ws", "poisson"],
  ]);
  for (const { figures, server } of report.steps) {
    expect(figures.spoken).toBeGreaterThan(0);
    expect(figures.codes).toEqual({});
    expect(figures.ttfpMs.p50).toBeGreaterThan(0);
    expect(figures.audioPerSecond).toBeGreaterThan(0);
    expect(server?.residentMb).toBeGreaterThan(0);
  }
  expect(report.command).toContain("--text Ready. --json -");
  expect(stderr).toContain("ws, 2 at once");
});

it("says what is wrong with an address where nobody is, and with an option", async () => {
  const nobody = await new Command("bench.ts", ["server", "--url", "http://127.0.0.1:9"]).result;
  expect(nobody).toMatchObject({ status: 1 });
  expect(nobody.stderr).toContain("cannot be reached");
  const wrong = await new Command("bench.ts", ["server", "--concurrency", "many"]).result;
  expect(wrong).toMatchObject({ status: 2 });
  expect(wrong.stderr).toContain("--concurrency must be a whole number");
});
