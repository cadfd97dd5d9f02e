/** The socket cases of the shared file, driven from it: over the shipped model, or over tones where the engine has to fail. */
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Player, type Stage } from "../cases/speech-api-socket.ts";
import { CASES, type WireCase } from "../protocol/test-cases.ts";
import { type Fate, passingFailure, type ToneEngine } from "../speech/test-engine.ts";
import {
  type Changes,
  type Doors,
  openDoors,
  openStarterHouse,
  openToneHouse,
  type TestHouse,
} from "./test-doors.ts";

/** Cases that are not played, each with its reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {};

const sockets = CASES.filter(({ method }) => method === "WS");
const played = sockets.filter(({ name }) => !Object.hasOwn(LEFT_OUT, name));
/** Cases that need longer audio than the shipped model makes of their text. */
const LONG: ReadonlySet<string> = new Set(["ws_stream_pcm"]);
const faulty = played.filter(({ name, options }) => options?.fault !== undefined || LONG.has(name));
const plain = played.filter((wireCase) => !faulty.includes(wireCase));

/** Settings of a case as keys of the configuration. */
function changesOf({ options }: WireCase): Changes {
  const { limits, ws = {} } = (options ?? {}) as {
    limits?: Record<string, number>;
    ws?: Record<string, number>;
  };
  const sockets = Object.entries(ws).map(([key, seconds]) => {
    const name = key.replace(/_s$/, "_ms").replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    return [name, seconds * 1000];
  });
  return { sockets: Object.fromEntries(sockets), limits: limits ?? {} };
}

/** Voices that speak for those of the file's test doubles. */
const VOICES = { vivian: "clara", junhao: "nora" };

/** The doors as a case sees them. */
function stageOf(house: TestHouse, doors: Doors): Stage {
  const { sampleRate, framesPerSecond } = house.service.model.audio;
  let held: Socket | undefined;
  return {
    url: `ws://127.0.0.1:${doors.port}`,
    sampleRate,
    chunkMs: (house.config.chunks.steadyFrames / framesPerSecond) * 1000,
    voices: VOICES,
    aborts: house.aborts,
    isIdle: () => {
      const { live, waiting } = house.service.host.engine.stats();
      return live + waiting === 0;
    },
    async metric(name) {
      const lines = (await house.metrics.text()).split("\n");
      const ours = lines.filter((line) => line.startsWith(`${name}{`));
      return ours.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    },
    async hold(isHeld) {
      if (isHeld) {
        held = doors.connections.at(-1);
        return held?.cork();
      }
      if (held !== undefined) await untilFull(held);
      held?.uncork();
    },
  };
}

/** How long nothing more is written to a socket that has no room, in milliseconds. */
const FULL_MS = 3000;

/** Waits until the server has given up writing: machines that are busy take longer than a case allows. */
async function untilFull(socket: Socket): Promise<void> {
  let since = performance.now();
  for (let length = -1; performance.now() - since < FULL_MS; ) {
    if (socket.writableLength !== length) since = performance.now();
    length = socket.writableLength;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function playIn(house: TestHouse, wireCase: WireCase): Promise<void> {
  const doors = await openDoors(house, changesOf(wireCase));
  try {
    await new Player(stageOf(house, doors), wireCase.path).play(wireCase);
  } finally {
    await doors.close();
  }
}

/** Makes generations go as the fault of a case says. */
function setFault(native: ToneEngine, { options = {} }: WireCase): void {
  const { fault = "", fault_text: text = "" } = options as { fault?: string; fault_text?: string };
  const failure = passingFailure(text);
  const fates: Record<string, (index: number) => Fate> = {
    "": () => ({ frames: 30 }),
    before_first_chunk: () => ({ failAt: 0, failure }),
    before_first_chunk_once: (index) => (index === 0 ? { failAt: 0, failure } : {}),
    "after_chunks:1": () => ({ failAt: 1, failure }),
    slow_engine_1s: () => ({ before: () => new Promise((resolve) => setTimeout(resolve, 170)) }),
  };
  const fate = fates[fault];
  if (fate === undefined) throw new Error(`no such fault: ${fault}`);
  native.fate = fate;
}

it("leaves out only cases that are in the file", () => {
  expect(sockets.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(LEFT_OUT)));
});

describe("over the shipped model", () => {
  let house: TestHouse;
  beforeAll(async () => {
    house = await openStarterHouse();
  });
  afterAll(() => house?.close());

  it.each(plain.map((wireCase) => [wireCase.name, wireCase] as const))("%s", (_, wireCase) =>
    playIn(house, wireCase),
  );
});

describe("over an engine that does as it is told", () => {
  it.each(faulty.map((wireCase) => [wireCase.name, wireCase] as const))(
    "%s",
    async (_, wireCase) => {
      const house = await openToneHouse();
      setFault(house.native, wireCase);
      await playIn(house, wireCase);
      await house.close();
    },
  );
});
