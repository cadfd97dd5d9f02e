/** What a server says about itself: health, load, limits, metrics, version, and the description of its API. */
import type { FastifyInstance } from "fastify";
import { configSha256 } from "../config/config.ts";
import type { Models, ServedModel } from "../house/types.ts";
import { asyncApiDocument } from "../protocol/asyncapi.ts";
import type { Health, Load, Ready, Version } from "../protocol/documents.ts";
import { ApiError } from "../protocol/envelope.ts";
import { FORMATS, SAMPLE_RATES } from "../protocol/formats.ts";
import type { LimitsDocument } from "../protocol/limits.ts";
import { openApiDocument } from "../protocol/openapi.ts";
import type { HttpDeps } from "./deps.ts";
import { modelOf, type OfModel } from "./requests.ts";

export function addStatusRoutes(app: FastifyInstance, deps: HttpDeps): void {
  addHealthRoutes(app, deps);
  const { config, metrics, build, models } = deps;
  const version: Omit<Version, "device"> = {
    version: build.version,
    ...(build.commit === undefined ? {} : { commit: build.commit }),
    model: models.first.id,
    config_sha256: configSha256(config),
  };
  const secured = config.server.apiKeys.length > 0;
  const openApi = openApiDocument({ version: build.version, secured });
  const asyncApi = asyncApiDocument({ version: build.version, secured });

  app.get("/version", (): Version => {
    const { engine, device } = models.first;
    return { ...version, device, ...(engine === undefined ? {} : { engine }) };
  });
  app.get("/openapi.json", () => openApi);
  app.get("/asyncapi.json", () => asyncApi);
  app.get<OfModel>("/v1/audio/speech/limits", (request) =>
    limitsDocument(models.named(modelOf(request))),
  );
  app.get("/metrics", async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  app.post("/v1/audio/generate", () => {
    const message = "Sound that is not speech is not made here; use /v1/audio/speech.";
    throw new ApiError("route_reserved", message);
  });
}

function addHealthRoutes(app: FastifyInstance, { models, config }: HttpDeps): void {
  const { maxQueue } = config.engine;

  app.get("/health", (_request, reply) => {
    const health = healthOf(models);
    return reply.code(health.status === "healthy" ? 200 : 503).send(health);
  });

  app.get("/ready", (_request, reply) => {
    const ready = readiness(models, maxQueue);
    return reply.code(ready.ready ? 200 : 503).send(ready);
  });

  // The same for eyes and shell scripts: the verdict on the first line, then one fact a line.
  app.get("/healthz", (_request, reply) => {
    const { status, ...facts } = healthOf(models);
    return reply
      .code(status === "healthy" ? 200 : 503)
      .type(PLAIN)
      .send(lines(status, facts));
  });

  app.get("/readyz", (_request, reply) => {
    const { ready, ...facts } = readiness(models, maxQueue);
    return reply
      .code(ready ? 200 : 503)
      .type(PLAIN)
      .send(lines(ready ? "ready" : "not ready", facts));
  });

  app.get("/ping", () => ({ status: "ok" }));

  app.get("/load", (): Load => ({ server_load: models.load.active + models.load.waiting }));
}

const PLAIN = "text/plain; charset=utf-8";

function lines(verdict: string, facts: object): string {
  const named = Object.entries(facts).map(([name, value]) => `${name} ${value}\n`);
  return [`${verdict}\n`, ...named].join("");
}

function healthOf({ state, first }: Models): Health {
  const { stage, reason } = state;
  const { device } = first;
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

function readiness({ state, load }: Models, maxWaiting: number): Ready {
  const { active, waiting, capacity } = load;
  const figures = { active, waiting, capacity };
  if (state.stage !== "ready") return { ready: false, reason: NOT_READY[state.stage], ...figures };
  const isFull = active >= capacity && waiting >= maxWaiting;
  return isFull ? { ready: false, reason: "overloaded", ...figures } : { ready: true, ...figures };
}

/** What a model takes. @throws ApiError `model_failed` while its folder cannot be read */
function limitsDocument({ config, model, failure }: ServedModel): LimitsDocument {
  if (model === undefined) throw failure;
  const { audio, presets, defaultVoice, capabilities } = model;
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
