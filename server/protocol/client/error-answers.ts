/** From what a server says went wrong to the one error: HTTP answers of every shape, socket messages, close codes. */
import type { ErrorCode } from "../error-registry.ts";
import { HEADERS } from "../headers.ts";
import { type ClientErrorCode, SonantError } from "./error.ts";

/** What is read of an answer's headers, so that other requests than those of fetch have them as well. */
export type HeaderSource = Pick<Headers, "get">;

const BY_STATUS: Readonly<Record<number, ErrorCode | ClientErrorCode>> = {
  401: "unauthorized",
  403: "forbidden_origin",
  404: "not_found",
  413: "body_too_large",
  429: "rate_limited",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** The best name for a failure of which only the status is known. */
function codeOfStatus(status: number): ErrorCode | ClientErrorCode {
  return BY_STATUS[status] ?? (status >= 500 ? "internal" : "refused");
}

/** `Retry-After` in milliseconds: seconds, or a date. */
export function retryAfterMs(value: string | null, nowMs = Date.now()): number | undefined {
  if (value === null || value.trim() === "") return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** The error of an answer that is none of success. */
export function errorOfAnswer(status: number, text: string, headers: HeaderSource): SonantError {
  const common = {
    status,
    retryAfterMs: retryAfterMs(headers.get(HEADERS.retryAfter)),
    requestId: headers.get(HEADERS.requestId) ?? undefined,
  };
  const body = parsed(text) as Record<string, unknown> | undefined | null;
  const error = body?.error;
  if (typeof error === "object" && error !== null) {
    const { message, reason, hint, retryable, request_id, param } = error as Record<
      string,
      unknown
    >;
    return new SonantError(textOf(reason) ?? codeOfStatus(status), textOf(message), {
      ...common,
      hint: textOf(hint),
      retryable: typeof retryable === "boolean" ? retryable : undefined,
      requestId: textOf(request_id) ?? common.requestId,
      param: textOf(param),
    });
  }
  // A voice that is not there is told in the words of another API.
  if (body?.success === false) {
    const code = status === 404 ? "voice_not_found" : codeOfStatus(status);
    return new SonantError(code, textOf(error), common);
  }
  if (status === 401) return new SonantError("unauthorized", undefined, common);
  if (textOf(body?.detail) !== undefined) {
    return new SonantError(codeOfStatus(status), undefined, common);
  }
  return new SonantError(
    status >= 500 ? codeOfStatus(status) : "malformed_answer",
    `The server answered with status ${status} and no explanation.`,
    { ...common, retryable: status >= 500 },
  );
}

/** What each close code means when no message came before it. */
const BY_CLOSE: Readonly<Record<number, ErrorCode | ClientErrorCode>> = {
  1001: "shutting_down",
  1003: "binary_message",
  1006: "network",
  1009: "frame_too_large",
  1011: "internal",
  1013: "overloaded",
  4400: "invalid_config",
  4401: "unauthorized",
  4404: "model_not_found",
  4408: "idle_timeout",
  4409: "taken_over",
  4410: "resume_unavailable",
  4429: "too_many_sessions",
};

/** The error of a socket that was closed without a word. */
export function errorOfClose(closeCode: number, reason = "", cause?: unknown): SonantError {
  const code = BY_CLOSE[closeCode] ?? "closed";
  return new SonantError(code, reason === "" ? undefined : reason, { closeCode, cause });
}

/** The error of a handshake that failed. Programs are told its status by some sockets, in a sentence; pages never are. */
export function errorOfHandshake(said: string | undefined): SonantError {
  const status = Number(/Unexpected server response: (\d{3})/.exec(said ?? "")?.[1]);
  if (!Number.isInteger(status)) {
    return new SonantError("network", undefined, { closeCode: 1006, cause: said });
  }
  return new SonantError(codeOfStatus(status), undefined, { status, closeCode: 1006 });
}
