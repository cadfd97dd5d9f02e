/** Models that come and go, over engines that make tones: who is loaded, who waits, who makes room. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Config } from "../config/config.ts";
import type { ToneEngine } from "../speech/test-engine.ts";
import { REQUEST, readUntil } from "../speech/test-house.ts";
import type { SpeechSession } from "../speech/types.ts";
import { draft } from "../voices/test-voices.ts";
import type { HouseModels } from "./models.ts";
import { modelConfig, severalModels, type TestFolders, testFolders } from "./test-house-models.ts";
import { type ToneModels, toneModels } from "./test-tone-models.ts";

const NEVER = new AbortController().signal;
const SPEECH = { ...REQUEST, sampleRate: 48_000 };

let folders: TestFolders;
beforeAll(() => {
  folders = testFolders();
});
afterAll(() => folders.remove());

let house: ToneModels;
let models: HouseModels;
/** Lets a test hold up or fail the loading of an engine. */
let beforeLoad: (config: Config) => Promise<void>;

beforeEach(() => {
  beforeLoad = async () => {};
});
afterEach(() => house.close());

async function open(config: Config, isStarted = true): Promise<void> {
  house = await toneModels(config, {
    voices: folders.voices,
    beforeLoad: (own) => beforeLoad(own),
  });
  models = house.models;
  if (isStarted) await models.start();
}

/** A server with the starter, `b` and `c`. */
const three = (change: Partial<Config["models"]> = {}, engine: Partial<Config["engine"]> = {}) =>
  severalModels(
    (config) =>
      ["b", "c"].map((name) =>
        modelConfig(config, name, {
          openaiAliases: name === "b" ? ["tts-b"] : [],
          engine: { ...config.engine, ...engine },
        }),
      ),
    change,
  );

const stages = () => models.all.map(({ state }) => state.stage);
const names = () => house.loaded.map(({ model }) => model);

/** A speech that goes on until `finish`. */
async function speaking(name: string | undefined) {
  const hold = await models.hold(name, NEVER);
  const native = house.loaded.at(-1)?.native as ToneEngine;
  let finish = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  native.fate = () => ({ frames: 3, before: () => gate });
  const session = hold.service.open(SPEECH);
  session.push("Hello there, how are you?");
  session.end();
  hold.release();
  return { session, finish, events: session.events[Symbol.asyncIterator]() };
}

describe("a name", () => {
  it("finds its model, an alias too, dated or not, and none finds the first", async () => {
    await open(await three());
    const found = [undefined, "sonant-starter", "tts-1", "b", "tts-b", "tts-b-2025-12-15", "c"];
    expect(found.map((name) => models.named(name).id)).toEqual([
      "sonant-starter",
      "sonant-starter",
      "sonant-starter",
      "b",
      "b",
      "b",
      "c",
    ]);
    expect(() => models.named("d")).toThrow(expect.objectContaining({ code: "model_not_found" }));
    await expect(models.hold("d", NEVER)).rejects.toMatchObject({ code: "model_not_found" });
  });
});

describe("loading", () => {
  it("takes the first model at the start and another one when it is asked for, once for all who ask", async () => {
    await open(await three());
    expect(stages()).toEqual(["ready", "unloaded", "unloaded"]);
    const holds = await Promise.all([models.hold("b", NEVER), models.hold("tts-b", NEVER)]);
    expect(holds.map(({ id, config }) => [id, config.servedModelNames])).toEqual([
      ["b", ["b"]],
      ["b", ["b"]],
    ]);
    expect(names()).toEqual(["sonant-starter", "b"]);
    expect(stages()).toEqual(["ready", "ready", "unloaded"]);
  });

  it("takes all at the start where the deploy file says so", async () => {
    await open(await three({ load: "at_start", maxLoaded: 0 }));
    expect(stages()).toEqual(["ready", "ready", "ready"]);
  });

  it("refuses at the start, so that others are asked, and waits afterwards", async () => {
    let go = () => {};
    beforeLoad = () =>
      new Promise<void>((resolve) => {
        go = resolve;
      });
    await open(await three(), false);
    const started = models.start();
    await vi.waitUntil(() => models.first.state.stage === "loading");
    expect(models.state).toEqual({ stage: "loading" });
    const early = await models.hold(undefined, NEVER);
    expect(() => early.service.open(SPEECH)).toThrow(
      expect.objectContaining({ code: "warming_up" }),
    );
    early.release();
    go();
    await started;
    const late = models.hold("b", NEVER);
    await vi.waitUntil(() => models.named("b").state.stage === "loading");
    expect(models.state).toEqual({ stage: "ready" });
    go();
    expect((await late).id).toBe("b");
  });

  it("lets nobody wait for longer, or in a longer line, than requests may", async () => {
    let go = () => {};
    beforeLoad = async ({ servedModelNames: [name] }) => {
      if (name === "b") await new Promise<void>((resolve) => (go = resolve));
    };
    await open(await three({}, { maxQueue: 1, maxQueueWaitMs: 30 }));
    const abort = new AbortController();
    const left = models.hold("b", abort.signal);
    abort.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    const waiting = [models.hold("b", NEVER), models.hold("b", NEVER)];
    await expect(models.hold("b", NEVER)).rejects.toMatchObject({ code: "overloaded" });
    for (const late of waiting) {
      await expect(late).rejects.toMatchObject({
        code: "warming_up",
        details: { retryAfterSeconds: 2 },
      });
    }
    go();
    await vi.waitUntil(() => models.named("b").state.stage === "ready");
    expect((await models.hold("b", NEVER)).id).toBe("b");
  });
});

