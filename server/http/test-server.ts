/** An HTTP server over a fake speech service, for tests: the real configuration, the real library of voices. */
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { type OneModel, oneModel } from "../house/test-models.ts";
import type { ErrorCode } from "../protocol/error-registry.ts";
import type { AudioFormat } from "../protocol/formats.ts";
import { ReferenceEncoder } from "../voices/encode-reference.ts";
import { FileVoiceStore } from "../voices/file-store.ts";
import { VoiceLibrary } from "../voices/library.ts";
import { VoicePrompts } from "../voices/prompts.ts";
import { ReferenceSource } from "../voices/reference-source.ts";
import { FakeCodec, fakeModel } from "../voices/test-voices.ts";
import { Access } from "./access.ts";
import type { HttpDeps } from "./deps.ts";
import { createHttpServer } from "./server.ts";
import { FakeSpeech, type Fate } from "./test-speech.ts";

const ROOT = join(import.meta.dirname, "../..");

const AUDIO = { sampleRate: 48_000, channels: 2, samplesPerFrame: 3840, framesPerSecond: 12.5 };

const SAMPLING = {
  textTemperature: 1,
  textTopK: 50,
  textTopP: 1,
  audioTemperature: 0.4,
  audioTopK: 20,
  audioTopP: 0.9,
  audioRepetitionPenalty: 1,
};

export const TEST_MODEL = fakeModel({ audio: AUDIO, sampling: SAMPLING });

/** The shipped configuration with some of it replaced. */
export async function testConfig(server: Partial<Config["server"]> = {}): Promise<Config> {
  const { config } = await loadConfig({ environment: {}, root: ROOT });
  return { ...config, server: { ...config.server, ...server } };
}

export interface TestServer {
  readonly app: FastifyInstance;
  readonly speech: FakeSpeech;
  readonly url: string;
  /** Reasons of the refusals that were counted. */
  readonly rejected: ErrorCode[];
  /** Formats whose encoding was counted. */
  readonly encoded: AudioFormat[];
  close(): Promise<void>;
}

export interface TestOptions {
  readonly fate?: Fate;
  readonly server?: Partial<Config["server"]>;
  readonly deps?: Partial<HttpDeps>;
  /** Of the one model. */
  readonly model?: Partial<OneModel>;
}

/** A server that listens on a free port. */
export async function startTestServer(options: TestOptions = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "sonant-http-"));
  const config = await testConfig(options.server);
  const speech = new FakeSpeech(TEST_MODEL, options.fate);
  const rejected: ErrorCode[] = [];
  const encoded: AudioFormat[] = [];
  const voices = new VoiceLibrary({
    model: TEST_MODEL,
    store: await FileVoiceStore.open(folder, { maxVoices: 10 }),
    encoder: new ReferenceEncoder(new FakeCodec(), TEST_MODEL, "codec"),
    source: new ReferenceSource(),
    prompts: new VoicePrompts(),
  });
  const app = createHttpServer({
    config,
    models: oneModel({
      config: options.deps?.config ?? config,
      service: speech,
      voices,
      ...options.model,
    }),
    metrics: {
      text: async () => "tts_active_requests 0\n",
      contentType: "text/plain",
      rejected: (reason) => rejected.push(reason),
      encoded: (format) => encoded.push(format),
    },
    access: new Access(config.server),
    build: { version: "1.2.3", commit: "abc" },
    ...options.deps,
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  return {
    app,
    speech,
    url: `http://127.0.0.1:${port}`,
    rejected,
    encoded,
    async close() {
      app.server.closeAllConnections();
      await app.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Posts JSON. */
export function post(
  { url }: Pick<TestServer, "url">,
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    body: JSON.stringify(body),
    ...init,
    headers: { "content-type": "application/json", ...init.headers },
  });
}
