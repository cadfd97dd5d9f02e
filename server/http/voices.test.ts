/** Voices and batches over HTTP, against a fake service and a real library of voices. */
import { afterEach, expect, it, vi } from "vitest";
import { freePort } from "../cases/free-port.ts";
import { ReferenceEncoder } from "../voices/encode-reference.ts";
import { VoiceLibrary } from "../voices/library.ts";
import { VoicePrompts } from "../voices/prompts.ts";
import { ReferenceSource } from "../voices/reference-source.ts";
import { S3VoiceStore } from "../voices/s3-store.ts";
import { FakeCodec, recording } from "../voices/test-voices.ts";
import {
  post,
  startTestServer,
  TEST_MODEL,
  type TestOptions,
  type TestServer,
} from "./test-server.ts";

const VOICES = "/v1/audio/voices";
const BATCH = "/v1/audio/speech/batch";

let server: TestServer | undefined;

afterEach(() => server?.close());

async function start(options: TestOptions = {}): Promise<TestServer> {
  server = await startTestServer(options);
  return server;
}

interface Upload {
  readonly fields?: Record<string, string>;
  readonly clip?: Uint8Array;
  readonly type?: string;
}

async function upload({ url }: TestServer, { fields = {}, clip, type = "audio/wav" }: Upload) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (clip !== undefined) form.set("audio_sample", new Blob([clip.slice()], { type }), "a.wav");
  const answer = await fetch(url + VOICES, { method: "POST", body: form });
  return { status: answer.status, body: await answer.json() };
}

it("keeps an uploaded voice, speaks with it under any case of its name, and forgets it", async () => {
  const house = await start();
  const fields = { name: "Zoë 語", consent: "c-1", ref_text: " hi " };
  const { status, body } = await upload(house, { fields, clip: recording(2) });
  expect([status, body.success, body.voice.ref_text]).toEqual([200, true, "hi"]);
  expect(body).toMatchObject({ object: "audio.voice", name: "Zoë 語" });

  const list = await (await fetch(house.url + VOICES)).json();
  expect(list.voices).toEqual(["clara", "zoë 語", "ørsted"].sort());
  const pitches = list.presets.map(({ pitch_hz }: { pitch_hz?: number }) => pitch_hz);
  expect(pitches).toEqual([170.2, undefined]);
  const name = encodeURIComponent("ZOË 語");
  expect(await (await fetch(`${house.url}${VOICES}/${name}`)).json()).toMatchObject({
    kind: "uploaded",
    id: body.id,
  });
  for (const voice of ["zoë 語", body.id, { id: body.id }]) {
    const spoken = await post(house, "/v1/audio/speech", { input: "Hi.", voice });
    expect(spoken.status).toBe(200);
    expect(house.speech.last.request).toMatchObject({ voiceKind: "uploaded" });
  }
  const gone = await fetch(`${house.url}${VOICES}/${name}`, { method: "DELETE" });
  expect([gone.status, (await gone.json()).success]).toEqual([200, true]);
  expect((await fetch(`${house.url}${VOICES}/${name}`)).status).toBe(404);
});

