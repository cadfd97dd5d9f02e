/** Order, overlap, silence and leaving, with an engine that makes numbered frames and a model that counts words. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { NO_STATS } from "../engine/delivery.ts";
import { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/errors.ts";
import type { EventListener, NativeEngine } from "../engine/native.ts";
import type { EngineInfo, EngineStats, GenerateOptions } from "../engine/types.ts";
import type { Model } from "../models/types.ts";
import { type SpokenChunk, synthesise } from "./synthesise.ts";

const CODEC = { sampleRate: 1000, channels: 2, frameSamples: 80, nCodebooks: 4, codebookSize: 64 };

/** Three frames a generation, unless told otherwise; one a turn of the event loop. */
class CountingEngine implements NativeEngine {
  readonly requests: GenerateOptions[] = [];
  readonly cancelled = new Set<number>();
  frames = 3;
  live = 0;
  mostLive = 0;
  failAt = -1;

  generate(options: GenerateOptions, onEvent: EventListener): number {
    const id = this.requests.push(options) - 1;
    if (id === this.failAt) throw new EngineError("overloaded", "No room.");
    this.live += 1;
    this.mostLive = Math.max(this.mostLive, this.live);
    void this.#speak(id, Math.min(this.frames, options.maxFrames ?? 1000), onEvent);
    return id;
  }
  async #speak(id: number, frames: number, onEvent: EventListener) {
    for (let firstFrame = 0; firstFrame < frames && !this.cancelled.has(id); firstFrame++) {
      await turn();
      onEvent({ kind: "chunk", frames: 1, firstFrame, pcm: new Float32Array(160).fill(id + 1) });
    }
    this.live -= 1;
    const reason = this.cancelled.has(id) ? "cancelled" : frames < this.frames ? "length" : "stop";
    onEvent({ kind: "done", reason, stats: NO_STATS });
  }
  cancel(id: number) {
    this.cancelled.add(id);
  }
  consumed() {}
  encode = () => -1;
  decode = () => -1;
  stats = () => ({}) as EngineStats;
  info = () => ({ codec: CODEC }) as EngineInfo;
  close = async () => {};
}

const MODEL = {
  sampling: { audioTemperature: 0.4, audioRepetitionPenalty: 1.1 },
  limits: { segmentTokens: 8, segmentWords: 8, firstSegmentTokens: 8, maxFrames: 100 },
  audio: { sampleRate: 1000, channels: 2 },
  countTokens: (text: string) => text.split(/\s+/).filter((word) => /\w/.test(word)).length,
  planSegment: ({ voice, maxFrames }: { voice?: string; maxFrames?: number }) => {
    if (voice === "nobody") throw new Error("voice must be one of: clara");
    return {
      prefixKey: voice ?? "default",
      prefixRows: new Int32Array(5),
      textRows: new Int32Array(5),
      maxFrames: maxFrames ?? 100,
    };
  },
} as unknown as Model;

const TEXT = "The first sentence is here. The second one follows it. And then a third ends.";

function start(options: Partial<Parameters<typeof synthesise>[2]> = {}) {
  const native = new CountingEngine();
  const engine = new Engine(native);
  return { native, speech: synthesise(engine, MODEL, { text: TEXT, seed: 5, ...options }) };
}

async function readAll(speech: AsyncIterable<SpokenChunk>) {
  const chunks: SpokenChunk[] = [];
  for await (const chunk of speech) chunks.push(chunk);
  return chunks;
}

