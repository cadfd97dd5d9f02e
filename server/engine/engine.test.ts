/** Engine and EngineStream over an engine made of arrays: reading, acknowledging, leaving, failing. */
import { describe, expect, it } from "vitest";
import { NO_STATS } from "./delivery.ts";
import { Engine } from "./engine.ts";
import { EngineError } from "./errors.ts";
import { type EventListener, loadAddon, type NativeEngine } from "./native.ts";
import type {
  AudioChunk,
  EngineInfo,
  EngineStats,
  FinishReason,
  GenerateOptions,
} from "./types.ts";

const INFO: EngineInfo = {
  device: "none",
  description: "",
  note: null,
  precision: "fp32",
  threads: 0,
  weightBytes: 0,
  limits: {
    maxSequences: 1,
    maxParked: 0,
    maxWaiting: 0,
    prefillSliceRows: 1,
    voiceCacheBytes: 0,
    encodeSliceFrames: 1,
  },
  lm: null,
  codec: { sampleRate: 1000, channels: 2, frameSamples: 80, nCodebooks: 4, codebookSize: 64 },
};

/** Requests wait until the test speaks for the engine. */
class ScriptedEngine implements NativeEngine {
  readonly listeners: EventListener[] = [];
  readonly cancelled: number[] = [];
  taken = 0;
  #frames = 0;
  refusal: Error | undefined;

  #start(onEvent: EventListener): number {
    if (this.refusal) throw this.refusal;
    return this.listeners.push(onEvent) - 1;
  }
  generate(_options: GenerateOptions, onEvent: EventListener) {
    return this.#start(onEvent);
  }
  encode(_pcm: Float32Array, _channels: number, _rate: number, onEvent: EventListener) {
    return this.#start(onEvent);
  }
  decode(_codes: Int32Array, _books: number, onEvent: EventListener) {
    return this.#start(onEvent);
  }
  cancel(id: number) {
    this.cancelled.push(id);
  }
  consumed(_id: number, frames: number) {
    this.taken += frames;
  }
  stats(): EngineStats {
    throw Object.assign(new Error("The engine has been closed."), { code: "closed" });
  }
  info() {
    return INFO;
  }
  async close() {
    this.done("cancelled");
  }

  chunk(frames = 1) {
    const pcm = new Float32Array(frames * 160).fill(this.#frames);
    this.listeners[0]?.({ kind: "chunk", frames, firstFrame: this.#frames, pcm });
    this.#frames += frames;
  }
  done(reason: FinishReason, error?: { errorCode: string; errorMessage: string }) {
    this.listeners[0]?.({ kind: "done", reason, stats: NO_STATS, ...error });
  }
}

const REQUEST: GenerateOptions = { textRows: new Int32Array(5) };
const END = { done: true, value: undefined };

function start(signal?: AbortSignal) {
  const native = new ScriptedEngine();
  const engine = new Engine(native);
  return { native, engine, stream: engine.generate(REQUEST, { signal }) };
}

describe("reading", () => {
  it("gives chunks in order, then ends and says how", async () => {
    const { native, stream } = start();
    native.chunk(1);
    native.chunk(2);
    native.done("length");
    const chunks: AudioChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ firstFrame, frames }) => [firstFrame, frames])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(chunks[1]).toMatchObject({ sampleRate: 1000, channels: 2 });
    expect(await stream.finished).toEqual({ reason: "length", stats: NO_STATS });
    expect(await stream.next()).toEqual(END);
    expect(native.cancelled).toEqual([]);
  });

  it("acknowledges frames when they are taken, not when they arrive", async () => {
    const { native, stream } = start();
    native.chunk(3);
    native.chunk(4);
    expect(native.taken).toBe(0);
    await stream.next();
    expect(native.taken).toBe(3);
    await stream.next();
    expect(native.taken).toBe(7);
    const waiting = stream.next();
    native.chunk(2);
    expect((await waiting).value?.frames).toBe(2);
    expect(native.taken).toBe(9);
  });

  it("serves readers in the order in which they asked", async () => {
    const { native, stream } = start();
    const reads = [stream.next(), stream.next(), stream.next()];
    native.chunk();
    native.chunk();
    native.done("stop");
    const frames = (await Promise.all(reads)).map(({ value }) => value?.firstFrame);
    expect(frames).toEqual([0, 1, undefined]);
  });

  it("throws what the engine reports, once, after the audio before it", async () => {
    const { native, stream } = start();
    native.chunk();
    native.done("error", { errorCode: "out_of_memory", errorMessage: "No room." });
    expect((await stream.next()).value?.frames).toBe(1);
    const failure = await stream.next().catch((error) => error);
    expect(failure).toBeInstanceOf(EngineError);
    expect(failure).toMatchObject({ code: "out_of_memory", message: "No room." });
    expect(await stream.next()).toEqual(END);
    expect((await stream.finished).reason).toBe("error");
  });
});

