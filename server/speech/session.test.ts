/** The session's promises, over an engine of tones: order, equality, look-ahead, chunks, input, failures. */
import { afterEach, describe, expect, it } from "vitest";
import { toIntegers } from "../audio/pcm.ts";
import {
  CONFIG,
  type House,
  hashOf,
  MODEL,
  only,
  openHouse,
  pcmOf,
  REQUEST,
  readUntil,
  settle,
  shapeOf,
  speak,
} from "./test-house.ts";
import type { SessionRequest } from "./types.ts";

const TEXT = "The first sentence is here. The second one follows it. And then a third ends.";

let house: House;
afterEach(() => house.service.close());

describe("speaking", () => {
  it("tells units, audio and ends in order", async () => {
    house = await openHouse();
    const events = await speak(house, [TEXT]);
    expect(shapeOf(events)).toEqual([
      ...[0, 1, 2].flatMap((unit) => [`unit ${unit}`, `audio ${unit}`, `unit-end ${unit}`]),
      "utterance-end",
    ]);
    expect(only(events, "unit").map(({ text }) => text)).toEqual([
      "The first sentence is here.",
      "The second one follows it.",
      "And then a third ends.",
    ]);
    for (const { text, textStart, textEnd } of only(events, "unit")) {
      expect(TEXT.slice(textStart, textEnd)).toBe(text);
    }
    let at = 0;
    for (const { pcm, startMs } of only(events, "audio")) {
      expect(startMs).toBeCloseTo(at, 6);
      at += pcm.length / 8;
    }
    const end = only(events, "utterance-end")[0];
    expect(end).toMatchObject({ units: 3, seed: 5n, truncated: false });
    expect(end?.usage).toEqual({ textTokens: 15, referenceFrames: 0, frames: 18 });
    expect(end?.durationMs).toBeCloseTo(at, 6);
    expect(only(events, "unit-end").reduce((sum, unit) => sum + unit.durationMs, 0)).toBeCloseTo(
      at,
      6,
    );
  });

  it("puts the pauses in front of later units and mixes channels to one", async () => {
    house = await openHouse();
    const stereo = await speak(house, [TEXT], { channels: 2 });
    const mono = await speak(house, [TEXT]);
    const left = pcmOf(stereo).filter((_, i) => i % 2 === 0);
    const right = pcmOf(stereo).filter((_, i) => i % 2 === 1);
    expect(pcmOf(mono)).toEqual(
      left.map((sample, i) => Math.fround((sample + (right[i] ?? 0)) / 2)),
    );
    const second = only(mono, "audio").find(({ unit }) => unit === 1);
    const silence = second?.pcm.findIndex((sample, i) => sample !== 0 && i > 0) ?? 0;
    expect(Math.floor(silence / 8)).toBe(240); // ms after a sentence of five words
    expect(
      only(mono, "audio")[0]
        ?.pcm.slice(1, 5)
        .every((sample) => sample !== 0),
    ).toBe(true);
  });

  const VARIANTS: Partial<SessionRequest>[] = [
    {},
    { speed: 1.3 },
    { sampleRate: 24000, channels: 2 },
    { speed: 0.7, sampleRate: 16000 },
  ];
  it.each(VARIANTS)(
    "gives the same samples however text comes and chunks go: %o",
    async (variant) => {
      house = await openHouse();
      const whole = hashOf(pcmOf(await speak(house, [TEXT], variant)));
      const others: [Iterable<string>, Partial<SessionRequest>][] = [
        [TEXT, {}], // letter by letter
        [TEXT.match(/.{1,7}/g) ?? [], { chunkPolicy: "ramp" }],
        [[TEXT], { chunkPolicy: "adaptive", firstChunkFrames: 3 }],
        [[TEXT], { chunkPolicy: "fixed", firstChunkFrames: 0, transport: "http" }],
      ];
      for (const [pieces, request] of others) {
        const events = await speak(house, pieces, { ...variant, ...request });
        expect(hashOf(pcmOf(events)), JSON.stringify(request)).toBe(whole);
      }
    },
  );

  it("gathers frames into chunks as the policy says", async () => {
    house = await openHouse();
    house.native.fate = () => ({ frames: 11 });
    const sizes = async (request: Partial<SessionRequest>) =>
      only(await speak(house, ["One is here."], request), "audio").map(
        ({ pcm }) => pcm.length / 640,
      );
    expect(await sizes({})).toEqual([1, 4, 4, 2]);
    expect(await sizes({ chunkPolicy: "ramp" })).toEqual([1, 2, 4, 4]);
    expect(await sizes({ firstChunkFrames: 2 })).toEqual([2, 4, 4, 1]);
    expect(await sizes({ firstChunkFrames: 0 })).toEqual([4, 4, 3]);
  });

  it.each([1, 2] as const)(
    "carries the engine's integers where they are wanted and nothing changes its samples: %i channels",
    async (channels) => {
      house = await openHouse();
      const floats = only(await speak(house, [TEXT], { channels }), "audio");
      const integers = only(await speak(house, [TEXT], { channels, wantsIntegers: true }), "audio");
      expect(floats.every(({ pcm }) => pcm instanceof Float32Array)).toBe(true);
      // Pauses between units included.
      expect(integers.map(({ pcm }) => pcm)).toEqual(floats.map(({ pcm }) => toIntegers(pcm)));
      expect(new Set(house.native.generations.map(({ options }) => options.pcm16)).size).toBe(2);
    },
  );

  it.each<[string, Partial<SessionRequest>, 1 | 2]>([
    ["another speed", { speed: 1.2 }, 2],
    ["another rate", { sampleRate: 24000 }, 2],
    ["a second channel", { channels: 2 }, 1],
  ])("carries no integers with %s", async (_, request, channels) => {
    house = await openHouse({ model: { ...MODEL, audio: { ...MODEL.audio, channels } } });
    const events = await speak(house, [TEXT], { ...request, wantsIntegers: true });
    const chunks = only(events, "audio");
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.every(({ pcm }) => pcm instanceof Float32Array)).toBe(true);
    expect(house.native.generations.map(({ options }) => options.pcm16)).toEqual(
      new Array(3).fill(false),
    );
  });

  it("gives every unit the utterance's seed and a number of its own", async () => {
    house = await openHouse();
    await speak(house, [TEXT], { seed: -1n });
    expect(house.native.generations.map(({ options }) => options.sampling)).toEqual(
      [0, 1, 2].map((segment) => ({
        audioTemperature: 0.4,
        repetitionPenalty: 1.1,
        seed: 2n ** 64n - 1n,
        segment,
      })),
    );
    const drawn = await speak(house, ["Hello there."], { seed: undefined });
    const again = await speak(house, ["Hello there."], { seed: undefined });
    const seeds = [drawn, again].map((events) => only(events, "utterance-end")[0]?.seed);
    expect(seeds[0]).not.toBe(seeds[1]);
    expect(house.native.generations.slice(3).map(({ options }) => options.sampling?.seed)).toEqual(
      seeds,
    );
  });

  it("has the next unit ready while one is being read, and no more than that", async () => {
    house = await openHouse();
    house.native.fate = () => ({ frames: 40 });
    const session = house.service.open(REQUEST);
    session.push(TEXT);
    session.end();
    const events = session.events[Symbol.asyncIterator]();
    await readUntil(events, "audio");
    await settle(100);
    expect(house.native.texts).toEqual([
      "The first sentence is here.",
      "The second one follows it.",
    ]);
    expect(house.native.generations[1]).toMatchObject({ made: 40, consumed: 0 });
    expect(house.native.mostLive).toBe(1);
    await session.close();
  });
});

