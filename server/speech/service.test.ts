/** The house around the sessions: who waits, who is refused, what happens when the engine dies, how it closes. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { EngineError } from "../engine/errors.ts";
import type { EngineInfo } from "../engine/types.ts";
import type { Outcome, RequestInfo, SpeechMetrics } from "./metrics.ts";
import type { ServiceOptions } from "./service.ts";
import { SonantSpeechService } from "./service.ts";
import { ToneEngine, toneEngine } from "./test-engine.ts";
import {
  CONFIG,
  type House,
  hashOf,
  MODEL,
  only,
  openHouse,
  pcmOf,
  REQUEST,
  readAll,
  readUntil,
  settle,
  shapeOf,
  speak,
} from "./test-house.ts";
import type { SessionRequest } from "./types.ts";

let house: House;
afterEach(async () => {
  vi.useRealTimers();
  await house.service.close();
});

const small = (maxSequences: number, maxQueue: number) => ({
  config: { ...CONFIG, engine: { maxSequences, maxQueue } },
});

function begin(request: Partial<SessionRequest> = {}, text = "Somebody speaks here.") {
  const session = house.service.open({ ...REQUEST, ...request });
  session.push(text);
  session.end();
  return session;
}

/** A gate that all frames wait at. */
function gate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("the line", () => {
  it("serves in order and tells everybody his place", async () => {
    house = await openHouse(small(1, 8));
    const { opened, open } = gate();
    house.native.fate = () => ({ before: () => opened });
    const done: number[] = [];
    const all = [0, 1, 2].map(async (i) => {
      const events = await readUntil(
        begin({ requestId: `r${i}` }).events[Symbol.asyncIterator](),
        "utterance-end",
      );
      done.push(i);
      return events;
    });
    await settle();
    expect(house.service.load).toMatchObject({ active: 1, waiting: 2, capacity: 1 });
    expect(house.service.load.expectedWaitMs).toBeGreaterThan(0);
    open();
    const places = (await Promise.all(all)).map((events) =>
      only(events, "queued").map(({ place }) => place),
    );
    expect(places).toEqual([[], [1], [2, 1]]);
    expect(done).toEqual([0, 1, 2]);
    expect(house.native.mostLive).toBe(1);
    expect(house.service.load).toMatchObject({ active: 0, waiting: 0, expectedWaitMs: 0 });
  });

  it("lets the continuation of a heard utterance go before newcomers", async () => {
    house = await openHouse(small(1, 8));
    const gates = [gate(), gate()];
    house.native.fate = (i) => ({
      before: () => gates[Math.min(i, 1)]?.opened ?? Promise.resolve(),
    });
    const first = begin({ maxLeadMs: 20_000 }, "One is here. Two is here.");
    void readAll(first);
    await settle();
    void readAll(begin({}, "Newcomer."));
    await settle();
    for (const { open } of gates) open();
    await settle(100);
    expect(house.native.texts).toEqual(["One is here.", "Two is here.", "Newcomer."]);
  });

  it("refuses with the time to wait when it is full, and serves again when it is not", async () => {
    house = await openHouse(small(1, 1));
    const { opened, open } = gate();
    house.native.fate = () => ({ before: () => opened });
    const [first, second] = [begin(), begin()];
    void readAll(first);
    void readAll(second);
    await settle();
    const overloaded = expect.objectContaining({
      code: "overloaded",
      details: expect.objectContaining({ retryAfterSeconds: expect.any(Number) }),
    });
    expect(() => house.service.open({ ...REQUEST, transport: "http" })).toThrow(overloaded);
    const third = begin(); // a socket finds out when it speaks
    const events = third.events[Symbol.asyncIterator]();
    expect(await readUntil(events, "utterance-end")).toMatchObject([
      { kind: "utterance-end", units: 0, error: overloaded },
    ]);
    third.push("The rest is heard by nobody.");
    open();
    await settle(100);
    third.push("Once more.");
    third.end();
    expect((await readUntil(events, "utterance-end")).at(-1)).toMatchObject({ units: 1 });
  });

  it("is left by those who go", async () => {
    house = await openHouse(small(1, 8));
    house.native.fate = () => ({ before: () => new Promise(() => {}) });
    const sessions = [begin(), begin(), begin()];
    const last = sessions[2]?.events[Symbol.asyncIterator]();
    await settle();
    await sessions[1]?.close();
    expect(last && (await readUntil(last, "queued"))[0]).toMatchObject({ place: 1 });
    expect(house.service.load.waiting).toBe(1);
    await sessions[0]?.close();
    await settle();
    expect(house.native.generations.length).toBe(2);
    expect(house.service.load).toMatchObject({ active: 1, waiting: 0 });
  });

  it("lets go on what was begun, full or not", async () => {
    house = await openHouse(small(1, 0));
    expect((await speak(house, ["One is here. Two is here."])).at(-1)).toMatchObject({ units: 2 });
  });
});

