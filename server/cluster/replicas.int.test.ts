/**
 * Three servers as an operator runs them, behind nginx, with one Redis and one bucket: voices, limits, and what becomes
 * of everybody's speech when one of the three is killed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { type HelperProcess, named } from "../cases/helper-process.ts";
import { ObjectService } from "../cases/object-service.ts";
import { PROXY_MISSING, startProxy } from "../cases/proxy-process.ts";
import { REDIS_MISSING, startRedis } from "../cases/redis-process.ts";
import { ServerProcess } from "../cases/server-process.ts";
import { SonantError, SpeechClient, SpeechSocket } from "../protocol/client/index.ts";

const MISSING = REDIS_MISSING ?? PROXY_MISSING;
const REPLICAS = 3;
const PER_MINUTE = 20;
/** Each client has its own, since what they may ask in a minute is counted. */
const KEYS = Array.from({ length: 60 }, (_, i) => `key-${i}`);
const WISH = { voice: "clara", seed: 11 } as const;
const LONG = "The ferry leaves at nine, and the next one leaves at noon. ".repeat(3);

let redis: HelperProcess;
let bucket: ObjectService;
let proxy: HelperProcess;
const servers: ServerProcess[] = [];
const keys = [...KEYS];

beforeAll(async () => {
  if (MISSING !== undefined) return;
  [redis, bucket] = await Promise.all([startRedis(), ObjectService.start()]);
  for (let i = 0; i < REPLICAS; i++) servers.push(await startServer());
  proxy = await startProxy(servers.map(({ url }) => Number(new URL(url).port)));
});
afterAll(async () => {
  await proxy?.close();
  await Promise.all(servers.map((server) => server.close()));
  await bucket?.close();
  await redis?.close();
});

function startServer(): Promise<ServerProcess> {
  const { endpoint, bucket: name } = bucket;
  return ServerProcess.start({
    settings: {
      stages: [{ stage_id: 0, threads: 1, max_num_seqs: 8 }],
      server: { requests_per_minute: PER_MINUTE, trust_proxy: true },
      voices: { s3: { bucket: name, endpoint } },
    },
    environment: {
      ...bucket.environment,
      SONANT_DEVICE: "cpu",
      SONANT_API_KEY: KEYS.join(","),
      SONANT_REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    },
  });
}

const front = () => `http://127.0.0.1:${proxy.port}`;

/** A client that has asked nothing yet. */
function client(baseUrl = front()): SpeechClient {
  return new SpeechClient({ baseUrl, apiKey: keys.pop() });
}

async function pcmOf(speaker: SpeechClient, wish: object): Promise<Buffer> {
  const asked = { ...WISH, input: LONG, response_format: "pcm" as const, ...wish };
  return Buffer.from((await speaker.speech(asked)).bytes);
}

/** Calls again, as a client may where an error says that it can help. */
async function untilItWorks<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const mayTryAgain = error instanceof SonantError && error.retryable;
      if (!mayTryAgain || attempt === 5) throw error;
      await sleep(error.retryAfterMs ?? 100);
    }
  }
}

/** Lines of a server's log about requests for speech. */
const spoken = ({ log }: ServerProcess) =>
  log.filter((line) => line.includes('"/v1/audio/speech"') && line.includes('"status":200')).length;

async function openSockets({ url }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^tts_ws_sessions(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1]);
}

/** What one speaker heard, and what ended it before its time. */
interface Heard {
  readonly pcm: Buffer;
  readonly error: unknown;
}

/** Speaks over HTTP; `onSound` is called with the first sound. */
async function overHttp(onSound: () => void): Promise<Heard> {
  const parts: Uint8Array[] = [];
  try {
    for await (const { bytes } of await client().stream({ ...WISH, input: LONG })) {
      if (parts.push(bytes) === 1) onSound();
    }
    return { pcm: Buffer.concat(parts), error: undefined };
  } catch (error) {
    return { pcm: Buffer.concat(parts), error };
  }
}

/** Speaks on a socket that comes from an address of its own, by which nginx chooses a server. */
async function overSocket(address: string, onSound: () => void): Promise<Heard> {
  class LocalWebSocket extends WebSocket {
    constructor(url: string, protocols: string[] = [], options: ClientOptions = {}) {
      super(url, protocols, { ...options, localAddress: address });
    }
  }
  const reconnect = { baseMs: 20, maxMs: 100 };
  const socket = new SpeechSocket({
    baseUrl: front(),
    apiKey: keys.pop(),
    WebSocket: LocalWebSocket,
    reconnect,
  });
  const parts: Uint8Array[] = [];
  try {
    const reader = socket.events();
    await socket.open(WISH);
    socket.sendText(LONG);
    socket.end();
    for await (const event of reader) {
      if (event.type === "chunk" && parts.push(event.bytes) === 1) onSound();
      if (event.type === "done") break;
    }
    return { pcm: Buffer.concat(parts), error: undefined };
  } catch (error) {
    return { pcm: Buffer.concat(parts), error };
  } finally {
    await socket.close();
  }
}

