/** Speaking over HTTP against a fake service: headers, streams, failures, and clients that leave or do not read. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError } from "../protocol/envelope.ts";
import { post, startTestServer, type TestOptions, type TestServer } from "./test-server.ts";

const SPEECH = "/v1/audio/speech";

let server: TestServer | undefined;

afterEach(() => server?.close());

async function start(options: TestOptions = {}): Promise<TestServer> {
  server = await startTestServer(options);
  return server;
}

/** The answer as Node sees it: chunks, trailers, and whether it was cut off. */
async function raw(url: string, body: object, headers: Record<string, string> = {}) {
  const request = httpRequest(url + SPEECH, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", ...headers },
  });
  request.on("error", () => {});
  request.end(JSON.stringify(body));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { request, response };
}

it("answers whole files with everything that is known of them", async () => {
  const house = await start();
  const answer = await post(house, SPEECH, { input: "Hello.", seed: "-5", colour: 1 });
  expect(answer.status).toBe(200);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "audio/wav",
    "content-length": String(bytes.length),
    "x-sample-rate": "48000",
    "x-channels": "1",
    "x-bit-depth": "16",
    "x-stream-format": "whole",
    "x-seed": "-5",
    "x-segments": "1",
    "x-audio-truncated": "false",
    "x-ignored-fields": "colour",
    "x-vllm-omni-input-tokens": "8",
    "x-vllm-omni-output-tokens": "10",
    "cache-control": "no-store",
  });
  expect(new DataView(bytes.buffer).getUint32(40, true)).toBe(bytes.length - 44);
  expect(house.speech.last.request).toMatchObject({ transport: "http", format: "wav", seed: -5n });
  expect(house.speech.last.text).toBe("Hello.");
});

it("passes options on to the session", async () => {
  const house = await start();
  const body = {
    input: "Hi.",
    voice: "CLARA",
    response_format: "opus",
    sample_rate: 44100,
    channels: 2,
    speed: 2,
    max_new_tokens: 25,
    audio_top_k: 3,
    extra_params: { temperature: 0.7 },
    text_normalization: "off",
    segmenting: "off",
    chunk_policy: "ramp",
    initial_codec_chunk_frames: 0,
    max_lead_ms: 500,
  };
  await post(house, SPEECH, body);
  expect(house.speech.last.request).toMatchObject({
    voiceKind: "preset",
    sampleRate: 48000, // what Ogg Opus can carry
    channels: 2,
    speed: 2,
    maxFrames: 25,
    sampling: { audioTopK: 3, textTemperature: 0.7 },
    normalise: false,
    granularity: "none",
    chunkPolicy: "ramp",
    firstChunkFrames: 0,
    maxLeadMs: 500,
  });
});

it("streams the same bytes that a whole answer has, with trailers for those who want them", async () => {
  const house = await start();
  const body = { input: "Hello.", seed: 1, response_format: "pcm" };
  const whole = Buffer.from(await (await post(house, SPEECH, body)).arrayBuffer());
  const { response } = await raw(house.url, { ...body, stream: true }, { te: "trailers" });
  const streamed = Buffer.concat(await response.toArray());
  expect(streamed.equals(whole)).toBe(true);
  expect(response.headers["content-length"]).toBeUndefined();
  expect(response.headers["x-stream-format"]).toBe("audio");
  expect(response.headers.trailer).toBe("X-Audio-Duration, X-Rtf, X-Ttfa-Ms");
  expect(house.encoded).toEqual(["pcm", "pcm"]);
  expect(response.trailers).toEqual({
    "x-audio-duration": "0.800",
    "x-rtf": "0.2500",
    "x-ttfa-ms": "12.0",
  });
});

it("sends sound while more of it is being made, and headers only with it", async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const before = (chunk: number) => (chunk === 1 ? held : Promise.resolve());
  const house = await start({ fate: { before } });
  const { response } = await raw(house.url, { input: "Hi.", stream: true, response_format: "pcm" });
  const [first] = (await once(response, "data")) as [Buffer];
  expect(first.length).toBe(48_000 * 0.08 * 2);
  expect(house.speech.last.made).toBe(1);
  go();
  await once(response, "end");
});

