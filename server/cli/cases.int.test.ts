/** `npm run cases` as a user meets it: what it prints, its exit status, mistakes, and Ctrl+C. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Command, temporaryFolder } from "./test-command.ts";

const folder = temporaryFolder();
const file = join(folder, "cases.json");

const speech = (input: string) => ({
  http: { method: "POST", path: "/v1/audio/speech", json: { input, response_format: "wav" } },
  save: "r",
});
const made = (id: string, area: string, input: string, expected: object) => ({
  ...{ id, name: `made-${id}`, area, kind: "", severity: "low" },
  given: { steps: [speech(input)] },
  expect: { say: "", ...expected },
});

writeFileSync(
  file,
  JSON.stringify({
    about: { base_clip: { recipe: "true" } },
    cases: [
      made("C1", "good", "Hello there.", {
        http: { r: { status: 200 } },
        audio: { not_silent: true },
      }),
      made("C2", "bad", "Hello there.", { http: { r: { status: 400 } } }),
      made("C3", "long", "The ferry leaves at nine. ".repeat(600), {}),
    ],
  }),
);

const cases = (...args: string[]) => new Command("cases.ts", args);

it("prints every case and the totals, writes them as JSON, and fails if one did", async () => {
  const report = join(folder, "report.json");
  const { status, stdout, stderr } = await cases(file, "--area", "good,bad", "--json", report)
    .result;
  expect(stderr).toBe("");
  expect(status).toBe(1);
  const lines = stdout.toString().trim().split("\n");
  expect(lines[0]).toMatch(/^pass {2}C1 made-C1/);
  expect(lines[1]).toMatch(/^FAIL {2}C2 made-C2/);
  expect(lines[2]).toContain("status 200, and is 200, wanted 400");
  expect(lines.at(-1)).toMatch(/^1 passed, 1 failed, 0 not run/);
  const { totals, cases: results } = JSON.parse(readFileSync(report, "utf8"));
  expect(totals).toEqual({ passed: 1, failed: 1, notRun: 0 });
  expect(results.map(({ id }: { id: string }) => id)).toEqual(["C1", "C2"]);
});

it("ends with its server when Ctrl+C comes in the middle", async () => {
  const command = cases(file, "--id", "C1,C3");
  await command.until(() => command.stdout.includes("C1"));
  command.interrupt();
  const { status, stdout } = await command.result;
  expect(status).toBe(130);
  expect(stdout.toString()).toMatch(/\n1 passed, 0 failed, 0 not run/);
});

it.each<[string[], number, RegExp]>([
  [[], 2, /^npm run cases -- FILE/],
  [[file, "--url", "localhost:1"], 2, /^--url must begin with http/],
  [[file, "--patience", "x"], 2, /^--patience must be a number/],
  [[file, "--loud"], 2, /^Unknown option '--loud'/],
  [[file, "--id", "C9"], 1, /^The file has no id C9; it has C1, C2, C3\.\n$/],
  [
    [file, "--url", "http://127.0.0.1:65534"],
    1,
    /^No server can be used at http:\/\/127\.0\.0\.1:65534: .*ECONNREFUSED/,
  ],
  [[join(folder, "none.json")], 1, /none\.json/],
])("explains mistakes: %j", async (args, status, sentence) => {
  const result = await cases(...args).result;
  expect(result.status).toBe(status);
  expect(result.stderr).toMatch(sentence);
  expect(result.stderr).not.toMatch(/\n {4}at /);
});