it("changes what is said of a voice, plays its recording, and refuses what cannot be", async () => {
  const house = await start();
  const fields = { name: "Ada", consent: "c", language: "EN" };
  const { body } = await upload(house, { fields, clip: recording(2) });
  expect(body.voice.language).toBe("en");
  await upload(house, { fields: { name: "Bea", consent: "c" }, clip: recording(2) });
  const change = async (name: string, what: unknown) => {
    const path = `${house.url}${VOICES}/${encodeURIComponent(name)}`;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(path, { method: "PATCH", headers, body: JSON.stringify(what) });
    return { status: answer.status, body: await answer.json() };
  };
  const edit = { name: " Zoë ", speaker_description: "warm", language: null };
  expect(await change("ada", edit)).toEqual({
    status: 200,
    body: expect.objectContaining({ kind: "uploaded", id: body.id, name: "Zoë" }),
  });
  const detail = await (await fetch(`${house.url}${VOICES}/${body.id}`)).json();
  expect(detail).toMatchObject({ name: "Zoë", speaker_description: "warm", consent: "c" });
  expect(detail).not.toHaveProperty("language");
  for (const [name, what, status, reason] of [
    ["zoë", { name: "BEA" }, 409, "voice_name_taken"],
    ["zoë", { name: "a/b" }, 400, "invalid_value"],
    ["zoë", { name: "Clara" }, 400, "invalid_value"],
    ["zoë", { language: "english" }, 400, "invalid_value"],
    ["zoë", { speaker_description: "x".repeat(2049) }, 400, "invalid_value"],
    ["zoë", { name: 7 }, 400, "schema_violation"],
    ["zoë", {}, 400, "invalid_value"],
    ["clara", { name: "Cleo" }, 404, "voice_not_found"],
    ["nobody", { name: "Cleo" }, 404, "voice_not_found"],
  ] as const) {
    const refused = await change(name, what);
    expect([refused.status, refused.body.error.reason]).toEqual([status, reason]);
  }

  const audio = await fetch(`${house.url}${VOICES}/${body.id}/audio`);
  expect(audio.headers.get("content-type")).toBe("audio/wav");
  expect(audio.headers.get("x-content-type-options")).toBe("nosniff");
  expect(new Uint8Array(await audio.arrayBuffer())).toEqual(new Uint8Array(recording(2)));
  expect((await fetch(`${house.url}${VOICES}/clara/audio`)).status).toBe(404);
});

it("refuses uploads that are no form, that are too large, or that are no voice", async () => {
  const house = await start();
  const json = await post(house, VOICES, { name: "x" });
  expect([json.status, (await json.json()).error.reason]).toEqual([400, "unsupported_media_type"]);
  const fields = { name: "x", consent: "c" };
  const large = await upload(house, { fields, clip: new Uint8Array(10 * 2 ** 20 + 1) });
  expect([large.status, large.body.error.reason]).toEqual([400, "upload_too_large"]);
  const missing = await upload(house, { fields: { name: "x" }, clip: recording(2) });
  expect(missing.body.error.message).toContain("Field required");
  const wrong = await upload(house, { fields, clip: recording(2), type: "application/pdf" });
  expect(wrong.body.error.message).toContain("Unsupported MIME type");
  const noise = await upload(house, { fields, clip: Buffer.from("this is not audio") });
  expect([noise.status, noise.body.error.reason]).toEqual([400, "invalid_reference"]);
});

it("goes on with the built-in voices while the bucket of the others is away", async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "k").stubEnv("AWS_SECRET_ACCESS_KEY", "s");
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const bucket = { bucket: "b", endpoint, region: undefined, forcePathStyle: true, prefix: "" };
  const voices = new VoiceLibrary({
    model: TEST_MODEL,
    store: S3VoiceStore.open(bucket),
    encoder: new ReferenceEncoder(new FakeCodec(), TEST_MODEL, "codec"),
    source: new ReferenceSource(),
    prompts: new VoicePrompts(),
  });
  const house = await start({ model: { voices } });
  expect((await fetch(`${house.url}/ready`)).status).toBe(200);
  const speech = (voice: string) => post(house, "/v1/audio/speech", { input: "Hi.", voice });
  expect((await speech("clara")).status).toBe(200);
  const away = [await speech("Ada"), await fetch(house.url + VOICES)];
  const sent = await upload(house, { fields: { name: "Ada", consent: "c" }, clip: recording(2) });
  expect([...away, sent].map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(away.map(({ headers }) => headers.get("retry-after"))).toEqual(["5", "5"]);
  expect(sent.body.error).toMatchObject({
    type: "ServiceUnavailableError",
    reason: "voices_unavailable",
    retryable: true,
  });
  vi.unstubAllEnvs();
});

