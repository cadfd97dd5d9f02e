/** `npm run eval -- greedy` asks for each frame after the very rows that the engine would have appended itself. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadModel } from "../models/registry.ts";
import { normalise } from "../text/normalise.ts";
import { heldOutSentences } from "./eval-speak.ts";
import { ROOT } from "./native-tool.ts";
import { STARTER } from "./speaker.ts";
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

async function writePrompts(sentences: number, ...more: string[]) {
  const file = join(folder, `prompts-${sentences}.json`);
  const args = ["greedy", "--prompts", file, "--sentences", `${sentences}`, ...more];
  const { status, stdout, stderr } = await new Command("eval.ts", args).result;
  expect(status, stderr).toBe(0);
  expect(stdout.toString()).toBe("");
  return readFile(file, "utf8");
}

it("writes the rows that an engine would get, and loads none", async () => {
  const { rowWidth, prompts } = JSON.parse(await writePrompts(2, "--device", "cuda"));
  const model = await loadModel(STARTER);
  const sentences = (await heldOutSentences(join(STARTER, "heldout.json"))).slice(0, 2);
  const voices = [...model.presets.keys()];
  const plans = sentences.map(({ text }, i) =>
    model.planSegment({ text: normalise(text, { language: "en" }).spoken, voice: voices[i] ?? "" }),
  );
  expect(voices[0]).not.toBe(voices[1]);
  expect(rowWidth).toBe(plans[0]?.rowWidth);
  expect(prompts).toEqual(plans.map((plan) => [...plan.prefixRows, ...plan.textRows]));
});

it("writes the prompts that are kept for the measurements on a GPU", async () => {
  const kept = join(ROOT, "native/test/fixtures/starter-prompts.json");
  expect(await writePrompts(4), `make ${kept} again: npm run eval -- greedy --prompts FILE`).toBe(
    await readFile(kept, "utf8"),
  );
});