describe("life", () => {
  it("is ready only after a warm-up, and refuses before", async () => {
    const native = new ToneEngine();
    const { opened, open } = gate();
    native.fate = () => ({ before: () => opened });
    const service = new SonantSpeechService({
      model: MODEL,
      config: CONFIG,
      loadEngine: async () => toneEngine(native),
    });
    house = { service, natives: [native], native };
    expect(service.state.stage).toBe("loading");
    expect(() => service.open(REQUEST)).toThrow(expect.objectContaining({ code: "warming_up" }));
    const started = service.start();
    await settle();
    expect(service.state.stage).toBe("warming");
    open();
    await started;
    expect(service.state).toEqual({ stage: "ready" });
    expect(native.texts).toEqual(["Hello there."]);
  });

  it("speaks as many side by side as the engine says, unless it was told how many", async () => {
    const following = { ...CONFIG, engine: { maxSequences: 0, maxQueue: 1 } };
    const sizes = [2, 1];
    const natives: ToneEngine[] = [];
    const loadEngine = async () => {
      const native = new ToneEngine();
      const info = { ...native.info(), limits: { maxSequences: sizes[natives.length] } };
      native.info = () => info as EngineInfo;
      natives.push(native);
      return toneEngine(native);
    };
    const service = new SonantSpeechService({ model: MODEL, config: following, loadEngine });
    expect(service.load.capacity).toBe(0);
    house = await openHouse({ config: following, loadEngine });
    const [native] = natives as [ToneEngine];
    expect(house.service.load.capacity).toBe(2);
    const { opened, open } = gate();
    native.fate = () => ({ before: () => opened });
    for (let i = 0; i < 3; i++) void readAll(begin());
    await settle();
    expect(house.service.load).toMatchObject({ active: 2, waiting: 1 });
    expect(() => house.service.open({ ...REQUEST, transport: "http" })).toThrow(
      expect.objectContaining({ code: "overloaded" }),
    );
    open();
    await settle(100);

    // What comes after a failure may be another device.
    native.fate = () => ({ failAt: 0, failure: new EngineError("closed", "The GPU is lost.") });
    await speak(house, ["One is here."]);
    await vi.waitUntil(() => house.service.state.stage === "ready");
    expect(house.service.load.capacity).toBe(1);

    await house.service.close();
    house = await openHouse();
    expect(house.service.load.capacity).toBe(CONFIG.engine.maxSequences);
  });

  it("says which device it took, and why not the GPU", async () => {
    const note = "No GPU was taken: There is no NVIDIA driver on this machine.";
    const native = new ToneEngine();
    const info = native.info();
    native.info = () => ({ ...info, device: "cpu", description: "AVX2, 2 threads", note });
    const said: [string, string][] = [];
    house = await openHouse({
      loadEngine: async () => toneEngine(native),
      log: (level, message) => said.push([level, message]),
    });
    expect(said).toEqual([
      ["warn", note],
      ["info", "The engine is ready on cpu: AVX2, 2 threads."],
    ]);
  });

  it("says why it cannot start", async () => {
    const loadEngine = async () => Promise.reject(new EngineError("model_missing", "No model."));
    const service = new SonantSpeechService({ model: MODEL, config: CONFIG, loadEngine });
    house = { service, natives: [], native: new ToneEngine() };
    await expect(service.start()).rejects.toThrow("No model.");
    expect(service.state).toEqual({ stage: "failed", reason: "No model." });
  });

  it("survives the death of the engine", async () => {
    house = await openHouse();
    const { native, natives, service } = house;
    const expected = hashOf(pcmOf(await speak(house, ["Two is here."])));
    native.fate = () => ({
      failAt: 0,
      failure: new EngineError("engine_failed", "The device is lost."),
    });
    const session = begin({}, "One is here.");
    const events = session.events[Symbol.asyncIterator]();
    expect((await readUntil(events, "utterance-end"))[1]).toMatchObject({
      error: { code: "generation_failed" },
    });
    session.push("Two is here."); // comes while the engine is being replaced
    session.end();
    const second = await readUntil(events, "utterance-end");
    expect(hashOf(pcmOf(second))).toBe(expected);
    expect(natives.length).toBe(2);
    expect(native.isClosed).toBe(true);
    expect(service.state).toEqual({ stage: "ready" });
  });

  it.each(["refused", "cpu", "cuda"])(
    "tells when a GPU that failed is %s afterwards",
    async (next) => {
      let loads = 0;
      let isLost = false;
      const loadEngine = async () => {
        loads += 1;
        if (loads === 2 && next === "refused") throw new EngineError("engine_failed", "No GPU.");
        const device = loads === 1 ? "cuda" : next === "refused" ? "cuda" : next;
        const native = new ToneEngine();
        const info = native.info();
        native.info = () => ({ ...info, device });
        const failure = new EngineError("engine_failed", "The GPU failed.");
        if (loads === 1) native.fate = (i) => (i > 0 ? { failAt: 0, failure } : {});
        return toneEngine(native);
      };
      const onDeviceLost = () => {
        isLost = true;
      };
      house = await openHouse({ loadEngine, onDeviceLost });
      await speak(house, ["One is here."]);
      await vi.waitUntil(() => house.service.state.stage === "ready" && loads > 1);
      expect(isLost).toBe(next !== "cuda");
    },
  );

  it("goes on with an engine that failed once", async () => {
    house = await openHouse();
    house.native.fate = (i) => (i === 0 ? { failAt: 1 } : {});
    await speak(house, ["One is here."]);
    await settle();
    expect(house.natives.length).toBe(1);
    expect(house.service.state.stage).toBe("ready");
    expect(shapeOf(await speak(house, ["Two."]))).toContain("audio 0");
  });

  it("tells those who were being served when the engine was closed", async () => {
    house = await openHouse();
    house.native.fate = () => ({
      before: (frame) => (frame < 2 ? Promise.resolve() : new Promise(() => {})),
    });
    const events = begin().events[Symbol.asyncIterator]();
    await readUntil(events, "audio");
    void house.native.close();
    const told = await readUntil(events, "utterance-end");
    expect(only(told, "unit-end")[0]).toMatchObject({ error: { code: "engine_dead" } });
  });

  it("keeps trying while the engine cannot be loaded again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const natives: ToneEngine[] = [];
    let refusals = 2;
    house = await openHouse({
      loadEngine: async () => {
        if (natives.length > 0 && refusals-- > 0)
          throw new EngineError("out_of_memory", "No memory.");
        natives.push(new ToneEngine());
        return toneEngine(natives.at(-1));
      },
    });
    void natives[0]?.close();
    await speak(house, ["One is here."]);
    await settle();
    expect(house.service.state).toEqual({ stage: "failed", reason: "No memory." });
    expect(() => house.service.open(REQUEST)).toThrow(
      expect.objectContaining({ code: "engine_dead" }),
    );
    await vi.advanceTimersByTimeAsync(500);
    await settle();
    await vi.advanceTimersByTimeAsync(1000);
    await settle();
    expect(house.service.state).toEqual({ stage: "ready" });
  });
});

