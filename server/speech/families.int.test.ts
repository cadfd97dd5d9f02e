/** Sessions over a small model of every family: lengths, rates and channels follow the model and what was asked for. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FamilyModel } from "../engine/test-family-model.ts";
import { FAMILIES } from "../models/test-families.ts";
import { SonantSpeechService } from "./service.ts";
import { CONFIG, only, pcmOf, REQUEST, speak } from "./test-house.ts";
import type { SessionRequest } from "./types.ts";

const TEXT = "The door is open.";

describe.each(FAMILIES)("a session with %s", (family) => {
  let house: FamilyModel;
  let service: SonantSpeechService;

  beforeAll(async () => {
    house = await FamilyModel.load(family);
    const { model, engine } = house;
    service = new SonantSpeechService({ model, config: CONFIG, loadEngine: async () => engine });
    await service.start();
  });
  afterAll(async () => {
    await service?.close();
    await house?.close();
  });

  async function spoken(request: Partial<SessionRequest>) {
    const voice = house.model.voice(undefined);
    const events = await speak({ service }, [TEXT], { ...REQUEST, voice, ...request });
    const [unit] = only(events, "unit-end");
    if (unit === undefined) throw new Error("Nothing was spoken");
    return { ...unit, pcm: pcmOf(events) };
  }

  it.each([1, 2] as const)(
    "is as long as its frames in %i channels at any rate",
    async (channels) => {
      const { audio } = house.model;
      const native = await spoken({ sampleRate: audio.sampleRate, channels });
      expect(native.frames).toBe(house.model.planSegment({ text: TEXT }).maxFrames);
      expect(native.pcm.length).toBe(native.frames * audio.samplesPerFrame * channels);
      expect(native.durationMs).toBeCloseTo((native.frames / audio.framesPerSecond) * 1000);
      const other = await spoken({ sampleRate: 22_050, channels });
      expect(other.frames).toBe(native.frames);
      const seconds = native.frames / audio.framesPerSecond;
      expect(Math.abs(other.pcm.length / channels - seconds * 22_050)).toBeLessThanOrEqual(1);
    },
  );

  it("gives the same samples again, and others for another seed", async () => {
    const { sampleRate } = house.model.audio;
    const speakWith = async (seed: bigint) => (await spoken({ sampleRate, seed })).pcm;
    const first = await speakWith(0n);
    expect(await speakWith(0n)).toEqual(first);
    expect(await speakWith(1n)).not.toEqual(first);
  });
});
