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
import { type Config, configSha256, printable } from "./config/config.ts";
import { ConfigError, type Environment } from "./config/environment.ts";
import { loadConfig } from "./config/load.ts";
import { loadEngines } from "./house/engines.ts";
import { type Choice, chooseModels, UnknownModel } from "./house/first-models.ts";
import { HouseModels } from "./house/models.ts";
import type { ServedModel } from "./house/types.ts";
import { Access, PERIOD_MS } from "./http/access.ts";
import { openPages, PagesMissing } from "./http/pages.ts";
import { createHttpServer } from "./http/server.ts";
import { Metrics } from "./metrics/metrics.ts";
import type { Model } from "./models/types.ts";
import { attachRealtime } from "./realtime/index.ts";
import type { ReferenceCodec } from "./voices/encode-reference.ts";
import { FileVoiceStore } from "./voices/file-store.ts";
import { openVoiceLibrary } from "./voices/open-library.ts";
import type { VoiceStore } from "./voices/store.ts";

const ROOT = join(import.meta.dirname, "..");
const USAGE =
  "Usage: npm start -- [--config FILE] [--port 8091] [--host 127.0.0.1] [--model NAME|FOLDER] [--threads N] [--no-ui]";
/** Signals that come this close to each other were sent once, by a terminal and by a wrapper. */
const SAME_SIGNAL_MS = 500;
/** How often a closing server looks for connections that have fallen idle. */
const IDLE_SWEEP_MS = 50;

/** Exit status that asks whoever watches over this process to start it again; `npm start` does (scripts/start.mjs). */
const START_AGAIN = 75;

/** An obstacle that one sentence explains. */
class StartError extends Error {}

interface Options {
  readonly choice: Choice;
  readonly environment: Environment;
  readonly ui: boolean;
}