describe("making room", () => {
  it("unloads the model that was unused for longest", async () => {
    await open(await three({ maxLoaded: 2 }));
    (await models.hold("b", NEVER)).release();
    (await models.hold(undefined, NEVER)).release();
    (await models.hold("c", NEVER)).release();
    expect(stages()).toEqual(["ready", "unloaded", "ready"]);
    expect(house.loaded.map(({ native }) => native.isClosed)).toEqual([false, true, false]);
  });

  it("prefers one that nobody uses to one that has been silent for longer but is being used", async () => {
    await open(await three({ maxLoaded: 2 }));
    const { session } = await speaking(undefined);
    (await models.hold("b", NEVER)).release();
    (await models.hold("c", NEVER)).release();
    expect(stages()).toEqual(["ready", "unloaded", "ready"]);
    await session.close();
  });

  it("never takes one that speaks before it has spoken to its end", async () => {
    await open(await three({ maxLoaded: 1 }));
    const { finish, events } = await speaking(undefined);
    const second = models.hold("b", NEVER);
    await vi.waitUntil(() => models.first.state.stage === "draining");
    expect(names()).toEqual(["sonant-starter"]);
    expect(models.state.stage).toBe("ready");
    finish();
    const spoken = await readUntil(events, "utterance-end");
    expect(spoken.filter(({ kind }) => kind === "audio").length).toBeGreaterThan(0);
    expect(spoken.at(-1)).not.toHaveProperty("error");
    expect((await second).id).toBe("b");
    expect(stages()).toEqual(["unloaded", "ready", "unloaded"]);
  });

  it("waits for those who hold it and have not begun, and serves who asks for it meanwhile afterwards", async () => {
    await open(await three({ maxLoaded: 1 }));
    const hold = await models.hold(undefined, NEVER);
    const second = models.hold("b", NEVER);
    await vi.waitUntil(() => models.first.state.stage === "draining");
    const session: SpeechSession = hold.service.open(SPEECH);
    const again = models.hold(undefined, NEVER);
    await session.close();
    hold.release();
    (await second).release();
    expect((await again).id).toBe("sonant-starter");
    expect(names()).toEqual(["sonant-starter", "b", "sonant-starter"]);
    expect(stages()).toEqual(["ready", "unloaded", "unloaded"]);
  });

  it("serves two that are asked for at once one after the other", async () => {
    await open(await three({ maxLoaded: 1 }));
    const asked = ["b", "c", undefined, "b"].map(async (name) => {
      const hold = await models.hold(name, NEVER);
      expect(models.all.filter(({ isThere }) => isThere)).toHaveLength(1);
      hold.release();
      return hold.id;
    });
    expect(await Promise.all(asked)).toEqual(["b", "c", "sonant-starter", "b"]);
  });
});

describe("unloading by hand", () => {
  it("ends sessions that are silent, frees the engine, and takes nothing away for good", async () => {
    await open(await three());
    const hold = await models.hold("b", NEVER);
    const session = hold.service.open(SPEECH);
    hold.release();
    await models.unload("tts-b", NEVER);
    expect(models.named("b").state).toEqual({ stage: "unloaded" });
    expect(house.loaded[1]?.native.isClosed).toBe(true);
    const events: unknown[] = [];
    for await (const event of session.events) events.push(event);
    expect(events).toEqual([]);
    expect((await models.hold("b", NEVER)).id).toBe("b");
  });

  it("of one that speaks for long keeps nobody from another model for which there is room", async () => {
    await open(await three({ maxLoaded: 3 }));
    const { finish, events } = await speaking("b");
    const unloaded = models.unload("b", NEVER);
    await vi.waitUntil(() => models.named("b").state.stage === "draining");
    expect((await models.hold("c", NEVER)).id).toBe("c");
    expect(stages()).toEqual(["ready", "draining", "ready"]);
    finish();
    await readUntil(events, "utterance-end");
    await unloaded;
    expect(stages()).toEqual(["ready", "unloaded", "ready"]);
  });

  it("gives way to the end of the server", async () => {
    await open(await three());
    const { session } = await speaking("b");
    const unloaded = models.unload("b", NEVER);
    await vi.waitUntil(() => models.named("b").state.stage === "draining");
    await models.drain(1);
    await models.close();
    await unloaded;
    expect(session.hasUtterance).toBe(false);
    await expect(models.hold("c", NEVER)).rejects.toMatchObject({ code: "shutting_down" });
  });
});