it("names a reference by an id that speaks", async () => {
  const house = await start();
  const base64 = Buffer.from(recording(2)).toString("base64");
  const made = await post(house, "/v1/audio/voice_prompts", { ref_audio: base64 });
  const { id, frames } = await made.json();
  expect(frames).toBeGreaterThan(10);
  for (const body of [{ voice: id }, { ref_audio: id }]) {
    expect((await post(house, "/v1/audio/speech", { input: "Hi.", ...body })).status).toBe(200);
    expect(house.speech.last.request).toMatchObject({ voiceKind: "inline" });
  }
  const voices = [
    { voice: "clara", weight: 0.5 },
    { voice: "ryan", weight: 0.5 },
  ];
  const blend = await post(house, "/v1/audio/voices/blend", { voices });
  expect([blend.status, (await blend.json()).error.reason]).toEqual([400, "blend_unsupported"]);
});

it("lets the names of OpenAI's voices stand for the server's own, and no others", async () => {
  const house = await start();
  const speak = (voice: string) => post(house, "/v1/audio/speech", { input: "Hi.", voice });
  expect((await speak("Alloy")).status).toBe(200);
  expect((await speak("default")).status).toBe(200);
  const unknown = await speak("nobody");
  expect([unknown.status, (await unknown.json()).error.param]).toEqual([400, "voice"]);
});

it("speaks the items of a batch side by side and keeps their failures apart", async () => {
  const house = await start();
  const items = [
    { input: "One.", response_format: "mp3", seed: 3 },
    { input: " " },
    { input: "Three.", voice: "nobody" },
    { input: "Four." },
  ];
  const answer = await post(house, BATCH, {
    items,
    voice: "clara",
    response_format: "pcm",
    odd: 1,
  });
  const { results, ...totals } = await answer.json();
  expect(totals).toMatchObject({ total: 4, succeeded: 2, failed: 2 });
  expect(results.map(({ media_type }: { media_type: string }) => media_type)).toEqual([
    "audio/mpeg",
    null,
    null,
    "audio/pcm",
  ]);
  expect(results[0]).toMatchObject({ seed: 3, sample_rate: 48000, duration_s: 0.8, error: null });
  expect(results[2].error).toContain("nobody");
  expect(answer.headers.get("x-ignored-fields")).toBe("odd");
});

it("never has more items of a batch in the engine than there is room for", async () => {
  const open: (() => void)[] = [];
  const before = (chunk: number) =>
    chunk > 0 ? Promise.resolve() : new Promise<void>((resolve) => open.push(resolve));
  const house = await start({ fate: { before } });
  const items = Array.from({ length: 9 }, (_, index) => ({ input: `Item ${index}.` }));
  const answer = post(house, BATCH, { items });
  for (let done = 0; done < 9; done++) {
    await vi.waitUntil(() => open.length > done);
    expect(house.speech.sessions.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(4);
    open[done]?.();
  }
  expect((await (await answer).json()).succeeded).toBe(9);
});

it("writes results of a batch line by line, in the order in which they are ready", async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const house = await start();
  house.speech.fate = { before: () => held };
  const items = [{ input: "One." }, { input: "" }];
  const headers = { accept: "application/x-ndjson" };
  const answer = await post(house, BATCH, { items }, { headers });
  const reader = answer.body?.getReader();
  const first = new TextDecoder().decode((await reader?.read())?.value);
  expect(JSON.parse(first)).toMatchObject({ index: 1, status: "error" });
  go();
  const second = new TextDecoder().decode((await reader?.read())?.value);
  expect(second).toContain('"index":0');
  await reader?.cancel();
});

it("stops all items when the client leaves", async () => {
  const house = await start({ fate: { chunks: Number.POSITIVE_INFINITY } });
  const leave = new AbortController();
  const items = [{ input: "One." }, { input: "Two." }];
  const answer = post(house, BATCH, { items }, { signal: leave.signal });
  await vi.waitUntil(() => house.speech.sessions.length === 2);
  leave.abort();
  await expect(answer).rejects.toThrow();
  await vi.waitUntil(() => house.speech.sessions.every(({ wasStopped }) => wasStopped));
});
