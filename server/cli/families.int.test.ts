/** A server for a small model of every family, as an operator runs it: what it says of itself and what it sends. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../cases/server-process.ts";
import { randomFolder } from "../engine/test-family-model.ts";
import { loadModel } from "../models/registry.ts";
import { FAMILIES } from "../models/test-families.ts";
import type { Model } from "../models/types.ts";

const TEXT = "The door is open.";

describe.each(FAMILIES)("a server for %s", (family) => {
  let model: Model;
  let server: ServerProcess;

  beforeAll(async () => {
    const folder = randomFolder(family);
    model = await loadModel(folder);
    server = await ServerProcess.start({ settings: { model: folder } });
  });
  afterAll(async () => {
    await server?.close();
    if (model !== undefined) rmSync(model.folder, { recursive: true });
  });

  const post = (more: object = {}) =>
    fetch(`${server.url}/v1/audio/speech`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: TEXT, response_format: "pcm", seed: 0, ...more }),
    });

  it("sends as much sound as the model's frames are, at its rate, in the channels asked for", async () => {
    const { audio } = model;
    const frames = model.planSegment({ text: TEXT }).maxFrames;
    for (const channels of [1, 2]) {
      const answer = await post({ channels });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-sample-rate")).toBe(String(audio.sampleRate));
      expect(answer.headers.get("x-vllm-omni-output-tokens")).toBe(String(frames));
      const { byteLength } = await answer.arrayBuffer();
      expect(byteLength).toBe(frames * audio.samplesPerFrame * channels * 2);
    }
  });

  it("lists the voices that the model has, and speaks with OpenAI's names", async () => {
    const list = await fetch(`${server.url}/v1/audio/voices`);
    const { presets } = (await list.json()) as { presets: { name: string }[] };
    expect(presets.map(({ name }) => name)).toEqual([...model.presets.keys()]);
    const [alloy, byDefault] = [await post({ voice: "alloy" }), await post()];
    expect(alloy.status).toBe(200);
    expect(await alloy.arrayBuffer()).toEqual(await byDefault.arrayBuffer());
  });
});