it("sends headers at admission if the operator wants that", async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const house = await start({ server: { earlyHeaders: true }, fate: { before: () => held } });
  const { response } = await raw(house.url, { input: "Hi.", stream: true });
  expect(house.speech.last.made).toBe(0);
  expect(response.headers["x-seed"]).toMatch(/^\d+$/);
  go();
  expect(Buffer.concat(await response.toArray()).length).toBeGreaterThan(44);
});

it.each(["mp3", "opus", "flac", "aac", "wav", "pcm"])(
  "streams %s as it makes whole files",
  async (format) => {
    const house = await start();
    const body = { input: "Hi.", response_format: format, seed: 3 };
    const whole = Buffer.from(await (await post(house, SPEECH, body)).arrayBuffer());
    const answer = await post(house, SPEECH, { ...body, stream: true });
    const streamed = Buffer.from(await answer.arrayBuffer());
    // Streams do not know their length when a header is written, and Ogg streams have serial numbers.
    const skipped = format === "wav" ? 44 : 0;
    if (format === "opus") expect(streamed.length).toBe(whole.length);
    else expect(streamed.subarray(skipped).equals(whole.subarray(skipped))).toBe(true);
  },
);

it("writes events whose deltas join to the plain stream", async () => {
  const house = await start();
  const body = { input: "Hi.", response_format: "wav", seed: 3 };
  const plain = Buffer.from(
    await (await post(house, SPEECH, { ...body, stream: true })).arrayBuffer(),
  );
  const answer = await post(house, SPEECH, { ...body, stream_format: "sse" });
  const events = (await answer.text()).split("\n\n").filter(Boolean);
  const data = events.map((event) => JSON.parse(event.split("\ndata: ")[1] ?? ""));
  const deltas = data.slice(0, -1);
  expect(Buffer.concat(deltas.map(({ audio }) => Buffer.from(audio, "base64"))).equals(plain)).toBe(
    true,
  );
  expect(deltas[1]).toMatchObject({
    start_ms: 80,
    duration_ms: 80,
    sample_rate: 48000,
    channels: 1,
  });
  expect(data.at(-1)).toMatchObject({
    type: "speech.audio.done",
    usage: { input_tokens: 8, output_tokens: 10, total_tokens: 18 },
  });
});

it("answers failures before the first byte with a status and an id", async () => {
  const house = await start({ fate: { failAt: 0 } });
  const answer = await post(
    house,
    SPEECH,
    { input: "Hi.", stream: true },
    { headers: { "x-request-id": "my-id" } },
  );
  expect(answer.status).toBe(500);
  expect((await answer.json()).error).toMatchObject({
    type: "InternalServerError",
    request_id: "my-id",
    retryable: true,
  });
  expect(house.speech.last.isClosed).toBe(true);
  expect(house.rejected).toEqual([]);
});

it("hides the words of foreign errors and passes on those of the API", async () => {
  const house = await start({ fate: { failAt: 0, failure: new Error("secret path") } });
  const hidden = await post(house, SPEECH, { input: "Hi." });
  expect(hidden.status).toBe(500);
  expect(await hidden.text()).not.toContain("secret");
  house.speech.fate = { failAt: 0, failure: new ApiError("engine_dead") };
  const dead = await post(house, SPEECH, { input: "Hi." });
  expect((await dead.json()).error.reason).toBe("engine_dead");
});

