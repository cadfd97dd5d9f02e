/** What a server says about itself: models, health, load, limits, metrics, version, and the description of its API. */
import type { FastifyInstance } from "fastify";
import { configSha256 } from "../config/config.ts";
import { asyncApiDocument } from "../protocol/asyncapi.ts";
import {
  type Health,
  type Load,
  type ModelCard,
  modelList,
  type Ready,
  type Version,
} from "../protocol/documents.ts";
import { ApiError } from "../protocol/envelope.ts";
import { FORMATS, isAlias, SAMPLE_RATES } from "../protocol/formats.ts";
import type { LimitsDocument } from "../protocol/limits.ts";
import { openApiDocument } from "../protocol/openapi.ts";
import type { SpeechService } from "../speech/types.ts";
import type { HttpDeps } from "./deps.ts";

export function addStatusRoutes(app: FastifyInstance, deps: HttpDeps): void {
  addHealthRoutes(app, deps);
  addModelRoutes(app, deps);
  const { config, metrics, build } = deps;
  const version: Omit<Version, "device"> = {
    version: build.version,
    ...(build.commit === undefined ? {} : { commit: build.commit }),
    model: config.servedModelNames[0] ?? "",
    config_sha256: configSha256(config),
  };
  const secured = config.server.apiKeys.length > 0;
  const openApi = openApiDocument({ version: build.version, secured });
  const asyncApi = asyncApiDocument({ version: build.version, secured });

  app.get("/version", (): Version => {
    const engine = deps.engine?.();
    return { ...version, device: deps.device(), ...(engine === undefined ? {} : { engine }) };
  });
  app.get("/openapi.json", () => openApi);
  app.get("/asyncapi.json", () => asyncApi);
  app.get("/v1/audio/speech/limits", () => limitsDocument(deps));
  app.get("/metrics", async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  app.post("/v1/audio/generate", () => {
    const message = "Sound that is not speech is not made here; use /v1/audio/speech.";
    throw new ApiError("route_reserved", message);
  });
}

function addHealthRoutes(app: FastifyInstance, { service, device, config }: HttpDeps): void {
  app.get("/health", (_request, reply) => {
    const health = healthOf(service, device());
    return reply.code(health.status === "healthy" ? 200 : 503).send(health);
  });

  app.get("/ready", (_request, reply) => {
    const ready = readiness(service, config.engine.maxQueue);
    return reply.code(ready.ready ? 200 : 503).send(ready);
  });

  // The same for eyes and shell scripts: the verdict on the first line, then one fact a line.
  app.get("/healthz", (_request, reply) => {
    const { status, ...facts } = healthOf(service, device());
    return reply
      .code(status === "healthy" ? 200 : 503)
      .type(PLAIN)
      .send(lines(status, facts));
  });

  app.get("/readyz", (_request, reply) => {
    const { ready, ...facts } = readiness(service, config.engine.maxQueue);
    return reply
      .code(ready ? 200 : 503)
      .type(PLAIN)
      .send(lines(ready ? "ready" : "not ready", facts));
  });

  app.get("/ping", () => ({ status: "ok" }));

  app.get("/load", (): Load => ({ server_load: service.load.active + service.load.waiting }));
}

const PLAIN = "text/plain; charset=utf-8";

function lines(verdict: string, facts: object): string {
  const named = Object.entries(facts).map(([name, value]) => `${name} ${value}\n`);
  return [`${verdict}\n`, ...named].join("");
}

function healthOf({ state }: SpeechService, device: string): Health {
  const { stage, reason } = state;
  // A server that drains is still well: it must not be killed before it has finished.
  const isHealthy = stage === "ready" || stage === "draining";
  return isHealthy
    ? { status: "healthy", device }
    : { status: "unhealthy", reason: reason ?? stage };
}

const NOT_READY = {
  loading: "warming_up",
  warming: "warming_up",
  draining: "shutting_down",
  failed: "engine_dead",
} as const;

function readiness({ state, load }: SpeechService, maxWaiting: number): Ready {
  const { active, waiting, capacity } = load;
  const figures = { active, waiting, capacity };
  if (state.stage !== "ready") return { ready: false, reason: NOT_READY[state.stage], ...figures };
  const isFull = active >= capacity && waiting >= maxWaiting;
  return isFull ? { ready: false, reason: "overloaded", ...figures } : { ready: true, ...figures };
}

function addModelRoutes(app: FastifyInstance, { config }: HttpDeps): void {
  const { servedModelNames, openaiAliases } = config;
  const list = modelList(servedModelNames, openaiAliases, Math.floor(Date.now() / 1000));

  app.get("/v1/models", () => list);

  // A name may contain slashes, as those of model hubs do.
  app.get<{ Params: { "*": string } }>("/v1/models/*", ({ params }): ModelCard => {
    const id = params["*"];
    const known = list.data.find((card) => card.id === id);
    if (known !== undefined) return known;
    const root = list.data[0];
    if (root !== undefined && isAlias(id, openaiAliases)) return { ...root, id };
    const message = `The model \`${id}\` does not exist.`;
    throw new ApiError("model_not_found", message, { param: "model" });
  });
}

function limitsDocument({ config, service }: HttpDeps): LimitsDocument {
  const { audio, presets, defaultVoice, capabilities } = service.model;
  return {
    limits: config.limits,
    formats: [...FORMATS],
    sample_rate: audio.sampleRate,
    sample_rates: [...SAMPLE_RATES],
    channels: [...config.output.allowChannels],
    default_channels: config.output.channels,
    frame_ms: 1000 / audio.framesPerSecond,
    presets: [...presets.keys()],
    default_voice: config.voices.default ?? defaultVoice ?? null,
    languages: [...capabilities.languages],
    protocols: [1, 2],
    word_timestamps: false,
    idle_timeout_s: config.sockets.idleTimeoutMs / 1000,
  };
}
