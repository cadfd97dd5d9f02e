/**
 * The composition root: builds every part from the configuration, opens the doors, and ends all of it in order. The only
 * file that knows every part.
 */
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Logger, pino } from "pino";
import type { Cluster } from "./cluster/cluster.ts";
import { readBuildInfo } from "./config/build-info.ts";
import { type Config, configSha256, type Device, printable } from "./config/config.ts";
import { ConfigError, type Environment } from "./config/environment.ts";
import { loadConfig } from "./config/load.ts";
import { Engine } from "./engine/engine.ts";
import { EngineGroup } from "./engine/engine-group.ts";
import type { EngineStats, LoadOptions } from "./engine/types.ts";
import { Access, PERIOD_MS } from "./http/access.ts";
import { openPages, PagesMissing } from "./http/pages.ts";
import { createHttpServer } from "./http/server.ts";
import { Metrics } from "./metrics/metrics.ts";
import { pulledHint } from "./models/hub/pulled-hint.ts";
import { loadModel } from "./models/registry.ts";
import type { EngineFacts } from "./protocol/documents.ts";
import { attachRealtime } from "./realtime/index.ts";
import type { HostedEngine } from "./speech/engine-host.ts";
import { SonantSpeechService } from "./speech/service.ts";
import type { ReferenceCodec } from "./voices/encode-reference.ts";
import { openVoiceLibrary } from "./voices/open-library.ts";
import type { VoiceStore } from "./voices/store.ts";

const ROOT = join(import.meta.dirname, "..");
const USAGE =
  "Usage: npm start -- [--config FILE] [--port 8091] [--host 127.0.0.1] [--model FOLDER] [--threads N] [--no-ui]";
/** Signals that come this close to each other were sent once, by a terminal and by a wrapper. */
const SAME_SIGNAL_MS = 500;

/** An obstacle that one sentence explains. */
class StartError extends Error {}

interface Options {
  readonly config: string | undefined;
  readonly environment: Environment;
  readonly ui: boolean;
}

/** Options of the command line go before variables, which go before the deploy file. */
function readOptions(args: string[], env: Environment): Options {
  const { values } = parseArgs({
    args,
    options: {
      config: { type: "string" },
      port: { type: "string" },
      host: { type: "string" },
      model: { type: "string" },
      threads: { type: "string" },
      "no-ui": { type: "boolean", default: false },
    },
  });
  const given = {
    SONANT_PORT: values.port ?? (env.PORT || undefined),
    SONANT_HOST: values.host ?? (env.HOST || undefined),
    SONANT_MODEL: values.model && resolve(values.model),
    SONANT_THREADS: values.threads,
  };
  const kept = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    config: values.config && resolve(values.config),
    environment: { ...env, ...Object.fromEntries(kept) },
    ui: !values["no-ui"],
  };
}

const PRECISIONS = { auto: undefined, float32: "fp32", int8: "int8", bfloat16: "bf16" } as const;

function engineOptions({ model, engine }: Config, device: Device): LoadOptions {
  const precision = PRECISIONS[engine.precision];
  return {
    lmFolder: join(model, "lm"),
    codecFolder: join(model, "codec"),
    device,
    threads: engine.threads,
    ...(precision === undefined ? {} : { precision }),
    limits: {
      maxSequences: engine.maxSequences,
      maxParked: engine.maxParked,
      maxWaiting: engine.maxQueue,
      prefillSliceRows: engine.prefillSliceRows,
      voiceCacheBytes: engine.voiceCacheBytes,
      encodeSliceFrames: engine.encodeSliceFrames,
    },
  };
}

/** One engine, or one on each of several devices. */
function loadEngines(config: Config): Promise<HostedEngine> {
  const { devices } = config.engine;
  const loads = devices.map((device) => () => Engine.load(engineOptions(config, device)));
  const [only] = loads;
  return only !== undefined && loads.length === 1 ? only() : EngineGroup.load(loads);
}

