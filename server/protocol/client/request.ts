/**
 * One HTTP request as all calls make it: address, key, abort, and errors of one kind. Gives bodies as bytes, lines or
 * JSON. Knows no route.
 */
import { parseJson } from "../json.ts";
import { SonantError, toSonantError } from "./error.ts";
import { errorOfAnswer } from "./error-answers.ts";

/** Where the server is and how it is spoken to. */
export interface Access {
  /** Without a slash at the end; empty for the page's own origin. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
  /** Hears of every answer that is none of success, before the call fails with it. */
  readonly onRefusal?: ((error: SonantError) => void) | undefined;
}

export interface CallOptions {
  /** Stops the request; the call then fails with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Id under which the server logs the request: up to 128 letters, digits and `. _ : -`. */
  readonly requestId?: string | undefined;
}

/** For what each model of a server has of its own. */
export interface ModelOptions extends CallOptions {
  /** Name of the model; left out: the one that speaks by default. */
  readonly model?: string | undefined;
}

/** A path with the model that it is about. */
export function ofModel(path: string, model: string | undefined): string {
  return model === undefined ? path : `${path}?model=${encodeURIComponent(model)}`;
}

export interface Call extends CallOptions {
  readonly method?: "GET" | "POST" | "DELETE" | "PATCH";
  readonly path: string;
  /** Sent as JSON; integers above 2^53 may be bigints. */
  readonly json?: string;
  readonly form?: FormData;
  readonly accept?: string;
  /** Statuses beside success whose answer is a document and not a failure. */
  readonly accepted?: readonly number[];
}

/** An address without a trailing slash, and without the `/v1` that other clients want at its end. */
export function plainBaseUrl(baseUrl: string): string {
  return baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
}

export function headersOf(access: Pick<Access, "apiKey">, call: Call): Record<string, string> {
  return {
    ...(access.apiKey === undefined ? {} : { authorization: `Bearer ${access.apiKey}` }),
    ...(call.json === undefined ? {} : { "content-type": "application/json" }),
    ...(call.accept === undefined ? {} : { accept: call.accept }),
    ...(call.requestId === undefined ? {} : { "x-request-id": call.requestId }),
  };
}

/**
 * Sends a request.
 * @returns an answer that tells of success, or that the call accepts
 * @throws SonantError
 */
export async function send(access: Access, call: Call): Promise<Response> {
  let response: Response;
  try {
    response = await access.fetch(access.baseUrl + call.path, {
      method: call.method ?? "GET",
      headers: headersOf(access, call),
      ...(call.json === undefined ? {} : { body: call.json }),
      ...(call.form === undefined ? {} : { body: call.form }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
  } catch (error) {
    throw toSonantError(error, "network", call.signal);
  }
  if (response.ok || call.accepted?.includes(response.status)) return response;
  const text = await textOf(response, call.signal);
  throw refusal(access, errorOfAnswer(response.status, text, response.headers));
}

/** Tells of a refusal and gives it back. */
export function refusal(access: Pick<Access, "onRefusal">, error: SonantError): SonantError {
  access.onRefusal?.(error);
  return error;
}

/** @throws SonantError if the body breaks off */
export async function bytesOf(response: Response, signal?: AbortSignal): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw toSonantError(error, "interrupted", signal);
  }
}

/** @throws SonantError if the body breaks off */
export async function textOf(response: Response, signal?: AbortSignal): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw toSonantError(error, "interrupted", signal);
  }
}

/**
 * Reads a document.
 * @param keys members that it must have
 * @throws SonantError `malformed_answer` if it is not JSON or something else than was asked for
 */
export function documentOf<T extends object>(text: string, keys: readonly (keyof T & string)[]): T {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new SonantError("malformed_answer", "The server's answer is not JSON.", { cause: error });
  }
  const isObject = typeof value === "object" && value !== null;
  const missing = keys.find((key) => !isObject || !Object.hasOwn(value as object, key));
  if (missing !== undefined) {
    throw new SonantError("malformed_answer", `The server's answer has no '${missing}'.`);
  }
  return value as T;
}

/** Sends a request and reads the document that it is answered with. */
export async function fetchDocument<T extends object>(
  access: Access,
  call: Call,
  keys: readonly (keyof T & string)[],
): Promise<T> {
  return documentOf<T>(await textOf(await send(access, call), call.signal), keys);
}

/**
 * The body as it arrives. Leaving the loop early ends the request.
 * @throws SonantError `interrupted` if it breaks off, `aborted` if it was stopped
 */
export async function* chunksOf(
  response: Response,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  let isComplete = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (value.length > 0) yield value;
    }
    isComplete = true;
  } catch (error) {
    throw toSonantError(error, "interrupted", signal);
  } finally {
    // The connection may be broken already; there is nothing more to be done about it.
    if (!isComplete) await reader.cancel().catch(() => {});
  }
}

/** The lines of a body, without their ends, as they become complete. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

/** All of it in one piece. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
