/** Lets browsers call from the origins that the operator allows, and read the headers of an answer. */
import type { FastifyInstance } from "fastify";
import { EXPOSED_HEADERS } from "../protocol/headers.ts";

const METHODS = "GET, POST, PATCH, DELETE, OPTIONS";
const REQUEST_HEADERS = "Authorization, Content-Type, Accept, X-Request-Id";
const PREFLIGHT_SECONDS = "86400";

/** @param origins allowed ones; `*` for all */
export function addCors(app: FastifyInstance, origins: readonly string[]): void {
  const all = origins.includes("*");

  app.addHook("onRequest", async (request, reply) => {
    if (!all) reply.header("vary", "Origin");
    const { origin } = request.headers;
    if (origin === undefined || !(all || origins.includes(origin))) return;
    reply.header("access-control-allow-origin", all ? "*" : origin);
    reply.header("access-control-expose-headers", EXPOSED_HEADERS);
  });

  app.options("/*", (request, reply) => {
    const wanted = request.headers["access-control-request-headers"];
    return reply
      .code(204)
      .header("access-control-allow-methods", METHODS)
      .header("access-control-allow-headers", wanted ?? REQUEST_HEADERS)
      .header("access-control-max-age", PREFLIGHT_SECONDS)
      .send();
  });
}