/** The Redis that several servers share; its client is loaded only where there is one. */
async function openCluster({ cluster }: Config, log: Logger): Promise<Cluster | undefined> {
  const { redisUrl, keyPrefix } = cluster;
  if (redisUrl === undefined) return undefined;
  const { Cluster } = await import("./cluster/cluster.ts");
  return new Cluster({ redisUrl, keyPrefix, log: (level, sentence) => log[level](sentence) });
}

async function sharedPrompts(cluster: Cluster | undefined) {
  if (cluster === undefined) return undefined;
  const { SharedPrompts } = await import("./cluster/shared-prompts.ts");
  return new SharedPrompts(cluster);
}

/** Who may call, and how often: counted together with the other servers of a cluster. */
async function openAccess({ server }: Config, cluster: Cluster | undefined, log: Logger) {
  if (cluster === undefined || server.requestsPerMinute === 0) return new Access(server);
  const { SharedRateLimiter } = await import("./http/shared-rate-limiter.ts");
  const limiter = new SharedRateLimiter({
    requests: server.requestsPerMinute,
    periodMs: PERIOD_MS,
    cluster,
    log: (sentence) => log.warn(sentence),
  });
  return new Access({ ...server, limiter });
}

/** Where uploaded voices are kept: a folder, or a bucket, whose client is loaded only where there is one. */
async function voiceStore({ voices, limits }: Config, log: Logger): Promise<string | VoiceStore> {
  if (voices.s3 === undefined) return voices.directory;
  const { S3VoiceStore } = await import("./voices/s3-store.ts");
  const maxVoices = limits.max_uploaded_voices;
  return S3VoiceStore.open(voices.s3, { maxVoices, log: (sentence) => log.warn(sentence) });
}

/** Builds all parts; nothing listens and no engine is loaded yet. */
async function build(config: Config, ui: boolean, log: Logger) {
  const model = await loadModel(config.model);
  const metrics = new Metrics({
    models: config.servedModelNames,
    sampleRate: model.audio.sampleRate,
  });
  const service = new SonantSpeechService({
    model,
    config,
    loadEngine: () => loadEngines(config),
    metrics,
    log: (level, message) => log[level](message),
  });
  const cluster = await openCluster(config, log);
  const { references } = config;
  const voices = await openVoiceLibrary({
    model,
    engine: codecOf(service),
    store: await voiceStore(config, log),
    prompts: { shared: await sharedPrompts(cluster) },
    limits: config.limits,
    fetch: {
      allowPrivate: references.allowPrivate,
      allowedDomains: references.allowedDomains,
      extraPorts: references.allowedPorts,
      connectTimeoutMs: references.connectTimeoutMs,
      totalTimeoutMs: references.fetchTimeoutMs,
      maxBytes: references.maxBytes,
      maxRedirects: references.maxRedirects,
    },
    localFolder: references.allowedLocalPath,
    log: (sentence) => log.warn(sentence),
  });
  const pages = ui ? await openPages(ROOT) : undefined;
  const deps = {
    config,
    service,
    voices,
    metrics,
    access: await openAccess(config, cluster, log),
    cluster,
    build: await readBuildInfo(ROOT, process.env),
    device: () => deviceOf(config, service),
    engine: () => engineFacts(service),
    logger: log,
    pages: pages?.handle,
  };
  const http = createHttpServer(deps);
  const realtime = attachRealtime(http.server, deps);
  return { config, model, metrics, service, http, realtime, pages, cluster, log };
}

type House = Awaited<ReturnType<typeof build>>;

/** The engine in use, for recordings to be encoded by; it may be another one after a failure. */
function codecOf({ host }: SonantSpeechService): ReferenceCodec {
  return {
    get info() {
      return host.engine.info;
    },
    encode: (pcm, channels, sampleRate, options) =>
      host.engine.encode(pcm, channels, sampleRate, options),
  };
}

/** What the engine says of itself once it speaks. */
function engineFacts({ host }: SonantSpeechService): EngineFacts | undefined {
  if (host.stage !== "ready") return undefined;
  const { description, note, precision, threads, weightBytes } = host.engine.info;
  return {
    description,
    ...(note === null ? {} : { note }),
    precision,
    threads,
    weight_bytes: weightBytes,
  };
}