describe("synthesise", () => {
  it("speaks the segments in order with their pauses as silence", async () => {
    const { native, speech } = start();
    const chunks = await readAll(speech);
    expect(chunks.map(({ segment, frames }) => [segment, frames])).toEqual([
      ...[0, 0, 0].map((segment) => [segment, 1]),
      [1, 0],
      ...[1, 1, 1].map((segment) => [segment, 1]),
      [2, 0],
      ...[2, 2, 2].map((segment) => [segment, 1]),
    ]);
    const silence = chunks[3];
    expect(silence?.pcm.length).toBe(2 * (speech.segments[1]?.segment.pauseBeforeMs ?? 0));
    expect(silence?.pcm.every((sample) => sample === 0)).toBe(true);
    expect(chunks.filter(({ frames }) => frames > 0).map(({ pcm }) => pcm[0])).toEqual([
      1, 1, 1, 2, 2, 2, 3, 3, 3,
    ]);
    expect(speech.segments.map(({ reason }) => reason)).toEqual(["stop", "stop", "stop"]);
    expect(native.requests.map(({ sampling }) => sampling)).toEqual(
      [0, 1, 2].map((segment) => ({
        audioTemperature: 0.4,
        repetitionPenalty: 1.1,
        seed: 5,
        segment,
      })),
    );
  });

  it("is ready with the next segment while the one before is still being read", async () => {
    const { native, speech } = start();
    const reader = speech[Symbol.asyncIterator]();
    await reader.next();
    for (let i = 0; i < 10; i++) await turn();
    expect(native.requests.length).toBe(2); // and no further ahead than that
    expect(native.mostLive).toBe(1);
    await reader.return();
  });

  it("speaks the same however the text arrives", async () => {
    const letters = async function* () {
      for (const letter of TEXT) yield letter;
    };
    const pcm = async (text: string | AsyncIterable<string>) =>
      (await readAll(start({ text }).speech)).map((chunk) => [chunk.segment, ...chunk.pcm]);
    expect(await pcm(letters())).toEqual(await pcm(TEXT));
  });

  it("speaks what is complete when the text falters", async () => {
    let goOn: () => void = () => {};
    const more = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const faltering = async function* () {
      yield "One is here. Two";
      await more;
      yield " is late.";
    };
    const reader = start({ text: faltering() }).speech[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ segment: 0 });
    goOn();
    const rest: number[] = [];
    for await (const chunk of reader) rest.push(chunk.segment);
    expect(rest).toEqual([0, 0, 1, 1, 1, 1]);
  });

  it("draws a seed when none is given, and tells it", async () => {
    const { native, speech } = start({ seed: undefined });
    await readAll(speech);
    expect(Number.isSafeInteger(speech.seed)).toBe(true);
    expect(native.requests[0]?.sampling?.seed).toBe(speech.seed);
    expect(start({ seed: 0 }).speech.seed).toBe(0);
  });

  it("tells when a segment was cut", async () => {
    const { speech } = start({ maxFrames: 2 });
    expect(speech.isTruncated).toBe(false);
    await readAll(speech);
    expect(speech.isTruncated).toBe(true);
  });

  it("says nothing for a text that holds nothing", async () => {
    const { native, speech } = start({ text: " … " });
    expect(await readAll(speech)).toEqual([]);
    expect(native.requests).toEqual([]);
  });
});

describe("leaving", () => {
  it("cancels everything when the loop is left", async () => {
    const { native, speech } = start();
    native.frames = 1000;
    for await (const chunk of speech) if (chunk.firstFrame === 3) break;
    await turn();
    await turn();
    expect(native.cancelled.size).toBe(native.requests.length);
    expect(native.live).toBe(0);
  });

  it("ends quietly when aborted, wherever it is", async () => {
    const abort = new AbortController();
    const { native, speech } = start({ signal: abort.signal });
    native.frames = 1000;
    let read = 0;
    for await (const _ of speech) if (++read === 4) abort.abort();
    expect(read).toBe(4);
    expect([...native.cancelled]).toEqual([0]);
    expect(await readAll(start({ signal: AbortSignal.abort() }).speech)).toEqual([]);
  });

  it("ends when aborted while it waits for text", async () => {
    const abort = new AbortController();
    const silent = async function* (): AsyncGenerator<string> {
      await new Promise(() => {});
    };
    const reading = readAll(start({ text: silent(), signal: abort.signal }).speech);
    await turn();
    abort.abort();
    expect(await reading).toEqual([]);
  });

  it("throws what goes wrong in its turn", async () => {
    await expect(readAll(start({ voice: "nobody" }).speech)).rejects.toThrow(/voice must be/);
    const broken = async function* () {
      yield "It starts well. It";
      throw new Error("connection lost");
    };
    const { native, speech } = start({ text: broken() });
    const heard: number[] = [];
    const reading = (async () => {
      for await (const chunk of speech) heard.push(chunk.segment);
    })();
    await expect(reading).rejects.toThrow("connection lost");
    expect(native.live).toBe(0);

    const refused = start();
    refused.native.failAt = 1;
    await expect(readAll(refused.speech)).rejects.toMatchObject({ code: "overloaded" });
  });
});
