/**
 * The official layout at its full size, with random weights: a pytorch_model.bin and a shard, about 280 MB, go through a pull,
 * and a word is spoken with them.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readWav } from "../audio/wav.ts";
import { TestHub } from "../models/hub/test-hub.ts";
import { putRelease } from "../models/hub/test-release.ts";
import { torchFile } from "../models/hub/test-torch-file.ts";
import { ROOT, runTool } from "./native-tool.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const parent = temporaryFolder();
const hub = await TestHub.start();
afterAll(() => hub.close());

it("is pulled, checked tensor by tensor, and spoken with", async () => {
  const shapes = join(ROOT, "native/shapes/moss-tts-nano");
  const weights = join(parent, "weights");
  // Talkative: other random weights may end before their first frame.
  const random = ["random", shapes, weights, "--talkative"];
  const made = await runTool("sonant_model", random, { capture: true });
  expect(made.status).toBe(0);
  const read = (part: string) => readFileSync(join(weights, part, "model.safetensors"));
  const lm = torchFile(read("lm"));
  putRelease(hub, { lm, lmName: "pytorch_model.bin", codec: read("codec"), configs: shapes });
  rmSync(weights, { recursive: true });

  Object.assign(process.env, { HF_ENDPOINT: hub.url, NO_PROXY: "127.0.0.1" });
  const folder = join(parent, "moss-tts-nano");
  const pull = await new Command("model.ts", ["pull", "moss-tts-nano", "--to", folder, "--yes"])
    .result;
  expect(pull.stderr).not.toMatch(/given up|wrong/);
  expect(pull.status).toBe(0);

  const info = await runTool("sonant_model", ["info", folder], { capture: true });
  expect(info.output).toContain("language model, 12 layers of 768, 1 local, 12 heads");
  expect(info.output).toContain("codec, 48000 Hz, 2 channels, 3840 samples a frame");

  const file = join(parent, "word.wav");
  const words = ["Hello.", "--model", folder, "--voice", "Ava", "--seed", "1", "-o", file];
  const say = await new Command("say.ts", words).result;
  expect(say.stderr).toBe("");
  expect(say.status).toBe(0);
  expect(readWav(readFileSync(file)).channels).toBe(2);
});