describe("leaving", () => {
  it("cancels when the loop is left", async () => {
    const { native, stream } = start();
    native.chunk();
    native.chunk();
    for await (const chunk of stream) {
      expect(chunk.firstFrame).toBe(0);
      break;
    }
    expect(native.cancelled).toEqual([0]);
    native.chunk();
    native.done("cancelled");
    expect(await stream.next()).toEqual(END);
    expect((await stream.finished).reason).toBe("cancelled");
  });

  it("ends at once when aborted, whatever the engine still sends", async () => {
    const abort = new AbortController();
    const { native, stream } = start(abort.signal);
    native.chunk();
    await stream.next();
    const waiting = stream.next();
    abort.abort();
    expect(await waiting).toEqual(END);
    native.chunk();
    expect(await stream.next()).toEqual(END);
    native.done("cancelled");
    expect((await stream.finished).reason).toBe("cancelled");
    abort.abort();
    expect(native.cancelled).toEqual([0]);
  });

  it("does not start what is aborted before", async () => {
    const { native, stream } = start(AbortSignal.abort());
    expect(native.listeners).toEqual([]);
    expect(await stream.next()).toEqual(END);
    expect((await stream.finished).reason).toBe("cancelled");
    stream.cancel();
    expect(native.cancelled).toEqual([]);
  });

  it("takes an abort after the end as nothing", async () => {
    const abort = new AbortController();
    const { native, stream } = start(abort.signal);
    native.done("stop");
    await stream.finished;
    abort.abort();
    stream.cancel();
    await stream.return();
    expect(native.cancelled).toEqual([]);
    expect((await stream.finished).reason).toBe("stop");
  });

  it("tells a reader when the engine is closed under it", async () => {
    const { native, engine, stream } = start();
    native.chunk();
    await stream.next();
    const waiting = stream.next();
    await engine.close();
    await expect(waiting).rejects.toMatchObject({ code: "closed" });
  });
});

describe("calls", () => {
  it("gives refusals their code", () => {
    const native = new ScriptedEngine();
    native.refusal = Object.assign(new Error("3 requests are waiting"), { code: "overloaded" });
    const engine = new Engine(native);
    expect(() => engine.generate(REQUEST)).toThrow(
      expect.objectContaining({ name: "EngineError", code: "overloaded" }),
    );
    expect(() => engine.stats()).toThrow(expect.objectContaining({ code: "closed" }));
    native.refusal = new TypeError("something else");
    expect(() => engine.generate(REQUEST)).toThrow(
      expect.objectContaining({ code: "engine_failed", message: "something else" }),
    );
  });

  it("encodes and decodes", async () => {
    const native = new ScriptedEngine();
    const engine = new Engine(native);
    const encoding = engine.encode(new Float32Array(160), 1, 1000);
    native.listeners[0]?.({ kind: "encoded", codes: Int32Array.of(1, 2, 3, 4) });
    native.done("stop");
    expect(await encoding).toEqual(Int32Array.of(1, 2, 3, 4));
    const decoding = engine.decode(Int32Array.of(1, 2, 3, 4), 4);
    native.listeners[1]?.({ kind: "decoded", frames: 1, pcm: new Float32Array(160) });
    expect(await decoding).toMatchObject({ frames: 1, sampleRate: 1000, channels: 2 });
  });

  it("rejects with the reason of an abort and cancels", async () => {
    const native = new ScriptedEngine();
    const engine = new Engine(native);
    const abort = new AbortController();
    const encoding = engine.encode(new Float32Array(160), 1, 1000, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(encoding).rejects.toThrow("enough");
    expect(native.cancelled).toEqual([0]);
    await expect(
      engine.decode(new Int32Array(4), 4, { signal: AbortSignal.abort(new Error("early")) }),
    ).rejects.toThrow("early");
    expect(native.listeners.length).toBe(1);
  });

  it("rejects when the engine fails or closes", async () => {
    const native = new ScriptedEngine();
    const engine = new Engine(native);
    const decoding = engine.decode(new Int32Array(4), 4);
    native.done("error", { errorCode: "never heard of", errorMessage: "Broken." });
    await expect(decoding).rejects.toMatchObject({ code: "engine_failed", message: "Broken." });
    const other = new ScriptedEngine();
    const closing = new Engine(other).decode(new Int32Array(4), 4);
    other.done("cancelled");
    await expect(closing).rejects.toMatchObject({ code: "closed" });
  });

  it("says how to build an addon that is missing", () => {
    expect(() => loadAddon("/nowhere/sonant.node")).toThrow(/npm run build/);
    expect(() => loadAddon(import.meta.filename)).toThrow(
      expect.objectContaining({ code: "addon_missing" }),
    );
  });
});
