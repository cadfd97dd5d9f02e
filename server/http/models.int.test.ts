/** Several models at the HTTP door, with real engines: named, loaded, swapped, unloaded, and one that is broken. */
import { createHash } from "node:crypto";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { loadEngines } from "../house/engines.ts";
import { HouseModels } from "../house/models.ts";
import {
  modelConfig,
  severalModels,
  type TestFolders,
  testFolders,
} from "../house/test-house-models.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { ModelCard, ModelList } from "../protocol/documents.ts";
import { FileVoiceStore } from "../voices/file-store.ts";
import { openVoiceLibrary } from "../voices/open-library.ts";
import { recording } from "../voices/test-voices.ts";
import { Access } from "./access.ts";
import { createHttpServer } from "./server.ts";
import { post } from "./test-server.ts";

const FIRST = "sonant-starter";
const SPEECH = "/v1/audio/speech";
const LONG = "The ferry leaves at nine, and the next one leaves at noon. ".repeat(4);

let folders: TestFolders;
let models: HouseModels;
let metrics: Metrics;
let app: ReturnType<typeof createHttpServer>;
let url = "";

beforeAll(async () => {
  folders = testFolders();
  const config = await severalModels(
    (first) => [
      modelConfig(first, "second", {
        model: folders.second,
        openaiAliases: ["tts-second"],
        sampling: { ...first.sampling, seed: 0 },
        output: { channels: 2, allowChannels: [2] },
      }),
      modelConfig(first, "broken", { model: folders.broken }),
    ],
    { maxLoaded: 1 },
  );
  metrics = new Metrics();
  const store = await FileVoiceStore.open(folders.voices, { maxVoices: 10 });
  models = new HouseModels(config, {
    metrics,
    loadEngine: loadEngines,
    openVoices: (model, engine) =>
      openVoiceLibrary({
        model,
        engine,
        store,
        reserved: () => models.all.flatMap(({ model }) => [...(model?.presets.keys() ?? [])]),
      }),
    log: () => {},
  });
  await models.read();
  app = createHttpServer({
    config,
    models,
    metrics,
    access: new Access(config.server),
    build: { version: "1.2.3", commit: undefined },
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  await models.start();
});
afterAll(async () => {
  app?.server.closeAllConnections();
  await app?.close();
  await models?.close();
  metrics?.close();
  folders?.remove();
});

interface Body {
  readonly [field: string]: unknown;
}

const speak = (body: Body) => post({ url }, SPEECH, { response_format: "pcm", ...body });

/** Length and digest: equal for equal bytes, and readable where they differ. */
function digestOf(bytes: Uint8Array): string {
  return `${bytes.length} ${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}`;
}

async function soundOf(body: Body): Promise<string> {
  const answer = await speak(body);
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect([answer.status, answer.status === 200 ? "" : bytes.toString()]).toEqual([200, ""]);
  expect(bytes.length).toBeGreaterThan(0);
  return digestOf(bytes);
}

async function reasonOf(answer: Response): Promise<string> {
  return ((await answer.json()) as { error: { reason: string } }).error.reason;
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  return (await (await fetch(url + path, init)).json()) as T;
}

const stateOf = async (id: string) => (await json<ModelCard>(`/v1/models/${id}`)).sonant.state;
const change = (id: string, what: "load" | "unload") =>
  fetch(`${url}/v1/models/${id}/${what}`, { method: "POST" });

describe("the list of models", () => {
  it("has all of them with what is known of each, and stays what OpenAI's clients read", async () => {
    const { object, data } = await json<ModelList>("/v1/models");
    expect(object).toBe("list");
    const ids = data.map(({ id }) => id);
    expect(ids.slice(0, 3)).toEqual([FIRST, "second", "broken"]);
    expect(ids).toEqual(expect.arrayContaining(["tts-1", "tts-second"]));
    for (const card of data) expect(card).toMatchObject({ object: "model", owned_by: "sonant" });
    expect(data.map(({ sonant }) => sonant.is_default).slice(0, 3)).toEqual([true, false, false]);
    expect(data[1]?.sonant).toMatchObject({
      state: "unloaded",
      name: "Second",
      family: "moss_tts_nano",
      description: "Another one.",
      languages: ["en"],
      capabilities: { cloning: true },
      sample_rate: 48_000,
      default_voice: "otto",
      sampling: { audio_temperature: 0.8 },
    });
    expect(data.find(({ id }) => id === "tts-second")?.sonant.main).toBe("second");
    expect(data[1]?.sonant).not.toHaveProperty("engine");
    expect(data[0]?.sonant.engine?.precision).toBe("int8");
    expect(data[2]?.sonant).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(/config\.json/),
    });
  });

  it("gives each model its own voices, limits and a sentence where there is none", async () => {
    const presets = async (query: string) =>
      (await json<{ presets: { name: string; default: boolean }[] }>(`/v1/audio/voices${query}`))
        .presets;
    expect((await presets("?model=second")).map(({ name }) => name).sort()).toEqual([
      "mia",
      "otto",
    ]);
    expect(await presets("")).toEqual(await presets(`?model=${FIRST}`));
    expect((await presets("")).length).toBeGreaterThan(5);
    const limits = await json<{ default_voice: string; channels: number[] }>(
      `${SPEECH}/limits?model=second`,
    );
    expect(limits).toMatchObject({ default_voice: "otto", channels: [2] });
    for (const path of ["/v1/audio/voices?model=nobody", `${SPEECH}/limits?model=nobody`]) {
      const answer = await fetch(url + path);
      expect([answer.status, await reasonOf(answer)]).toEqual([404, "model_not_found"]);
    }
    const broken = await fetch(`${url}/v1/audio/voices?model=broken`);
    expect([broken.status, await reasonOf(broken)]).toEqual([503, "model_failed"]);
    const twice = await fetch(`${url}/v1/audio/voices?model=second&model=${FIRST}`);
    expect([twice.status, await reasonOf(twice)]).toEqual([400, "invalid_value"]);
  });
});