describe.skipIf(MISSING)(named("three servers", MISSING), () => {
  it("speak with a voice within a second of its upload through one of them", async () => {
    const each = servers.map(({ url }) => client(url));
    const [one = client(), two = client(), three = client()] = each;
    const text = "A voice to be shared by all.";
    const { bytes } = await one.speech({ ...WISH, input: text, response_format: "wav" });
    const speak = (speaker: SpeechClient) => pcmOf(speaker, { input: "Shared.", voice: "Visitor" });
    // All of them have looked, and know of no such voice.
    for (const speaker of each) {
      await expect(speak(speaker)).rejects.toMatchObject({ code: "invalid_voice" });
    }
    const file = new Blob([Buffer.from(bytes)], { type: "audio/wav" });
    const audio = { file, filename: "visitor.wav" };
    const { id } = await one.uploadVoice({ name: "Visitor", consent: "test", audio });
    for (const speaker of each) {
      const { uploaded_voices: uploaded } = await speaker.voices();
      expect(uploaded.map((voice) => voice.id)).toEqual([id]);
    }
    await sleep(1000);
    const [first = Buffer.alloc(0), ...others] = await Promise.all(each.map(speak));
    expect(first.length).toBeGreaterThan(10_000);
    expect(others.map((pcm) => pcm.equals(first))).toEqual([true, true]);
    await two.deleteVoice("visitor");
    expect((await three.voices()).uploaded_voices).toEqual([]);
  });

  it("speak with a prompt that was made through one of them", async () => {
    const [one = client(), ...others] = servers.map(({ url }) => client(url));
    const wish = { ...WISH, input: "A voice for a while.", response_format: "wav" as const };
    const { bytes } = await one.speech(wish);
    const recording = `data:audio/wav;base64,${Buffer.from(bytes).toString("base64")}`;
    const { id } = await one.createVoicePrompt({ ref_audio: recording });
    const speak = (speaker: SpeechClient) => pcmOf(speaker, { input: "Here.", voice: id });
    const first = await speak(one);
    for (const speaker of others) expect((await speak(speaker)).equals(first)).toBe(true);
  });

  it("count the requests of a client together", async () => {
    const apiKey = keys.pop() ?? "";
    const from = performance.now();
    const asking = Array.from({ length: PER_MINUTE + 10 }, async (_, i) => {
      const address = [front(), ...servers.map(({ url }) => url)][i % 4];
      const headers = { authorization: `Bearer ${apiKey}` };
      return fetch(`${address}/v1/models`, { headers });
    });
    const answers = await Promise.all(asking);
    // What was allowed anew while this went on, on a machine that is slow.
    const refilled = Math.ceil(((performance.now() - from) / 60_000) * PER_MINUTE);
    const allowed = answers.filter(({ status }) => status === 200).length;
    expect(allowed).toBeGreaterThanOrEqual(PER_MINUTE);
    expect(allowed).toBeLessThanOrEqual(PER_MINUTE + refilled);
    const refused = answers.filter(({ status }) => status === 429);
    expect(allowed + refused.length).toBe(answers.length);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("share the work, and one that is killed harms nobody for long", async () => {
    const whole = await pcmOf(client(), {});
    const counts = new Map(servers.map((server) => [server, spoken(server)]));
    const sounding: Promise<void>[] = [];
    const begin = (speak: (onSound: () => void) => Promise<Heard>) => {
      let heard: Promise<Heard> | undefined;
      sounding.push(
        new Promise((resolve) => {
          heard = speak(resolve);
        }),
      );
      return heard as unknown as Promise<Heard>;
    };
    const streams = Array.from({ length: 6 }, () => begin(overHttp));
    const sockets = Array.from({ length: 6 }, (_, i) =>
      begin((onSound) => overSocket(`127.0.0.${i + 2}`, onSound)),
    );
    await Promise.all(sounding);
    const open = await Promise.all(servers.map(openSockets));
    const [victim] = servers.splice(open.indexOf(Math.max(...open)), 1);
    victim?.kill("SIGKILL");
    await victim?.exited;

    const heard = await Promise.all([...streams, ...sockets]);
    const [lost, kept] = [heard.filter(isLost), heard.filter((each) => !isLost(each))];
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.map(({ pcm }) => pcm.equals(whole))).toEqual(kept.map(() => true));
    // Nobody takes a part for the whole, and what came is the beginning of what would have come.
    for (const { pcm, error } of lost) {
      expect(error).toBeInstanceOf(SonantError);
      expect(pcm.length).toBeLessThan(whole.length);
      expect(pcm.equals(whole.subarray(0, pcm.length))).toBe(true);
    }
    const codes = new Set(lost.map(({ error }) => (error as SonantError).code));
    expect([...codes].sort()).toEqual(["interrupted", "resume_unavailable"]);

    const again = await Promise.all(lost.map(() => untilItWorks(() => pcmOf(client(), {}))));
    expect(again.map((pcm) => pcm.equals(whole))).toEqual(again.map(() => true));
    const anew = await overSocket("127.0.0.2", () => {});
    expect(anew.error).toBeUndefined();
    expect(anew.pcm.equals(whole)).toBe(true);
    // Each of the others had its part, beside what it took over.
    for (const [server, before] of counts) {
      if (server !== victim) expect(spoken(server)).toBeGreaterThan(before);
    }
    await victim?.close();
  });

  it("leave in order when they are told to", async () => {
    for (const server of servers) server.kill("SIGTERM");
    const exits = await Promise.all(servers.map(({ exited }) => exited));
    expect(exits.map(({ code }) => code)).toEqual(servers.map(() => 0));
  });
});

const isLost = ({ error }: Heard) => error !== undefined;
