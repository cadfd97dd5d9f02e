/**
 * Builds the HTTP server from its route groups. Owns what all routes share: ids, keys and limits, CORS, security headers,
 * error answers and one log line for each request. The caller makes it listen and closes it.
 */
import Fastify, { type FastifyInstance, type FastifyRequest, LogController } from "fastify";
import { HEADERS } from "../protocol/headers.ts";
import { toJson } from "../protocol/json.ts";
import { addBatchRoutes } from "./batch-routes.ts";
import { addCors } from "./cors.ts";
import type { HttpDeps } from "./deps.ts";
import { addErrorHandler } from "./errors.ts";
import { addModelRoutes } from "./model-routes.ts";
import { addPages } from "./pages.ts";
import { addBodyReader, requestId } from "./requests.ts";
import { addRouterAnswers } from "./router.ts";
import { addSpeechRoutes } from "./speech-routes.ts";
import { cutOffStalledClients } from "./stalled-clients.ts";
import { addStatusRoutes } from "./status-routes.ts";
import { addVoiceRoutes } from "./voice-routes.ts";

/** Longest voice or model name in a path, in characters after decoding. */
const MAX_PARAMETER = 2048;

export function createHttpServer(deps: HttpDeps): FastifyInstance {
  const { config, logger, pages } = deps;
  const app: FastifyInstance = Fastify({
    ...(logger === undefined ? {} : { loggerInstance: logger }),
    bodyLimit: config.limits.body_bytes,
    http: {
      headersTimeout: config.server.stallTimeoutMs,
      connectionsCheckingInterval: config.server.stallTimeoutMs / 2,
    },
    forceCloseConnections: "idle",
    genReqId: requestId,
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: "requestId",
    }),
    trustProxy: config.server.trustProxy,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER },
  });
  cutOffStalledClients(app.server, config.server.stallTimeoutMs);
  addBodyReader(app);
  app.setReplySerializer(toJson);
  addErrorHandler(app, deps);
  addRouterAnswers(app);
  addCommonHeaders(app);
  addCors(app, config.server.corsOrigins);
  addAccess(app, deps);
  addLog(app);
  addSpeechRoutes(app, deps);
  addBatchRoutes(app, deps);
  addVoiceRoutes(app, deps);
  addModelRoutes(app, deps);
  addStatusRoutes(app, deps);
  if (pages !== undefined) addPages(app, pages);
  return app;
}

function addCommonHeaders(app: FastifyInstance): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({
      [HEADERS.requestId]: request.id,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
  });
}

/** Keys and limits concern the API; health and metrics stay open to those who watch the server. */
function addAccess(app: FastifyInstance, { access, metrics }: HttpDeps): void {
  app.addHook("onRequest", async (request, reply) => {
    const { method, headers, ip } = request;
    if (method === "OPTIONS" || !isApi(request)) return;
    if (!access.opens(headers.authorization)) {
      metrics.rejected("unauthorized");
      return reply.code(401).header("www-authenticate", "Bearer").send({ error: "Unauthorized" });
    }
    await access.count(headers.authorization, ip);
  });
}

/** By the route that was found as well: a path may be written with escapes. */
function isApi({ url, routeOptions }: FastifyRequest): boolean {
  return [url, routeOptions.url ?? ""].some((path) => /^\/v1(?![\w-])/.test(path));
}

function addLog(app: FastifyInstance): void {
  app.addHook("onResponse", async (request, reply) => {
    const { method, url, ip } = request;
    const details = { method, path: url.split("?", 1)[0], status: reply.statusCode, ip };
    request.log.info({ ...details, ms: Math.round(reply.elapsedTime) }, "request");
  });
}