describe("a model that cannot be loaded", () => {
  const withBroken = () =>
    severalModels((config) => [
      modelConfig(config, "b", { model: folders.broken }),
      modelConfig(config, "c", {}),
    ]);

  it("for its folder says why, and harms no other", async () => {
    await open(await withBroken());
    const { state, model } = models.named("b");
    expect(state).toMatchObject({
      stage: "failed",
      reason: expect.stringContaining("config.json"),
    });
    expect(model).toBeUndefined();
    // The log names the folder, which clients are not told.
    expect(house.log.join()).toContain(`The model b could not be loaded: ${folders.broken} `);
    expect(state.reason).not.toContain(folders.broken);
    expect(() => models.named("b").voices).toThrow(
      expect.objectContaining({ code: "model_failed" }),
    );
    await expect(models.hold("b", NEVER)).rejects.toMatchObject({
      code: "model_failed",
      details: { retryAfterSeconds: 10 },
    });
    expect((await models.hold("c", NEVER)).id).toBe("c");
    expect(stages()).toEqual(["ready", "failed", "ready"]);
  });

  it("for a family that nobody knows names those that are known", async () => {
    await open(await severalModels((config) => [modelConfig(config, "b", { pipeline: "other" })]));
    expect(models.named("b").state).toEqual({
      stage: "failed",
      reason: expect.stringMatching(/^pipeline must be one of: auto, moss_tts_nano/),
    });
  });

  it("for its engine is not tried again for each request, but when somebody says so", async () => {
    let isBroken = true;
    let tries = 0;
    beforeLoad = async ({ servedModelNames: [name] }) => {
      if (name !== "b") return;
      tries += 1;
      if (isBroken) throw new Error("No memory.");
    };
    await open(await three());
    const failed = { code: "model_failed", message: expect.stringContaining("No memory.") };
    await expect(models.hold("b", NEVER)).rejects.toMatchObject(failed);
    await expect(models.hold("b", NEVER)).rejects.toMatchObject(failed);
    expect(tries).toBe(1);
    expect(models.named("b").state).toEqual({ stage: "failed", reason: "No memory." });
    isBroken = false;
    await models.loadNow("b", NEVER);
    expect(models.named("b").state).toEqual({ stage: "ready" });
  });

  it("ends a server that has no other", async () => {
    beforeLoad = async () => {
      throw new Error("No memory.");
    };
    await expect(open(await severalModels(() => []))).rejects.toThrow("No memory.");
  });

  it("and is the first leaves the server to the others", async () => {
    beforeLoad = async ({ servedModelNames: [name] }) => {
      if (name === "sonant-starter") throw new Error("No memory.");
    };
    await open(await three());
    expect(models.state).toEqual({ stage: "ready" });
    expect((await models.hold("b", NEVER)).id).toBe("b");
  });
});

it("a model that is not loaded has no figures of an engine, and its load is nothing", async () => {
  await open(await three({ maxLoaded: 1 }));
  expect(models.first.reading).toMatchObject({ live: 0 });
  (await models.hold("b", NEVER)).release();
  expect(models.first.reading).toBeUndefined();
  expect(models.first.load).toEqual({ active: 0, waiting: 0, capacity: 0, expectedWaitMs: 0 });
  expect(models.named("b").reading).toMatchObject({ live: 0 });
  expect(models.named("b").load.capacity).toBeGreaterThan(0);
  expect(models.load.capacity).toBe(models.named("b").load.capacity);
});

it("tells of changed voices whichever model they came through", async () => {
  await open(await three());
  await house.store.put(draft("Ada"));
  let told = 0;
  const end = models.onVoices(() => {
    told += 1;
  });
  await models.named("b").voices.update("Ada", { language: "en" });
  expect(told).toBe(1);
  expect((await models.first.voices.get("Ada")).language).toBe("en");
  await models.first.voices.delete("Ada");
  expect(told).toBe(2);
  end();
});
