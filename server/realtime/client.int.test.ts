/**
 * The client package against the whole server with the shipped model: every door gives the same sound, a lost connection
 * costs none of it, and what goes wrong arrives as the one error.
 */
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { oneModel } from "../house/test-models.ts";
import { Access } from "../http/access.ts";
import { createHttpServer } from "../http/server.ts";
import {
  PlaybackMeter,
  SonantError,
  SpeechClient,
  SpeechSocket,
} from "../protocol/client/index.ts";
import type { SocketEvent, SocketWish } from "../protocol/client/socket-types.ts";
import { WAV_HEADER_BYTES } from "../protocol/wav.ts";
import { attachRealtime, type Realtime } from "./index.ts";
import { engineIdle, openStarterHouse, type TestHouse, until } from "./test-doors.ts";

const STORY = "The lamp in the hall was lit. Nobody had come home yet, and the soup was cold.";
const WISH = { voice: "clara", seed: 11 } as const;

let house: TestHouse;
let app: FastifyInstance;
let realtime: Realtime;
let baseUrl: string;
let client: SpeechClient;
const opened: SpeechSocket[] = [];
/** Connections of the sockets under test, to be cut. */
const connections: WebSocket[] = [];

class CutWebSocket extends WebSocket {
  constructor(...options: ConstructorParameters<typeof WebSocket>) {
    super(...options);
    connections.push(this);
  }
}

beforeAll(async () => {
  house = await openStarterHouse();
  const deps = {
    config: house.config,
    models: oneModel(house),
    metrics: house.metrics,
    access: new Access(house.config.server),
    build: { version: "0.0.0", commit: undefined },
  };
  app = createHttpServer(deps);
  realtime = attachRealtime(app.server, deps);
  await app.listen({ port: 0, host: "127.0.0.1" });
  baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  client = new SpeechClient({ baseUrl });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((socket) => socket.close()));
  connections.length = 0;
});
afterAll(async () => {
  await realtime?.close();
  await app?.close();
  await house?.close();
});

function socketFor(options: Partial<ConstructorParameters<typeof SpeechSocket>[0]> = {}) {
  const reconnect = { baseMs: 5, maxMs: 50 };
  const socket = new SpeechSocket({ baseUrl, WebSocket: CutWebSocket, reconnect, ...options });
  opened.push(socket);
  return socket;
}

/** Speaks a text on a socket and gives its sound and all events. */
async function speakOn(
  socket: SpeechSocket,
  wish: SocketWish,
  pieces: Iterable<string> = [STORY],
): Promise<{ pcm: Buffer; events: SocketEvent[] }> {
  const reader = socket.events();
  await socket.open(wish);
  for (const piece of pieces) socket.sendText(piece);
  socket.end();
  const events: SocketEvent[] = [];
  for await (const event of reader) {
    events.push(event);
    if (event.type === "done") break;
  }
  const chunks = events.flatMap((event) => (event.type === "chunk" ? [event.bytes] : []));
  return { pcm: Buffer.concat(chunks), events };
}

async function wholePcm(): Promise<Buffer> {
  const { bytes } = await client.speech({ ...WISH, input: STORY, response_format: "pcm" });
  return Buffer.from(bytes);
}