it("says when there was no sound, and when there is no room", async () => {
  const house = await start({ fate: { chunks: 0 } });
  const silent = await post(house, SPEECH, { input: "Hi.", stream: true });
  expect(silent.status).toBe(500);
  expect((await silent.json()).error.reason).toBe("no_audio");
  house.speech.fate = { chunks: 0, units: 0 };
  const unspeakable = await post(house, SPEECH, { input: "...", stream: true });
  expect(unspeakable.status).toBe(400);
  expect((await unspeakable.json()).error).toMatchObject({ reason: "input_empty", param: "input" });
  house.speech.fate = { refusal: "overloaded" };
  const full = await post(house, SPEECH, { input: "Hi." });
  expect(full.status).toBe(503);
  expect(full.headers.get("retry-after")).toBe("3"); // 2.5 s are expected
});

it("cuts the connection when a stream fails after its first byte", async () => {
  const house = await start({ fate: { failAt: 3 } });
  const { response } = await raw(house.url, { input: "Hi.", stream: true, response_format: "pcm" });
  await expect(response.toArray()).rejects.toThrow("aborted");
  expect(response.complete).toBe(false);
});

it("ends an event stream that fails with an error instead of done", async () => {
  const house = await start({ fate: { failAt: 2 } });
  const answer = await post(house, SPEECH, {
    input: "Hi.",
    response_format: "pcm",
    stream_format: "sse",
  });
  const events = [...(await answer.text()).matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  expect(events).toEqual(["speech.audio.delta", "speech.audio.delta", "speech.audio.error"]);
});

it("stops at once when a client leaves before its first byte", async () => {
  const house = await start({ fate: { before: () => new Promise(() => {}) } });
  const leave = new AbortController();
  const answer = post(house, SPEECH, { input: "Hi.", stream: true }, { signal: leave.signal });
  await vi.waitUntil(() => house.speech.sessions.length === 1);
  leave.abort();
  await expect(answer).rejects.toThrow();
  await vi.waitUntil(() => house.speech.last.wasStopped);
});

it.each(["audio", "sse"])("stops at once when a client leaves in the middle: %s", async (form) => {
  const house = await start({ fate: { chunks: Number.POSITIVE_INFINITY } });
  const body = { input: "Hi.", stream: true, stream_format: form, response_format: "mp3" };
  const { request, response } = await raw(house.url, body);
  await once(response, "data");
  request.destroy();
  await vi.waitUntil(() => house.speech.last.wasStopped);
});

it("makes no more sound than a client reads", async () => {
  const house = await start({ fate: { chunks: Number.POSITIVE_INFINITY } });
  const body = { input: "Hi.", stream: true, response_format: "pcm" };
  const { request, response } = await raw(house.url, body);
  response.pause();
  const session = house.speech.last;
  // Grows until the buffers of both sockets are full, and then not at all.
  let before = -1;
  await vi.waitUntil(
    () => {
      const isStill = before === session.made;
      before = session.made;
      return isStill && session.made > 0;
    },
    { interval: 300, timeout: 20_000 },
  );
  expect(session.made * 7680).toBeLessThan(32 * 2 ** 20);
  response.resume();
  await vi.waitUntil(() => session.made > before);
  request.destroy();
  await vi.waitUntil(() => session.wasStopped);
});

it("refuses what takes longer than the operator allows", async () => {
  const fate = { before: () => new Promise(() => {}) };
  const house = await start({ server: { requestTimeoutMs: 30 }, fate });
  const answer = await post(house, SPEECH, { input: "Hi." });
  expect(answer.status).toBe(503);
  expect((await answer.json()).error.reason).toBe("request_timeout");
  expect(house.speech.last.wasStopped).toBe(true);
});

it("chooses the form of a stream as the request, its Accept header and the operator say", async () => {
  const house = await start({ server: { streamDefault: "sse" } });
  const type = async (body: object, headers = {}) =>
    (await post(house, SPEECH, { input: "Hi.", ...body }, { headers })).headers.get("content-type");
  expect(await type({ stream: true })).toContain("text/event-stream");
  expect(await type({ stream: true, stream_format: "audio" })).toBe("audio/wav");
  expect(await type({ stream: false, model: "tts-1" })).toBe("audio/mpeg");
  expect(await type({}, { accept: "text/event-stream" })).toContain("text/event-stream");
});
