/** Real recordings through the real engine and the shipped model: what is uploaded can be spoken with. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../engine/engine.ts";
import { loadModel } from "../models/registry.ts";
import type { Model } from "../models/types.ts";
import { openVoiceLibrary } from "./open-library.ts";
import { temporaryFolder } from "./test-voices.ts";

const ROOT = join(import.meta.dirname, "../..");
const STARTER = join(ROOT, "native/models/starter");
const RECORDINGS = join(ROOT, "../shared/data/reference-audio");

let engine: Engine;
let model: Model;
beforeAll(async () => {
  model = await loadModel(STARTER);
  const folders = { lmFolder: join(STARTER, "lm"), codecFolder: join(STARTER, "codec") };
  engine = await Engine.load({ ...folders, device: "cpu" });
});
afterAll(() => engine?.close());

describe.skipIf(!existsSync(RECORDINGS))("a voice out of a real recording", () => {
  it("is encoded, survives a restart and speaks", async () => {
    await using folder = await temporaryFolder();
    const options = { model, engine, store: folder.path };
    const voices = await openVoiceLibrary(options);
    for (const file of (await readdir(RECORDINGS)).slice(0, 4)) {
      const bytes = await readFile(join(RECORDINGS, file));
      const form = { name: file, consent: "test" };
      const uploaded = await voices.upload(form, { bytes, mimeType: "audio/wav" });
      expect(uploaded.duration_s).toBeGreaterThan(1);
    }
    const again = await openVoiceLibrary(options);
    const { uploaded_voices: uploaded } = await again.list();
    expect(uploaded).toHaveLength(4);
    for (const { name } of uploaded) {
      const { kind, prompt } = await again.resolve({ voice: name });
      expect(kind).toBe("uploaded");
      const { prefixKey, prefixRows, textRows } = model.planSegment({ text: "Hi.", voice: prompt });
      const stream = engine.generate({ prefixKey, prefixRows, textRows, maxFrames: 3 });
      let frames = 0;
      for await (const chunk of stream) frames += chunk.frames;
      expect(frames).toBeGreaterThan(0);
    }
  });
});
