/**
 * The one error of this package: whatever goes wrong between a program and the server, with a stable code, one sentence
 * for people, what to do next, and whether trying again can help. Texts and advice come from the registry that the server
 * uses; failures that only a client sees are added here.
 */
import { ERRORS, type ErrorCode } from "../error-registry.ts";

interface Advice {
  readonly retryable: boolean;
  readonly text: string;
  readonly next: string;
}

const advice = (retryable: boolean, text: string, next: string): Advice => ({
  retryable,
  text,
  next,
});

/** What the server cannot tell, because it never heard of it or is not there. */
export const CLIENT_ERRORS = {
  network: advice(
    true,
    "The server cannot be reached.",
    "Check that the server is running and that the address is right, then try again.",
  ),
  interrupted: advice(
    true,
    "The connection broke before the speech was complete.",
    "Send the request again; with the same seed it gives the same audio.",
  ),
  aborted: advice(false, "The request was stopped.", "Send it again if it is still wanted."),
  malformed_answer: advice(
    false,
    "The server sent something that is not part of its protocol.",
    "Check that the address is that of a Sonant server of the same version.",
  ),
  unavailable: advice(
    true,
    "The server cannot take requests now.",
    "Wait a moment, then try again.",
  ),
  refused: advice(
    false,
    "The server refused the request.",
    "Correct the request and send it again.",
  ),
  not_found: advice(
    false,
    "The server has no such address.",
    "Check the address; GET /openapi.json lists the routes of this server.",
  ),
  closed: advice(true, "The session was closed.", "Open a new session."),
  not_open: advice(false, "The session is not open.", "Open it, or open a new one."),
  audio_lost: advice(
    false,
    "Some audio was lost with the connection and cannot be sent again.",
    "Speak the text again if it has to be complete.",
  ),
  buffer_full: advice(
    false,
    "Audio arrived faster than it was read, and the buffer is full.",
    "Read the events faster, or open the session with a smaller max_lead_ms.",
  ),
} as const satisfies Record<string, Advice>;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

/** Codes that this version knows; a newer server may send others. */
export type SonantErrorCode = ErrorCode | ClientErrorCode | (string & {});

export interface SonantErrorDetails {
  readonly hint?: string | undefined;
  readonly retryable?: boolean | undefined;
  /** HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** Close code of the socket, where it was closed. */
  readonly closeCode?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly requestId?: string | undefined;
  readonly param?: string | null | undefined;
  readonly cause?: unknown;
}

function adviceFor(code: string): Advice | undefined {
  if (Object.hasOwn(ERRORS, code)) return ERRORS[code as ErrorCode];
  return Object.hasOwn(CLIENT_ERRORS, code) ? CLIENT_ERRORS[code as ClientErrorCode] : undefined;
}

/** A failure, from wherever it came. */
export class SonantError extends Error {
  override readonly name = "SonantError";
  /** Stable name of the failure, such as `invalid_voice` or `network`. */
  readonly code: SonantErrorCode;
  /** What to do next, in a sentence. */
  readonly hint: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly closeCode: number | undefined;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  /** The field at fault, if one is. */
  readonly param: string | undefined;

  constructor(code: SonantErrorCode, message?: string, details: SonantErrorDetails = {}) {
    const known = adviceFor(code);
    super(message ?? known?.text ?? code, { cause: details.cause });
    this.code = code;
    this.hint = details.hint ?? known?.next ?? "";
    this.retryable = details.retryable ?? known?.retryable ?? false;
    this.status = details.status;
    this.closeCode = details.closeCode;
    this.retryAfterMs = details.retryAfterMs;
    this.requestId = details.requestId;
    this.param = details.param ?? undefined;
  }
}

/** Any thrown value as the one error: its own kind stays, an abort is told from a failure of the network. */
export function toSonantError(
  error: unknown,
  otherwise: ClientErrorCode = "network",
  signal?: AbortSignal,
): SonantError {
  if (error instanceof SonantError) return error;
  const isAbort = signal?.aborted === true || (error as { name?: unknown })?.name === "AbortError";
  return new SonantError(isAbort ? "aborted" : otherwise, undefined, { cause: error });
}