describe("input", () => {
  it("speaks what is there on a flush and keeps the utterance open", async () => {
    house = await openHouse();
    const session = house.service.open(REQUEST);
    const events = session.events[Symbol.asyncIterator]();
    session.push("No stop yet");
    session.flush();
    expect(shapeOf(await readUntil(events, "unit-end"))).toEqual([
      "unit 0",
      "audio 0",
      "unit-end 0",
    ]);
    expect(session.isBusy).toBe(false);
    session.push("and the rest");
    session.end();
    const rest = await readUntil(events, "utterance-end");
    expect(only(rest, "unit")[0]).toMatchObject({ unit: 1, utterance: 0, text: "and the rest" });
    expect(only(rest, "utterance-end")[0]?.units).toBe(2);
  });

  it("begins another utterance after an end, and ends one without text at once", async () => {
    house = await openHouse();
    const session = house.service.open(REQUEST);
    const events = session.events[Symbol.asyncIterator]();
    session.end();
    session.push("Second turn.");
    session.end();
    const first = await readUntil(events, "utterance-end");
    expect(first).toMatchObject([{ kind: "utterance-end", utterance: 0, units: 0, durationMs: 0 }]);
    const second = await readUntil(events, "utterance-end");
    expect(second.at(-1)).toMatchObject({ utterance: 1, units: 1 });
    expect(session.isBusy).toBe(false);
  });

  it("refuses more text than may wait and takes nothing of it", async () => {
    house = await openHouse();
    const session = house.service.open(REQUEST);
    const overflow = expect.objectContaining({ code: "input_overflow" });
    expect(() => session.push("x".repeat(1001))).toThrow(overflow);
    session.end();
    const events = session.events[Symbol.asyncIterator]();
    expect((await readUntil(events, "utterance-end")).at(-1)).toMatchObject({ units: 0 });
    session.push("\u{1f600}".repeat(1000)); // code points count
    expect(() => session.push("x")).toThrow(overflow);
    session.cancel("all");
    session.push("There is room again.");
  });

  it("refuses a pile of flushes and empty utterances", async () => {
    house = await openHouse();
    const session = house.service.open(REQUEST);
    const pile = () => {
      for (let i = 0; i < 50; i++) session.end();
    };
    expect(pile).toThrow(expect.objectContaining({ code: "input_overflow" }));
  });

  it("never lets the clock decide where sentences end, except where it is asked to", async () => {
    house = await openHouse();
    const start = "One is here. Two words. Three";
    const open = async (granularity: "sentence" | "auto") => {
      const session = house.service.open({ ...REQUEST, granularity });
      house.native.generations.splice(0);
      session.push(start);
      const events = session.events[Symbol.asyncIterator]();
      await readUntil(events, "unit-end");
      await settle();
      const texts = house.native.texts;
      await session.close();
      return texts;
    };
    expect(await open("sentence")).toEqual(["One is here.", "Two words."]);
    expect(await open("auto")).toEqual(["One is here.", "Two words."]); // released: nothing else is to be heard
    expect(
      (await speak(house, [start], { granularity: "auto" })).filter(({ kind }) => kind === "unit")
        .length,
    ).toBe(2);
  });

  it("changes voice and sampling from the next utterance on, or from the next unit", async () => {
    house = await openHouse();
    const session = house.service.open(REQUEST);
    const events = session.events[Symbol.asyncIterator]();
    session.push("One is here. Two is");
    await readUntil(events, "unit-end");
    session.update({ maxFrames: 3 }, "next");
    session.update({ seed: 9n }, "now");
    session.push(" there.");
    session.end();
    session.push("Three.");
    session.end();
    await readUntil(events, "utterance-end");
    await readUntil(events, "utterance-end");
    const asked = house.native.generations.map(({ options }) => [
      options.sampling?.seed,
      options.maxFrames,
    ]);
    expect(asked).toEqual([
      [5n, 100],
      [9n, 100],
      [9n, 3],
    ]);
    expect(() => session.update({ speed: 9 }, "now")).toThrow(/speed of 9/);
  });
});