describe("the end", () => {
  it("waits for what is being spoken, up to its limit, and lets nobody in", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    house = await openHouse();
    const { opened, open } = gate();
    house.native.fate = () => ({ before: () => opened });
    house.service.open(REQUEST); // idle: does not count
    const reading = readAll(begin());
    await settle();
    let isDrained = false;
    const drained = house.service.drain(1000).then(() => {
      isDrained = true;
    });
    expect(house.service.state.stage).toBe("draining");
    expect(() => house.service.open(REQUEST)).toThrow(
      expect.objectContaining({ code: "shutting_down" }),
    );
    await vi.advanceTimersByTimeAsync(500);
    expect(isDrained).toBe(false);
    open();
    await settle();
    await vi.advanceTimersByTimeAsync(100);
    await drained;
    await house.service.close();
    expect(only(await reading, "utterance-end")).toMatchObject([{ units: 1 }]);
  });

  it("comes at the limit even so", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    house = await openHouse();
    house.native.fate = () => ({ before: () => new Promise(() => {}) });
    const reading = readAll(begin());
    await settle();
    const drained = house.service.drain(1000);
    await vi.advanceTimersByTimeAsync(1000);
    await drained;
    await house.service.close();
    expect(await reading).toEqual([]);
    expect(house.native.live).toBe(0);
  });
});

