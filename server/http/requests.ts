/** Reading a request: its JSON body, its id, and the signal that ends its work when the client leaves or time is up. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, parseBody, requireJson } from "../protocol/envelope.ts";

/** The client left before its answer was complete: nobody is there to be told. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";

  constructor() {
    super("The client left.");
  }
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The client's own id if it is fit for a header and a log line, else a new one. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  if (typeof given === "string" && REQUEST_ID.test(given)) return given;
  return `speech-${randomUUID()}`;
}

/** Bodies are kept as text: how they are parsed, and what is said of bad ones, is the protocol's affair. */
export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
}

/**
 * The parsed JSON body of a request.
 * @throws ApiError `unsupported_media_type` or `invalid_json`
 */
export function jsonBody(request: FastifyRequest): unknown {
  requireJson(request.headers["content-type"]);
  return parseBody(typeof request.body === "string" ? request.body : "");
}

/** Aborts with `ClientGone` when the connection ends early, and with `request_timeout` when time is up. */
export function workSignal(reply: FastifyReply, timeoutMs: number): AbortSignal {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new ApiError("request_timeout")), timeoutMs);
  timer.unref();
  const gone = () => {
    clearTimeout(timer);
    if (!reply.raw.writableFinished) abort.abort(new ClientGone());
  };
  if (reply.raw.closed) gone();
  else reply.raw.once("close", gone);
  return abort.signal;
}