describe("a request", () => {
  it("that names no model has the first, and an unknown one is refused", async () => {
    const words = { input: "Good morning.", seed: 5 };
    expect(await soundOf(words)).toEqual(await soundOf({ ...words, model: FIRST }));
    const answer = await speak({ ...words, model: "nobody" });
    expect([answer.status, await reasonOf(answer)]).toEqual([404, "model_not_found"]);
  });

  it("has the bytes of its seed before and after a swap, from either model", async () => {
    const words = { input: "Good morning to you.", seed: 7, voice: "otto" };
    const first = await soundOf({ ...words, channels: 2 });
    expect(await stateOf(FIRST)).toBe("ready");
    const second = await soundOf({ ...words, model: "second" });
    expect([await stateOf(FIRST), await stateOf("second")]).toEqual(["unloaded", "ready"]);
    // The weights are the same; the other model's own temperature makes the difference.
    expect(second).not.toEqual(first);
    const { sampling } = (await json<ModelCard>(`/v1/models/${FIRST}`)).sonant;
    const { audio_temperature } = sampling ?? {};
    expect(audio_temperature).toBeGreaterThan(0);
    expect(await soundOf({ ...words, model: "second", audio_temperature })).toEqual(first);
    expect(await soundOf({ ...words, channels: 2 })).toEqual(first);
    expect(await soundOf({ ...words, model: "tts-second" })).toEqual(second);
  });

  it("that leaves them open has the seed, voice, channels and format of its model's file", async () => {
    const words = { input: "Good evening.", model: "second", seed: undefined };
    const answer = await speak(words);
    expect(answer.headers.get("x-seed")).toBe("0");
    expect(answer.headers.get("x-channels")).toBe("2");
    expect(digestOf(new Uint8Array(await answer.arrayBuffer()))).toBe(
      await soundOf({ ...words, seed: 0, voice: "otto" }),
    );
    const mono = await speak({ ...words, channels: 1 });
    expect([mono.status, await reasonOf(mono)]).toEqual([400, "invalid_value"]);
    const alias = await post({ url }, SPEECH, { ...words, model: "tts-second" });
    expect(alias.headers.get("content-type")).toBe("audio/mpeg");
    await alias.arrayBuffer();
  });

  it("for a broken model is refused with the time to wait, and harms nobody", async () => {
    const answer = await speak({ input: "Hi.", model: "broken" });
    expect([answer.status, await reasonOf(answer)]).toEqual([503, "model_failed"]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    await soundOf({ input: "Hi.", model: "second" });
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it("of a batch speaks all items with the batch's model", async () => {
    const items = ["One.", "Two."].map((input) => ({ input, seed: 3 }));
    const body = { model: "second", response_format: "pcm", items };
    const { results } = await (await post({ url }, `${SPEECH}/batch`, body)).json();
    type Result = { readonly index: number; readonly audio_data: string };
    const second = (results as Result[]).find(({ index }) => index === 1);
    const alone = await soundOf({ input: "Two.", model: "second", seed: 3 });
    expect(digestOf(Buffer.from(second?.audio_data ?? "", "base64"))).toBe(alone);
  });
});

describe("unloading", () => {
  it("lets what is spoken come to its end", async () => {
    const body = { input: LONG, model: "second", seed: 1, stream: true };
    const whole = await soundOf({ ...body, stream: false });
    const answer = await speak(body);
    const reader = answer.body?.getReader();
    const parts = [Buffer.from((await reader?.read())?.value ?? [])];
    const unloaded = change("second", "unload");
    await vi.waitUntil(async () => (await stateOf("second")) === "draining");
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done) break;
      parts.push(Buffer.from(value ?? []));
    }
    expect(digestOf(Buffer.concat(parts))).toBe(whole);
    const card = (await (await unloaded).json()) as ModelCard;
    expect(card.sonant.state).toBe("unloaded");
  });

  it("and loading are told by the state, once each, and refused for what is not there", async () => {
    const load = await change("second", "load");
    expect(((await load.json()) as ModelCard).sonant.state).toBe("ready");
    const nobody = await change("nobody", "load");
    expect([nobody.status, await reasonOf(nobody)]).toEqual([404, "model_not_found"]);
    const broken = await change("broken", "load");
    expect([broken.status, await reasonOf(broken)]).toEqual([503, "model_failed"]);
    const other = await fetch(`${url}/v1/models/second/start`, { method: "POST" });
    expect(other.status).toBe(404);
  });
});

describe("an uploaded voice", () => {
  it("speaks with every model, encoded by the codec of each, whatever model it came through", async () => {
    const form = new FormData();
    form.set("name", "Ada");
    form.set("consent", "test");
    form.set(
      "audio_sample",
      new Blob([new Uint8Array(recording(3))], { type: "audio/wav" }),
      "ada.wav",
    );
    const sent = await fetch(`${url}/v1/audio/voices?model=second`, { method: "POST", body: form });
    expect(sent.status).toBe(200);
    const words = { input: "Good morning.", seed: 2, voice: "Ada", audio_temperature: 0.4 };
    const second = await soundOf({ ...words, model: "second" });
    expect(await soundOf({ ...words, channels: 2 })).toEqual(second);
    const { uploaded_voices: uploaded } = await json<{ uploaded_voices: { name: string }[] }>(
      `/v1/audio/voices?model=${FIRST}`,
    );
    expect(uploaded.map(({ name }) => name)).toEqual(["Ada"]);
  });

  it("cannot have the name of a voice of any model", async () => {
    const form = new FormData();
    form.set("name", "Clara");
    form.set("consent", "test");
    form.set(
      "audio_sample",
      new Blob([new Uint8Array(recording(3))], { type: "audio/wav" }),
      "clara.wav",
    );
    const sent = await fetch(`${url}/v1/audio/voices?model=second`, { method: "POST", body: form });
    expect([sent.status, await reasonOf(sent)]).toEqual([400, "invalid_value"]);
  });
});

it("counts each model by itself", async () => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const done = (model: string) =>
    text
      .split("\n")
      .some((line) => line.startsWith("tts_requests_total{") && line.includes(`model="${model}"`));
  expect([done(FIRST), done("second")]).toEqual([true, true]);
  const engines = [...text.matchAll(/tts_engine_frames_total\{model_name="([^"]+)"\}/g)];
  expect(engines.map(([, name]) => name)).toEqual(
    models.all.filter(({ state }) => state.stage === "ready").map(({ id }) => id),
  );
});