/** Where the engine runs; "auto" is known once one is loaded. */
function deviceOf({ engine }: Config, { host }: SonantSpeechService): string {
  if (engine.device !== "auto" || host.stage !== "ready") return engine.device;
  return host.engine.info.device === "cuda" ? "cuda:0" : "cpu";
}

/** Starts listening and returns the address for people. */
async function listen({ http, config }: House): Promise<string> {
  const { port, host } = config.server;
  try {
    await http.listen({ port, host, listenTextResolver: () => "listening" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new StartError(`Port ${port} is taken; choose another one with --port or PORT.`);
    }
    if (code === "EACCES") {
      throw new StartError(`Port ${port} needs more rights; choose one above 1023 with --port.`);
    }
    throw error;
  }
  const address = http.server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${address.port}`;
}

/** Figures of the engine for metrics; the last known ones while it is being replaced. */
function watchEngine({ metrics, service }: House): void {
  let last: EngineStats = service.host.engine.stats();
  metrics.watchLoad(() => service.load);
  metrics.watchEngine(() => {
    if (service.state.stage === "ready") last = service.host.engine.stats();
    return last;
  });
}

/** Refuses what is new, lets what is open end within the limit, and then ends all of it. */
async function shutDown({
  config,
  service,
  realtime,
  http,
  pages,
  cluster,
  metrics,
  log,
}: House): Promise<void> {
  const until = performance.now() + config.server.drainTimeoutMs;
  log.info({ active: service.load.active }, "shutting down");
  await service.drain(config.server.drainTimeoutMs);
  await realtime.close();
  // Sound that is spoken may still be on its way to a slow reader.
  const timer = setTimeout(
    () => http.server.closeAllConnections(),
    Math.max(0, until - performance.now()),
  );
  await http.close();
  clearTimeout(timer);
  await pages?.close();
  cluster?.close();
  await service.close();
  metrics.close();
  log.info("stopped");
}

/** The first signal drains; one that follows later stops at once. */
function obeySignals(house: House): void {
  let stoppedAt: number | undefined;
  const obey = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (stoppedAt === undefined) {
      stoppedAt = now;
      shutDown(house).catch((error: unknown) => fail(house.log, error));
    } else if (now - stoppedAt > SAME_SIGNAL_MS) {
      house.log.warn({ signal }, "stopped at once");
      process.exit(1);
    }
  };
  process.on("SIGINT", obey).on("SIGTERM", obey);
}

function fail(log: Logger, error: unknown): never {
  log.fatal({ err: error }, "failed");
  process.exit(1);
}

async function main() {
  const { config: file, environment, ui } = readOptions(process.argv.slice(2), process.env);
  const { config, warnings } = await loadConfig({ file, environment, root: ROOT });
  const log = pino({ level: config.server.logLevel, base: null });
  log.info({ config: printable(config), sha256: configSha256(config) }, "configuration");
  for (const warning of warnings) log.warn(warning);

  const house = await build(config, ui, log);
  obeySignals(house);
  const url = await listen(house);
  try {
    await house.service.start();
  } catch (error) {
    await shutDown(house);
    throw error;
  }
  watchEngine(house);
  const { description } = house.service.host.engine.info;
  console.log(`${house.model.name} speaks at ${url} (${description})`);
  if (!(file || environment.SONANT_CONFIG || environment.SONANT_MODEL)) {
    const hint = await pulledHint(ROOT);
    if (hint !== undefined) console.log(hint);
  }
}

main().catch((error: unknown) => {
  const { code } = error as { code?: string };
  if (error instanceof ConfigError) {
    console.error([`${error.source}:`, ...error.problems].join("\n  "));
  } else {
    const isExpected =
      error instanceof StartError || error instanceof PagesMissing || code !== undefined;
    console.error(isExpected ? (error as Error).message : error);
  }
  if (code?.startsWith("ERR_PARSE_ARGS")) console.error(USAGE);
  process.exitCode = 1;
});