describe("failures", () => {
  const generation_failed = expect.objectContaining({ code: "generation_failed", message: "boom" });

  it("stay with their unit", async () => {
    house = await openHouse();
    house.native.fate = (i) => (i === 1 ? { failAt: 2 } : {});
    const events = await speak(house, [TEXT]);
    const ends = only(events, "unit-end");
    expect(ends.map(({ error }) => error)).toEqual([undefined, generation_failed, undefined]);
    expect(shapeOf(events).slice(3, 6)).toEqual(["unit 1", "audio 1", "unit-end 1"]);
    expect(only(events, "utterance-end")[0]).toMatchObject({ units: 3 });
  });

  it("are announced even without audio", async () => {
    house = await openHouse();
    house.native.fate = (i) => (i === 0 ? { failAt: 0 } : { frames: 0 });
    const events = await speak(house, ["One is. It is unspeakable. Two is."]);
    expect(shapeOf(events)).toEqual([
      ...["unit 0", "unit-end 0"],
      "queued", // while it is found out whether the engine still lives
      ...[1, 2].flatMap((unit) => [`unit ${unit}`, `unit-end ${unit}`]),
      "utterance-end",
    ]);
    const codes = only(events, "unit-end").map(({ error }) => (error as { code?: string })?.code);
    expect(codes).toEqual(["generation_failed", "invalid_value", "no_audio"]);
  });

  it("include being cut, which is told", async () => {
    house = await openHouse();
    const events = await speak(house, [TEXT], { maxFrames: 3 });
    expect(only(events, "unit-end").every(({ truncated }) => truncated)).toBe(true);
    expect(only(events, "utterance-end")[0]?.truncated).toBe(true);
  });

  it("in the settings are refused when a session is opened", async () => {
    house = await openHouse({ config: CONFIG });
    expect(() => house.service.open({ ...REQUEST, sampleRate: 12345 })).toThrow(
      expect.objectContaining({ code: "invalid_value" }),
    );
  });
});