describe("metrics", () => {
  /** Writes down what it is told. */
  function notes() {
    const requests: {
      info: RequestInfo;
      chars: number;
      frames: number;
      outcomes: Outcome[];
      cancels: number;
    }[] = [];
    const rejected: string[] = [];
    const metrics: SpeechMetrics = {
      rejected: (reason: string) => void rejected.push(reason),
      requestStarted(info: RequestInfo) {
        const request = { info, chars: 0, frames: 0, outcomes: [] as Outcome[], cancels: 0 };
        requests.push(request);
        return {
          admitted() {},
          textAdded(chars) {
            request.chars += chars;
          },
          chunk({ frames }) {
            request.frames += frames;
          },
          cancelled() {
            request.cancels += 1;
          },
          finished: ({ outcome }) => void request.outcomes.push(outcome),
        };
      },
    };
    return { requests, rejected, metrics };
  }
  const start = async (options: Partial<ServiceOptions> = {}) => {
    const { requests, rejected, metrics } = notes();
    house = await openHouse({ metrics, ...options });
    return { requests, rejected };
  };

  it("hear of every utterance once, whichever way it ends", async () => {
    const { requests } = await start();
    await speak(house, ["One is here."], { voiceKind: "none", transport: "socketio" });
    await speak(house, ["Two is here."], { maxFrames: 2 });
    house.native.fate = () => ({ failAt: 0 });
    await speak(house, ["Three is here."]);
    await settle();
    house.native.fate = () => ({ frames: 90 });
    const session = begin();
    await readUntil(session.events[Symbol.asyncIterator](), "audio");
    session.cancel("all");
    await settle();
    session.push("Left alone.");
    await session.close();
    await speak(house, []); // no text: no request
    expect(requests.map(({ outcomes }) => outcomes)).toEqual([
      ["stop"],
      ["length"],
      ["error"],
      ["cancelled"],
      ["closed"],
    ]);
    expect(requests[0]).toMatchObject({
      info: { voiceKind: "preset", transport: "socket_io", format: "pcm" },
      chars: 12,
      frames: 6,
    });
    expect(requests[3]?.cancels).toBe(1);
  });

  it("hear of refusals", async () => {
    const { rejected } = await start();
    void house.service.drain(0);
    expect(() => house.service.open(REQUEST)).toThrow();
    expect(rejected).toEqual(["shutting_down"]);
  });
});
