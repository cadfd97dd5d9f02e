/** Sampling defaults of a deploy file: a 0 stays a 0, what is left out stays open, and what cannot be is refused. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadConfig } from "./load.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sonant-sampling-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function samplingOf(written: object) {
  const file = join(folder, "deploy.yaml");
  const stages = [{ stage_id: 0, default_sampling_params: written }];
  await writeFile(file, JSON.stringify({ served_model_names: ["m"], stages }));
  return (await loadConfig({ file, environment: {}, root: folder })).config.sampling;
}

it("keeps zeros apart from what is left out", async () => {
  expect(await samplingOf({ text_top_k: 0, audio_top_k: 0, seed: 0 })).toEqual({
    textTopK: 0,
    audioTopK: 0,
    seed: 0,
  });
  expect(await samplingOf({ top_k: 0 })).toEqual({ textTopK: 0 });
  expect(await samplingOf({ seed: null })).toEqual({});
});

it("prefers the longer name where both are written", async () => {
  expect(await samplingOf({ top_k: 5, text_top_k: 0 })).toEqual({ textTopK: 0 });
});

it.each(["audio_top_k", "text_top_k"])("refuses %s below 0", async (key) => {
  await expect(samplingOf({ [key]: -1 })).rejects.toThrow(
    new RegExp(`stages\\.0\\.default_sampling_params\\.${key}: .*>=0`),
  );
});
