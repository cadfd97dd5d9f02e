/** `npm run eval -- greedy` asks for each frame after the very rows that the engine would have appended itself. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Command, temporaryFolder } from "./test-command.ts";

const folder = temporaryFolder();

async function compare(precision: string) {
  const json = join(folder, `${precision}.json`);
  const { status, stdout, stderr } = await new Command("eval.ts", [
    ...["greedy", "--device", "cpu", "--precision", precision],
    ...["--sentences", "2", "--frames", "12", "--json", json],
  ]).result;
  expect(status, stderr).toBe(0);
  return { report: JSON.parse(await readFile(json, "utf8")), stdout: stdout.toString() };
}

it("finds every frame of the reference again where the engines are the same", async () => {
  const { report, stdout } = await compare("fp32");
  expect(report).toMatchObject({ frames: 24, equal: 24, stopped: 0, share: 1 });
  expect(report.sentences).toHaveLength(2);
  expect(report.command).toContain("--precision fp32");
  expect(stdout).toContain("24 of 24 frames equal, 100.00 %");
});

it("says where an engine of lower precision differs", async () => {
  const { report } = await compare("int8");
  const differing = report.firstDifferences.reduce((a: number, b: number) => a + b, 0);
  expect(report.engine.precision).toBe("int8");
  expect(report.equal + report.stopped + differing).toBe(24);
  expect(report.equal).toBeLessThan(24);
});
