/** Reading a request: its JSON body, its id, and the signal that ends its work when the client leaves or time is up. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Hold } from "../house/types.ts";
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

/** Lets go of a model when the answer has been sent, or when nobody waits for it any more. */
export function heldForAnswer(reply: FastifyReply, hold: Hold): Hold {
  if (reply.raw.closed) hold.release();
  else reply.raw.once("close", hold.release);
  return hold;
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

/** A route about one of several models, which `?model=` names; left out, it is the one that speaks by default. */
export interface OfModel {
  Querystring: { model?: string | string[] };
}

/** The model of the address. @throws ApiError `invalid_value` if it stands in the address more than once */
export function modelOf({ query: { model } }: FastifyRequest<OfModel>): string | undefined {
  if (!Array.isArray(model)) return model;
  const message = "model: the address may name one model, not several";
  throw new ApiError("invalid_value", message, { param: "model" });
}
