/**
 * The realtime doors for tests, on a server of their own: over the starter model as it is shipped, or over the tone
 * engine, which fails and waits when it is told to. Several doors with different limits may share one house.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { oneModel } from "../house/test-models.ts";
import type { FamilyAbilities } from "../house/types.ts";
import { Access } from "../http/access.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { HostedEngine } from "../speech/engine-host.ts";
import { SonantSpeechService } from "../speech/service.ts";
import type { ToneEngine } from "../speech/test-engine.ts";
import { openHouse } from "../speech/test-house.ts";
import { Starter } from "../speech/test-starter.ts";
import type { VoiceLibrary } from "../voices/library.ts";
import { openVoiceLibrary } from "../voices/open-library.ts";
import type { RealtimeDeps } from "./deps.ts";
import { attachRealtime } from "./index.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Everything behind the doors. */
export interface TestHouse {
  readonly config: Config;
  readonly service: SonantSpeechService;
  readonly voices: VoiceLibrary;
  readonly metrics: Metrics;
  readonly abilities?: FamilyAbilities;
  /** Generations that ended because somebody cancelled them. */
  readonly aborts: () => number;
  close(): Promise<void>;
}

export interface ToneHouse extends TestHouse {
  readonly native: ToneEngine;
}

/** Keys of the configuration that a test sets. */
export type Changes = {
  readonly [Part in "sockets" | "limits" | "server"]?: Partial<Config[Part]>;
};

export interface Doors {
  readonly port: number;
  /** Address of the speech socket. */
  readonly url: string;
  /** Server's ends of the open connections, in the order in which they came. */
  readonly connections: readonly import("node:net").Socket[];
  close(): Promise<void>;
}

async function starterConfig(): Promise<Config> {
  return (await loadConfig({ environment: {}, root: ROOT })).config;
}

/** The shipped model behind a service that is ready. */
export async function openStarterHouse(): Promise<TestHouse> {
  const [config, starter] = await Promise.all([starterConfig(), Starter.load()]);
  const { engine, model } = starter;
  let aborts = 0;
  const watched: HostedEngine = {
    generate: (options) => {
      const stream = engine.generate(options);
      void stream.finished.then(({ reason }) => {
        if (reason === "cancelled") aborts += 1;
      });
      return stream;
    },
    encode: (...recording) => engine.encode(...recording),
    decode: (...codes) => engine.decode(...codes),
    stats: () => engine.stats(),
    close: () => engine.close(),
    info: engine.info,
  };
  const metrics = new Metrics();
  const service = new SonantSpeechService({
    model,
    config,
    metrics: metrics.forModel({ names: ["m"], sampleRate: model.audio.sampleRate }),
    loadEngine: async () => watched,
  });
  await service.start();
  const store = await mkdtemp(join(tmpdir(), "sonant-doors-"));
  const voices = await openVoiceLibrary({ model, engine, store });
  return {
    config,
    service,
    voices,
    metrics,
    aborts: () => aborts,
    async close() {
      await service.close();
      metrics.close();
      await rm(store, { recursive: true, force: true });
    },
  };
}

/** Voices that all sound alike, since tones have none. */
const ANY_VOICE = {
  onChange: () => () => {},
  get: async () => ({ kind: "preset" }),
  resolve: async () => ({ kind: "preset", prompt: { kind: "none" }, name: "clara" }),
} as unknown as VoiceLibrary;

/** The tone engine behind a service that is ready. */
export async function openToneHouse(): Promise<ToneHouse> {
  const config = await starterConfig();
  const metrics = new Metrics();
  const { service, native } = await openHouse({
    metrics: metrics.forModel({ names: ["m"], sampleRate: 8000 }),
  });
  return {
    config,
    service,
    native,
    voices: ANY_VOICE,
    metrics,
    abilities: { label: "tone" },
    aborts: () => native.generations.filter(({ isCancelled }) => isCancelled).length,
    async close() {
      await service.close();
      metrics.close();
    },
  };
}

/** Opens doors on any free port. */
export async function openDoors(
  house: TestHouse,
  changes: Changes = {},
  logger?: RealtimeDeps["logger"],
  cluster?: RealtimeDeps["cluster"],
): Promise<Doors> {
  const { service, voices, metrics, abilities } = house;
  const config: Config = {
    ...house.config,
    sockets: { ...house.config.sockets, ...changes.sockets },
    limits: { ...house.config.limits, ...changes.limits },
    server: { ...house.config.server, ...changes.server },
  };
  const server = createServer((_, response) => response.writeHead(404).end());
  const connections: import("node:net").Socket[] = [];
  server.on("connection", (socket) => connections.push(socket));
  const realtime = attachRealtime(server, {
    config,
    models: oneModel({ config, service, voices, abilities }),
    metrics,
    access: new Access(config.server),
    build: { version: "0.0.0", commit: undefined },
    ...(logger === undefined ? {} : { logger }),
    cluster,
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `ws://127.0.0.1:${port}/v1/audio/speech/ws`,
    connections,
    async close() {
      await realtime.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits for something to become true; the test's own limit ends the waiting. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Waits until the engine holds nothing. */
export function engineIdle({ service }: TestHouse): Promise<void> {
  return until(() => {
    const { live, waiting } = service.host.engine.stats();
    return live + waiting === 0;
  });
}