/** Options of the command line go before variables, which go before the deploy file. */
async function readOptions(args: string[], env: Environment): Promise<Options> {
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
  const config = values.config && resolve(values.config);
  const choice = await chooseModels({ root: ROOT, config, model: values.model, environment: env });
  const given = {
    SONANT_PORT: values.port ?? (env.PORT || undefined),
    SONANT_HOST: values.host ?? (env.HOST || undefined),
    SONANT_THREADS: values.threads,
  };
  const kept = Object.entries(given).filter(([, value]) => value !== undefined);
  const environment = { ...env, ...Object.fromEntries(kept), ...choice.variables };
  return { choice, environment, ui: !values["no-ui"] };
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
async function voiceStore({ voices, limits }: Config, log: Logger): Promise<VoiceStore> {
  const options = {
    maxVoices: limits.max_uploaded_voices,
    log: (sentence: string) => log.warn(sentence),
  };
  if (voices.s3 === undefined) return FileVoiceStore.open(voices.directory, options);
  const { S3VoiceStore } = await import("./voices/s3-store.ts");
  return S3VoiceStore.open(voices.s3, options);
}

/** Opens the voices of a model over the one store of uploaded voices. */
function voiceOpener({ references, limits }: Config, store: VoiceStore, parts: VoiceParts) {
  const { reserved, shared, log } = parts;
  return (model: Model, engine: ReferenceCodec) =>
    openVoiceLibrary({
      model,
      engine,
      store,
      reserved,
      prompts: { shared },
      limits,
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
}

interface VoiceParts {
  /** Names of the voices of all models, which no upload may take. */
  readonly reserved: () => readonly string[];
  readonly shared: Awaited<ReturnType<typeof sharedPrompts>>;
  readonly log: Logger;
}

/** Builds all parts; nothing listens and no engine is loaded yet. */
async function build(config: Config, ui: boolean, log: Logger) {
  const metrics = new Metrics();
  const cluster = await openCluster(config, log);
  const deviceLost = new AbortController();
  const models: HouseModels = new HouseModels(config, {
    metrics,
    loadEngine: loadEngines,
    onDeviceLost: () => deviceLost.abort(),
    openVoices: voiceOpener(config, await voiceStore(config, log), {
      reserved: () => models.all.flatMap(({ model }) => [...(model?.presets.keys() ?? [])]),
      shared: await sharedPrompts(cluster),
      log,
    }),
    log: (level, sentence) => log[level](sentence),
  });
  await models.read();
  const pages = ui ? await openPages(ROOT) : undefined;
  const deps = {
    config,
    models,
    metrics,
    access: await openAccess(config, cluster, log),
    cluster,
    build: await readBuildInfo(ROOT, process.env),
    logger: log,
    pages: pages?.handle,
  };
  const http = createHttpServer(deps);
  const realtime = attachRealtime(http.server, deps);
  return {
    config,
    metrics,
    models,
    http,
    realtime,
    pages,
    cluster,
    deviceLost: deviceLost.signal,
    log,
  };
}

type House = Awaited<ReturnType<typeof build>>;

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

/** Refuses what is new, lets what is open end within the limit, and then ends all of it. */
async function shutDown({
  config,
  models,
  realtime,
  http,
  pages,
  cluster,
  metrics,
  log,
}: House): Promise<void> {
  const until = performance.now() + config.server.drainTimeoutMs;
  log.info({ active: models.load.active }, "shutting down");
  await models.drain(config.server.drainTimeoutMs);
  await realtime.close();
  // Sound that is spoken may still be on its way to a slow reader.
  const timer = setTimeout(
    () => http.server.closeAllConnections(),
    Math.max(0, until - performance.now()),
  );
  // Who has been answered only now keeps his connection for a next request that would be refused.
  const sweep = setInterval(() => http.server.closeIdleConnections(), IDLE_SWEEP_MS);
  await http.close();
  clearTimeout(timer);
  clearInterval(sweep);
  await pages?.close();
  cluster?.close();
  await models.close();
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

/** A GPU that has met a fault is given to new processes only, so this one makes room for its successor. */
async function makeWay(house: House): Promise<void> {
  house.log.fatal("The GPU is lost to this process; it ends, so that another one may be started.");
  await shutDown(house);
  process.exit(START_AGAIN);
}

function fail(log: Logger, error: unknown): never {
  log.fatal({ err: error }, "failed");
  process.exit(1);
}

/** What speaks, and what else is there, for whoever started the server. */
function greeting({ first, all }: HouseModels, url: string): string[] {
  const speaking = all.find(({ state }) => state.stage === "ready") ?? first;
  const others = all.filter((model) => model !== speaking);
  return [
    `${nameOf(speaking)} speaks at ${url} (${speaking.engine?.description ?? speaking.device})`,
    ...others.map((model) => {
      const { stage, reason } = model.state;
      if (stage === "failed") return `${nameOf(model)} cannot be used: ${reason}`;
      const how =
        stage === "ready" ? "speaks as well" : "is here as well, and loaded when asked for";
      return `${nameOf(model)} ${how}: "model": "${model.id}"`;
    }),
  ];
}

function nameOf({ model, id }: ServedModel): string {
  return model?.name ?? id;
}

async function main() {
  const { choice, environment, ui } = await readOptions(process.argv.slice(2), process.env);
  const { file, more } = choice;
  const { config, warnings } = await loadConfig({ file, more, environment, root: ROOT });
  const log = pino({ level: config.server.logLevel, base: null });
  log.info({ config: printable(config), sha256: configSha256(config) }, "configuration");
  for (const warning of warnings) log.warn(warning);

  const house = await build(config, ui, log);
  obeySignals(house);
  house.deviceLost.addEventListener("abort", () => {
    makeWay(house).catch((error: unknown) => fail(log, error));
  });
  const url = await listen(house);
  try {
    await house.models.start();
  } catch (error) {
    await shutDown(house);
    throw error;
  }
  for (const line of greeting(house.models, url)) console.log(line);
}

main().catch((error: unknown) => {
  const { code } = error as { code?: string };
  if (error instanceof ConfigError) {
    console.error([`${error.source}:`, ...error.problems].join("\n  "));
  } else {
    const isExpected =
      error instanceof StartError ||
      error instanceof UnknownModel ||
      error instanceof PagesMissing ||
      code !== undefined;
    console.error(isExpected ? (error as Error).message : error);
  }
  if (code?.startsWith("ERR_PARSE_ARGS")) console.error(USAGE);
  process.exitCode = 1;
});