describe("one seeded request", () => {
  it("sounds the same whole, streamed, as events, in a batch and on the socket", async () => {
    const whole = await wholePcm();
    expect(whole.length).toBeGreaterThan(48_000);

    const stream = await client.stream({ ...WISH, input: STORY });
    const meter = new PlaybackMeter();
    const streamed: Uint8Array[] = [];
    for await (const { bytes, durationMs = 0 } of stream) {
      streamed.push(bytes);
      meter.chunk(durationMs);
    }
    expect(Buffer.concat(streamed).equals(whole)).toBe(true);
    expect(stream.receipt).toMatchObject({ delivery: "audio", seed: "11", channels: 1 });
    const { sampleRate, channels } = stream.receipt;
    expect(meter.read().audioMs).toBeCloseTo(whole.length / 2 / channels / (sampleRate / 1000), 3);

    const sse = await client.sse({ ...WISH, input: STORY });
    const deltas: Uint8Array[] = [];
    let outputTokens = 0;
    for await (const event of sse) {
      if (event.type === "audio") deltas.push(event.bytes);
      else outputTokens = event.usage.output_tokens;
    }
    expect(Buffer.concat(deltas).equals(whole)).toBe(true);
    expect(outputTokens).toBeGreaterThan(0);

    const { results } = await client.batch({
      items: [{ input: STORY, seed: 11 }, { input: " " }],
      voice: "clara",
      response_format: "wav",
    });
    expect(results.map(({ status }) => status)).toEqual(["success", "error"]);
    const wav = Buffer.from(results[0]?.audio_data ?? "", "base64");
    expect(wav.subarray(WAV_HEADER_BYTES).equals(whole)).toBe(true);

    const { pcm, events } = await speakOn(socketFor(), WISH);
    expect(pcm.equals(whole)).toBe(true);
    const done = events.flatMap((event) => (event.type === "segment_done" ? [event] : []));
    expect(done.map(({ failed, cancelled }) => failed || cancelled)).toEqual([false, false]);
    expect(done.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(pcm.length);
  });

  it("with pause tags has their silence to the sample, at every door", async () => {
    const tagged = (ms: number) => ({
      ...WISH,
      input: `The lamp was lit. [pause ${ms}ms] Nobody had come home.`,
      pause_tags: true,
    });
    const { bytes, receipt } = await client.speech({ ...tagged(0), response_format: "pcm" });
    const wish = tagged(1250);
    const whole = await client.speech({ ...wish, response_format: "pcm" });
    expect(whole.bytes.length - bytes.length).toBe(
      2 * receipt.channels * 1.25 * receipt.sampleRate,
    );
    expect(Buffer.from(await (await client.stream(wish)).bytes()).equals(whole.bytes)).toBe(true);
    const deltas: Uint8Array[] = [];
    for await (const event of await client.sse(wish)) {
      if (event.type === "audio") deltas.push(event.bytes);
    }
    expect(Buffer.concat(deltas).equals(whole.bytes)).toBe(true);
    const { input, ...session } = wish;
    const { pcm, events } = await speakOn(socketFor(), session, input);
    expect(pcm.equals(whole.bytes)).toBe(true);
    const texts = events.flatMap((event) => (event.type === "segment" ? [event.text] : []));
    expect(texts).toEqual(["The lamp was lit.", "Nobody had come home."]);
  });

  it("gives each result of a batch as it comes", async () => {
    const items = [{ input: "One." }, { input: "Two." }, { input: " " }];
    const seen: number[] = [];
    for await (const { index } of client.batchResults({ items })) seen.push(index);
    expect(seen.sort()).toEqual([0, 1, 2]);
  });
});

describe("a lost connection", () => {
  it("costs no sample and repeats none, however often it happens", async () => {
    const whole = await wholePcm();
    const socket = socketFor();
    let cuts = 0;
    socket.on("chunk", ({ seq }) => {
      if (seq % 2 !== 0 || cuts === 6) return;
      cuts += 1;
      connections.at(-1)?.terminate();
    });
    const { pcm, events } = await speakOn(socket, WISH);
    expect(cuts).toBeGreaterThan(1);
    expect(connections.length).toBeGreaterThan(1);
    expect(pcm.equals(whole)).toBe(true);
    const seqs = events.flatMap((event) => (event.type === "chunk" ? [event.seq] : []));
    expect(seqs).toEqual(seqs.map((_, i) => i));
    const counts = (type: string) => events.filter((event) => event.type === type).length;
    expect([counts("segment"), counts("segment_done"), counts("done")]).toEqual([2, 2, 1]);
    expect(counts("error")).toBe(0);
  });

  it("keeps what is said meanwhile, and says nothing twice", async () => {
    const whole = await wholePcm();
    const socket = socketFor();
    const reader = socket.events();
    await socket.open(WISH);
    // Each piece of text is followed by a cut, so that many of them are sent twice.
    for (const [i, piece] of STORY.split(/(?<= )/).entries()) {
      socket.sendText(piece);
      if (i % 5 === 1) socket.reconnect();
    }
    connections.at(-1)?.terminate();
    socket.end();
    const parts: Uint8Array[] = [];
    const texts: string[] = [];
    for await (const event of reader) {
      if (event.type === "chunk") parts.push(event.bytes);
      if (event.type === "segment") texts.push(event.text);
      if (event.type === "done") break;
    }
    expect(texts.join(" ")).toBe(STORY);
    expect(Buffer.concat(parts).equals(whole)).toBe(true);
  });

  it("that cannot be resumed ends the session with its error", async () => {
    const socket = socketFor({ reconnect: false });
    socket.on("chunk", () => connections.at(-1)?.terminate());
    await expect(speakOn(socket, WISH)).rejects.toMatchObject({ code: "network", closeCode: 1006 });
    expect(socket.state).toBe("closed");
  });
});

describe("what goes wrong", () => {
  it.each([
    ["an unknown voice", { voice: "nobody" }, { code: "invalid_voice", status: 400 }],
    ["no text", { input: "  " }, { code: "input_empty", param: "input" }],
    ["a bad value", { speed: 9 }, { code: "schema_violation", param: "speed", retryable: false }],
    ["an unknown model", { model: "none" }, { code: "model_not_found", status: 404 }],
  ])("%s is told with code, field and hint", async (_, wrong, expected) => {
    const error = await client.stream({ input: "Hello.", ...wrong }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(SonantError);
    expect(error).toMatchObject(expected);
    expect(error.hint).not.toBe("");
  });

  it("on the socket is told as well, before and after it is open", async () => {
    const refused = socketFor();
    await expect(refused.open({ voice: "nobody" })).rejects.toMatchObject({
      code: "invalid_voice",
      retryable: false,
    });
    expect(refused.state).toBe("closed");

    const socket = socketFor();
    await socket.open(WISH);
    const error = new Promise((resolve) => socket.on("error", (event) => resolve(event)));
    socket.update({ voice: "nobody" });
    expect(await error).toMatchObject({ fatal: false, error: { code: "invalid_voice" } });
    expect(await socket.ping()).toBeGreaterThan(0);
  });

  it("a voice that is not there, and a route that is not there", async () => {
    await expect(client.voice("nobody")).rejects.toMatchObject({ code: "voice_not_found" });
    await expect(client.deleteVoice("nobody")).rejects.toMatchObject({ code: "voice_not_found" });
    const lost = new SpeechClient({ baseUrl: `${baseUrl}/elsewhere` });
    await expect(lost.limits()).rejects.toMatchObject({ code: "not_found", status: 404 });
  });

  it("a request that is stopped ends on the server as well", async () => {
    const stop = new AbortController();
    const read = async () => {
      const stream = await client.stream(
        { ...WISH, input: STORY.repeat(20) },
        { signal: stop.signal },
      );
      for await (const _ of stream) stop.abort();
    };
    await expect(read()).rejects.toMatchObject({ code: "aborted" });
    await until(() => house.service.openSessions === 0);
    await engineIdle(house);
  });
});

describe("the rest of the API", () => {
  it("tells about the server", async () => {
    expect((await client.health()).status).toBe("healthy");
    expect((await client.ready()).ready).toBe(true);
    expect((await client.load()).server_load).toBe(0);
    expect((await client.version()).version).toBe("0.0.0");
    const [model] = (await client.models()).data;
    expect((await client.model(model?.id ?? "")).id).toBe(model?.id);
    expect((await client.limits()).protocols).toContain(2);
    expect(await client.metrics()).toContain("tts_active_requests");
    expect((await client.openapi()).openapi).toMatch(/^3\./);
  });

  it("makes a voice from a recording, speaks with it, and deletes it", async () => {
    const { bytes } = await client.speech({ ...WISH, input: STORY, response_format: "wav" });
    const progress: number[] = [];
    const created = await client.uploadVoice(
      {
        name: "Echo",
        consent: "own voice",
        audio: { file: new Blob([Buffer.from(bytes)]), filename: "echo.wav" },
      },
      { onProgress: ({ sentBytes }) => progress.push(sentBytes) },
    );
    expect(progress).toEqual([0, bytes.length]);
    expect((await client.voices()).voices).toContain("echo");
    expect(await client.voice(created.id)).toMatchObject({ kind: "uploaded", name: "Echo" });
    const spoken = await client.speech({ voice: created.id, input: "Hello there." });
    expect(spoken.bytes.length).toBeGreaterThan(WAV_HEADER_BYTES);
    await client.deleteVoice("echo");
    expect((await client.voices()).voices).not.toContain("echo");

    const prompt = await client.createVoicePrompt({
      ref_audio: `data:audio/wav;base64,${Buffer.from(bytes).toString("base64")}`,
    });
    const again = await client.speech({ voice: prompt.id, input: "Hello there." });
    expect(again.receipt.usage?.input_token_details.audio_tokens).toBeGreaterThan(0);
  });
});
