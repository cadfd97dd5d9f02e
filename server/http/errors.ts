/**
 * From whatever was thrown to what the client is told: one envelope with a status, a reason and a request id. The text of
 * foreign errors stays in the log.
 */
import type { FastifyError, FastifyInstance } from "fastify";
import { ApiError, toApiError } from "../protocol/envelope.ts";
import type { ErrorCode } from "../protocol/error-registry.ts";
import { toJson } from "../protocol/json.ts";
import type { HttpDeps } from "./deps.ts";
import { ClientGone } from "./requests.ts";

/** Status of an answer that nobody waits for any more; it only shows in the log. */
const CLIENT_GONE = 499;

/** Codes of the framework for requests that it cannot read. */
const FRAMEWORK_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "body_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_EMPTY_JSON_BODY: "invalid_json",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "invalid_value",
  FST_ERR_BAD_URL: "invalid_value",
  FST_PARTS_LIMIT: "invalid_value",
  FST_FILES_LIMIT: "invalid_value",
  FST_FIELDS_LIMIT: "invalid_value",
  FST_PROTO_VIOLATION: "invalid_value",
};

/** Where the framework's own words would tell nobody what to do. */
const SENTENCES: Readonly<Record<string, string>> = {
  FST_PARTS_LIMIT: "The form has more parts than this server accepts.",
  FST_FILES_LIMIT: "The form has more files than this server accepts.",
  FST_FIELDS_LIMIT: "The form has more fields than this server accepts.",
  FST_PROTO_VIOLATION: "A field of the form has a name that is not allowed.",
};

/** Failures of the server itself, which are no refusals, and refusals that the speech service counts. */
const NOT_COUNTED: ReadonlySet<ErrorCode> = new Set([
  "generation_failed",
  "no_audio",
  "engine_dead",
  "internal",
  "overloaded",
  "warming_up",
  "shutting_down",
]);

function frameworkError(error: FastifyError, bodyBytes: number): ApiError | undefined {
  const code = FRAMEWORK_CODES[error.code];
  if (code === "body_too_large") {
    const mebibytes = bodyBytes / 2 ** 20;
    const message = `The request body is larger than the ${mebibytes} MiB that this server accepts.`;
    return new ApiError(code, message, { cause: error });
  }
  if (code === "invalid_value") {
    return new ApiError(code, SENTENCES[error.code] ?? error.message, { cause: error });
  }
  return code === undefined ? undefined : new ApiError(code, undefined, { cause: error });
}

/** Seconds to wait before a refused request is worth repeating. */
function retryAfter(error: ApiError, expectedWaitMs: number): number {
  return error.details.retryAfterSeconds ?? Math.max(1, Math.ceil(expectedWaitMs / 1000));
}

/** The error as it leaves: failures of the server carry the request's id, so that they can be found in the log. */
function reported(error: ApiError, requestId: string): ApiError {
  if (error.status < 500 || error.details.requestId !== undefined) return error;
  return new ApiError(error.code, error.message, { ...error.details, requestId });
}

export function addErrorHandler(app: FastifyInstance, deps: HttpDeps): void {
  const { config, models, metrics } = deps;

  app.setErrorHandler((thrown: FastifyError, request, reply) => {
    if (thrown instanceof ClientGone) return reply.code(CLIENT_GONE).send();
    const known = frameworkError(thrown, config.limits.body_bytes);
    const error = reported(known ?? toApiError(thrown), request.id);
    if (!NOT_COUNTED.has(error.code)) metrics.rejected(error.code);
    const cause = error.details.cause;
    if (error.status === 500) request.log.error({ err: cause ?? error }, error.message);
    else request.log.info({ reason: error.code }, error.message);
    if (error.status === 429 || error.status === 503) {
      reply.header("retry-after", retryAfter(error, models.load.expectedWaitMs));
    }
    // The rest of the body is read and dropped, also for a client that wanted to be disconnected afterwards: one that is
    // cut off while it writes never sees the answer.
    reply.removeHeader("connection");
    if (!request.raw.complete) reply.raw.shouldKeepAlive = true;
    return reply
      .code(error.status)
      .type("application/json; charset=utf-8")
      .send(toJson(error.envelope()));
  });
}
