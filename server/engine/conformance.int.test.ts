/**
 * What every model family has to keep in the engine: rows that it takes, sound in deltas, lengths, one owner of state,
 * the same codes alone and in company, cancels. Runs small random checkpoints of all families in the registry.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { booksOf, FAMILIES, promptsOf, TEXTS } from "../models/test-families.ts";
import type { SegmentRequest } from "../models/types.ts";
import { FamilyModel, readSpoken } from "./test-family-model.ts";
import type { CodecInfo, GenerateOptions, LmInfo } from "./types.ts";

const FRAMES = 12;

describe.each(FAMILIES)("%s in the engine", (family) => {
  let house: FamilyModel;
  let lm: LmInfo;
  let codec: CodecInfo;

  beforeAll(async () => {
    house = await FamilyModel.load(family, { maxSequences: 16, maxWaiting: 64 });
    const { info } = house.engine;
    if (info.lm === null || info.codec === null) throw new Error("A part of the model is missing");
    lm = info.lm;
    codec = info.codec;
  });
  afterAll(() => house?.close());

  const requests = (): SegmentRequest[] =>
    promptsOf(house.model).flatMap((voice) =>
      TEXTS.map((text) => ({ text, voice, maxFrames: FRAMES })),
    );
  const request = (): GenerateOptions =>
    house.options({ text: TEXTS[1] as string, maxFrames: FRAMES }, 1);
  const expectIdle = () => expect(house.engine.stats()).toMatchObject({ live: 0, waiting: 0 });

  it("has the format and the rows that the adapter says", () => {
    const { audio } = house.model;
    expect(booksOf(house.model)).toBe(lm.nVq);
    expect(audio).toMatchObject({ sampleRate: codec.sampleRate, channels: codec.channels });
    expect(audio.samplesPerFrame).toBe(codec.frameSamples);
    for (const { prefixRows = [], textRows } of requests().map((each) => house.options(each))) {
      for (const [i, value] of [...prefixRows, ...textRows].entries()) {
        const k = i % (1 + lm.nVq);
        const most = k === 0 ? lm.vocabSize : (lm.codebookSizes[k - 1] ?? 0);
        if (k === 0 || value !== lm.audioPadId) expect(value).toBeLessThan(most);
      }
    }
  });

  it("makes as many samples as the frames that were asked for", async () => {
    for (const each of requests()) {
      const stream = house.engine.generate(house.options(each));
      const { pcm, codes } = await readSpoken(stream);
      expect(codes.length).toBe(FRAMES * lm.nVq);
      expect(pcm.length).toBe(FRAMES * codec.frameSamples * codec.channels);
      expect(pcm.every(Number.isFinite)).toBe(true);
      expect((await stream.finished).reason).toBe("length");
    }
    const capped = house.options({ text: "Hi." });
    expect((await house.speak(capped)).codes.length).toBe((capped.maxFrames ?? 0) * lm.nVq);
    expectIdle();
  });

  it("sends deltas, which are the whole to the bit however they are cut", async () => {
    const whole = await house.speak(request());
    expect(whole.chunks).toEqual(Array(FRAMES).fill(1));
    const { pcm } = await house.engine.decode(Int32Array.from(whole.codes), lm.nVq);
    expect(pcm).toEqual(whole.pcm);
    const chunks = { firstFrames: 2, growth: 2, maxFrames: 5 };
    const cut = await house.speak({ ...request(), chunks });
    expect(cut.chunks).toEqual([2, 4, 5, 1]);
    expect(cut.pcm).toEqual(whole.pcm);
    expect(cut.codes).toEqual(whole.codes);
  });

  it("gives the same alone and in a crowd", async () => {
    const all = requests().map((each, seed) => house.options(each, seed));
    const alone = [];
    for (const options of all) alone.push(await house.speak(options));
    expect(await Promise.all(all.map((options) => house.speak(options)))).toEqual(alone);
    expectIdle();
  });

  it("gives the same with a kept prefix and without", async () => {
    const { prefixKey: _, prefixRows = new Int32Array(), textRows, ...rest } = request();
    const stream = house.engine.generate(request());
    const kept = await readSpoken(stream);
    expect((await stream.finished).stats.cachedRows).toBe(prefixRows.length / (1 + lm.nVq));
    const rows = Int32Array.from([...prefixRows, ...textRows]);
    expect(await house.speak({ ...rest, textRows: rows })).toEqual(kept);
  });

  it("keeps its word about seeds, 0 included", async () => {
    const codes = async (seed: number) => {
      const options = request();
      return (await house.speak({ ...options, sampling: { ...options.sampling, seed } })).codes;
    };
    expect(await codes(0)).toEqual(await codes(0));
    expect(await codes(0)).not.toEqual(await codes(1));
  });

  it("ends a cancelled generation at once and disturbs nobody", async () => {
    const neighbour = await house.speak(request());
    // Its reader takes nothing more, so it cannot reach its end before the cancel.
    const long = { ...house.options({ text: "Hi." }, 3), maxFrames: 1000, bufferFrames: 20 };
    const [beside, stream] = [house.speak(request()), house.engine.generate(long)];
    await stream.next();
    stream.cancel();
    const { reason, stats } = await stream.finished;
    expect(reason).toBe("cancelled");
    expect(stats.lateFrames).toBeLessThanOrEqual(2);
    expect(await beside).toEqual(neighbour);
    expectIdle();
  });

  it("leaves nothing behind when its reader goes or its rows are refused", async () => {
    for await (const { frames } of house.engine.generate(request())) {
      expect(frames).toBe(1);
      break;
    }
    const { textRows } = request();
    const strange = textRows.with(0, lm.vocabSize);
    const refused = () => house.engine.generate({ ...request(), textRows: strange });
    expect(refused).toThrow(expect.objectContaining({ code: "bad_request" }));
    const torn = textRows.subarray(1);
    expect(() => house.engine.generate({ ...request(), textRows: torn })).toThrow(
      expect.objectContaining({ code: "bad_request" }),
    );
    await house.speak(request());
    expectIdle();
  });

  it("speaks like a recording where it says that it clones", async () => {
    const frames = 3;
    const { samplesPerFrame, channels, sampleRate } = house.model.audio;
    const clip = Float32Array.from({ length: frames * samplesPerFrame * channels }, (_, i) =>
      Math.sin(i / 7),
    );
    const data = Uint16Array.from(await house.engine.encode(clip, channels, sampleRate));
    expect(data.length).toBe(frames * lm.nVq);
    const voice = { kind: "clone", codes: { frames, books: lm.nVq, data } } as const;
    const speak = () => house.speak(house.options({ text: "Hi.", voice, maxFrames: FRAMES }));
    if (house.model.capabilities.cloning) expect((await speak()).chunks.length).toBe(FRAMES);
    else expect(speak).toThrow(/voice must be /);
  });
});
