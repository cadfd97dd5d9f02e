/** However a process or a thread leaves with work in flight, it leaves cleanly (cases B114 and B115). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine } from "./engine.ts";
import { ADDON_PATH } from "./native.ts";
import { talk, talkativeModel, textRows } from "./test-model.ts";
import type { EngineInfo } from "./types.ts";

const CHILD = new URL("children/leave.mjs", import.meta.url);
const model = talkativeModel();
let info: EngineInfo;

beforeAll(async () => {
  const engine = await Engine.load(model.options);
  info = engine.info;
  await engine.close();
});
afterAll(() => model.remove());

type Leave = "exit" | "exit-while-loading" | "end" | "throw" | "close-and-exit" | "wait";

const plan = (leave: Leave, waitMs: number) => ({
  addon: ADDON_PATH,
  load: model.options,
  rows: { prefix: [...textRows(info, 30)], text: [...textRows(info, 5)] },
  leave,
  waitMs,
});

/** How the process ended: its exit code or signal, and whatever it printed. */
async function run(leave: Leave, waitMs = 0) {
  const child = spawn(process.execPath, [CHILD.pathname, JSON.stringify(plan(leave, waitMs))]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
    });
  }
  const [code, signal] = await once(child, "close");
  return { code, signal, output };
}

const CLEAN = { code: 7, signal: null, output: "" };

describe("a process", () => {
  it("exits in mid-stream with the code it asked for", async () => {
    for (let i = 0; i < 12; i++) expect(await run("exit", (i * 50) / 11)).toEqual(CLEAN);
  });

  it("exits while a model is being loaded", async () => {
    for (const waitMs of [0, 5]) expect(await run("exit-while-loading", waitMs)).toEqual(CLEAN);
  });

  it("exits while an engine is being closed", async () => {
    for (const waitMs of [0, 3]) expect(await run("close-and-exit", waitMs)).toEqual(CLEAN);
  });

  it("ends by itself when the last request is done", async () => {
    expect(await run("end")).toEqual(CLEAN);
  });

  it("hears of an error in a listener as of any other", async () => {
    expect(await run("throw")).toEqual(CLEAN);
  });
});

describe("a worker thread", () => {
  it("speaks beside others and may be terminated at any moment", async () => {
    const workers = [0, 1, 2].map(() => new Worker(CHILD, { workerData: plan("wait", 0) }));
    await Promise.all(workers.map((worker) => once(worker, "message")));
    const engine = await Engine.load(model.options);
    let frames = 0;
    for await (const chunk of engine.generate(talk(info, 30))) {
      if (frames === 0) await Promise.all(workers.map((worker) => worker.terminate()));
      frames += chunk.frames;
    }
    expect(frames).toBe(30);
    await engine.close();
  });

  it("may exit or be terminated while loading and speaking", async () => {
    for (const waitMs of [0, 4, 20]) {
      const worker = new Worker(CHILD, { workerData: plan("exit", waitMs) });
      expect(await once(worker, "exit")).toEqual([7]);
      const other = new Worker(CHILD, { workerData: plan("wait", 0) });
      await once(other, "online");
      await sleep(waitMs);
      await other.terminate();
    }
  });
});

describe("the collector", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const collectUntil = async (isDone: () => boolean) => {
    // Whatever isDone() looks at is held until its turn of the event loop is over.
    for (let i = 0; i < 500 && !isDone(); i++) {
      await sleep(2);
      collect();
    }
    expect(isDone()).toBe(true);
  };

  it("cancels streams that were dropped unread or half read", async () => {
    const engine = await Engine.load({ ...model.options, limits: { maxSequences: 16 } });
    const drop = async (flavour: number) => {
      const stream = engine.generate({ ...talk(info, 1500, flavour), bufferFrames: 4 });
      if (flavour % 2 === 1) await stream.next();
    };
    for (let i = 0; i < 200; i++) {
      await drop(i);
      // A dropped stream keeps its place among the sixteen until it has been collected.
      if (i % 10 === 9) await collectUntil(() => engine.stats().live < 5);
    }
    await collectUntil(() => engine.stats().live + engine.stats().waiting === 0);
    expect(engine.stats().cancelled).toBe(200);
    expect(engine.stats().sequenceBytes).toBe(0);
    await engine.close();
  });

  it("leaves alone a stream whose reader is the only one that knows it", async () => {
    const engine = await Engine.load(model.options);
    const read = async () => {
      let frames = 0;
      for await (const chunk of engine.generate({ ...talk(info, 200), bufferFrames: 2 })) {
        frames += chunk.frames;
        if (frames % 20 === 0) collect();
      }
      return frames;
    };
    expect(await Promise.all([read(), read(), read()])).toEqual([200, 200, 200]);
    await engine.close();
  });

  it("takes an engine that was dropped, with work in flight or without", async () => {
    const load = async (speaks: boolean) => {
      const engine = await Engine.load(model.options);
      if (speaks) await engine.generate(talk(info, 1500)).next();
      return new WeakRef(engine);
    };
    const dropped = [await load(false), await load(true)];
    await collectUntil(() => dropped.every((engine) => engine.deref() === undefined));
  });
});
