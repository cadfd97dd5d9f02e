/** Sockets and several models: each session names its own and keeps it, and is told when it is unloaded. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import WebSocket from "ws";
import {
  modelConfig,
  severalModels,
  type TestFolders,
  testFolders,
} from "../house/test-house-models.ts";
import { type ToneModels, toneModels } from "../house/test-tone-models.ts";
import { Access } from "../http/access.ts";
import { createHttpServer } from "../http/server.ts";
import { STRESS_TARGETS } from "../protocol/stress-bounds.ts";
import { openDoor } from "../stress/doors.ts";
import { attachRealtime } from "./index.ts";
import { until } from "./test-doors.ts";

const NEVER = new AbortController().signal;
const SPEECH = { response_format: "pcm", stream_audio: true, protocol: 2 } as const;

let folders: TestFolders;
let house: ToneModels;
let origin: string;
let close: () => Promise<void>;
const sockets: WebSocket[] = [];

beforeAll(async () => {
  folders = testFolders();
  const config = await severalModels((first) => [
    modelConfig(first, "b", { model: folders.second, sampling: { ...first.sampling, seed: 9 } }),
    modelConfig(first, "broken", { model: folders.broken }),
  ]);
  house = await toneModels(config, { voices: folders.voices });
  await house.models.start();
  const { models, metrics } = house;
  const access = new Access(config.server);
  const deps = { config, models, metrics, access, build: { version: "0", commit: undefined } };
  const app = createHttpServer(deps);
  const realtime = attachRealtime(app.server, deps);
  await app.listen({ port: 0, host: "127.0.0.1" });
  origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  close = async () => {
    await realtime.close();
    app.server.closeAllConnections();
    await app.close();
    await house.close();
  };
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});
afterAll(async () => {
  await close();
  folders.remove();
});

interface Message {
  readonly type: string;
  readonly [field: string]: unknown;
}

class Talk {
  readonly messages: Message[] = [];
  code: number | undefined;

  private constructor(readonly socket: WebSocket) {
    sockets.push(socket);
    socket.on("message", (data, isBinary) => {
      if (!isBinary) this.messages.push(JSON.parse(String(data)));
    });
    socket.on("close", (code) => {
      this.code = code;
    });
  }

  static async begin(config: object): Promise<Talk> {
    const talk = new Talk(new WebSocket(`${origin.replace("http", "ws")}/v1/audio/speech/ws`));
    await once(talk.socket, "open");
    talk.send({ type: "session.config", ...SPEECH, ...config });
    return talk;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  async heard(type: string): Promise<Message> {
    const find = () => this.messages.find((message) => message.type === type);
    await until(() => find() !== undefined);
    return find() as Message;
  }

  async closed(): Promise<number | undefined> {
    await until(() => this.code !== undefined);
    return this.code;
  }
}

/** Generations that an engine of a model has made since it was warm, by model. */
const made = (model: string) =>
  house.loaded.filter((one) => one.model === model).flatMap(({ native }) => native.texts);

it("a session speaks with the model that it names, loaded for it, with that model's seed", async () => {
  const talk = await Talk.begin({ model: "b" });
  await talk.heard("session.created");
  talk.send({ type: "input.text", text: "Only for the second." });
  talk.send({ type: "input.done" });
  expect(await talk.heard("audio.done")).toMatchObject({ seed: 9, error: false });
  expect(house.models.named("b").state.stage).toBe("ready");
  const before = made("sonant-starter").length;
  const other = await Talk.begin({});
  await other.heard("session.created");
  other.send({ type: "input.text", text: "Only for the first." });
  other.send({ type: "input.done" });
  await other.heard("audio.done");
  expect(made("sonant-starter").length).toBe(before + 1);
});

it("an unknown model, and one that cannot be loaded, end the handshake with their codes", async () => {
  const unknown = await Talk.begin({ model: "nobody" });
  expect(await unknown.heard("error")).toMatchObject({ code: "model_not_found", fatal: true });
  expect(await unknown.closed()).toBe(4404);
  const broken = await Talk.begin({ model: "broken" });
  expect(await broken.heard("error")).toMatchObject({ code: "model_failed", fatal: true });
  expect(await broken.closed()).toBe(1013);
});

it("a session keeps its model: its own name changes nothing, another one is refused", async () => {
  const talk = await Talk.begin({ model: "b" });
  await talk.heard("session.created");
  talk.send({ type: "session.config", ...SPEECH, model: "sonant-starter" });
  expect(await talk.heard("error")).toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining(
      "a session keeps its model, b; open another session for sonant-starter",
    ),
  });
  talk.messages.length = 0;
  talk.send({ type: "session.config", ...SPEECH, model: "b", seed: 4 });
  talk.send({ type: "input.text", text: "Still here." });
  talk.send({ type: "input.done" });
  expect(await talk.heard("audio.done")).toMatchObject({ seed: 4, error: false });
});

it("a silent session is told when its model is unloaded, and others are not", async () => {
  const first = await Talk.begin({});
  const second = await Talk.begin({ model: "b" });
  await Promise.all([first.heard("session.created"), second.heard("session.created")]);
  await house.models.unload("b", NEVER);
  expect(await second.heard("error")).toMatchObject({ code: "model_unloaded", fatal: true });
  expect(await second.closed()).toBe(1013);
  expect(first.code).toBeUndefined();
  const again = await Talk.begin({ model: "b" });
  await again.heard("session.created");
  expect(house.models.named("b").state.stage).toBe("ready");
});

it.each(STRESS_TARGETS)("load through %s speaks with the model of its plan", async (target) => {
  const before = made("b").length;
  const door = openDoor({ target, model: "b" }, { baseUrl: origin, WebSocket }, false);
  const speak = await door.prepare(NEVER);
  let bytes = 0;
  const reader = {
    chunk(samples: Uint8Array) {
      bytes += samples.length;
    },
    playedMs: () => 0,
    finished: async () => {},
  };
  await speak({ text: "Load.", voice: undefined, seed: 1 }, reader, NEVER);
  await door.close();
  expect(bytes).toBeGreaterThan(0);
  expect(made("b").length).toBe(before + 1);
});
