/**
 * From the text of a WebSocket message to a checked client message, or to the exact complaint that clients of this
 * protocol match on. Knows nothing of sessions but whether one has been configured and which dialect it speaks.
 */
import type { z } from "zod";
import type { ErrorCode } from "./error-registry.ts";
import { longerThan } from "./fields.ts";
import { parseJson } from "./json.ts";
import type { Limits } from "./limits.ts";
import {
  CLIENT_MESSAGES,
  type ClientMessage,
  DIALECT_2_ONLY,
  isClientMessageType,
} from "./socket-client.ts";
import { type ServerMessageOf, socketError } from "./socket-server.ts";
import { offendingField, violationMessage, violationsOf } from "./violations.ts";

export interface SocketState {
  /** Whether a `session.config` has been accepted on this connection. */
  readonly configured: boolean;
  readonly dialect: 1 | 2;
}

export type ParsedMessage =
  | { readonly ok: true; readonly message: ClientMessage }
  | { readonly ok: false; readonly code: ErrorCode; readonly error: ServerMessageOf<"error"> };

/** Before the configuration every complaint ends the connection; afterwards none of these does. */
function refuse(
  code: ErrorCode,
  message: string,
  state: SocketState,
  param: string | null = null,
): ParsedMessage {
  return {
    ok: false,
    code,
    error: socketError(code, message, { fatal: !state.configured, param }),
  };
}

function invalid(type: string, error: z.ZodError, state: SocketState): ParsedMessage {
  const violations = violationsOf(error, []);
  const param = offendingField(violations);
  if (type === "input.text" && param === "text") {
    return refuse("invalid_message", "input.text requires a string value", state, param);
  }
  const details = violationMessage(violations);
  return type === "session.config"
    ? refuse("invalid_config", `Invalid session config: ${details}`, state, param)
    : refuse("invalid_message", `Invalid ${type}: ${details}`, state, param);
}

function typeOf(value: object): unknown {
  return (value as { type?: unknown }).type;
}

function named(type: unknown): string {
  return typeof type === "string" ? type : (JSON.stringify(type) ?? "none");
}

/** Reads one text message of a client. */
export function parseClientMessage(
  text: string,
  state: SocketState,
  limits: Limits,
): ParsedMessage {
  if (longerThan(text, Math.max(limits.ws_config_message_chars, limits.ws_text_message_chars))) {
    const which = state.configured ? "input.text" : "session.config";
    return refuse("message_too_large", `${which} message too large`, state);
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    const message = state.configured ? "Invalid JSON message" : "Invalid JSON in session.config";
    return refuse("invalid_message", message, state);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const message = state.configured
      ? "WebSocket messages must be JSON objects"
      : "session.config must be a JSON object";
    return refuse("invalid_message", message, state);
  }
  return checkMessage(value, text, state, limits);
}

function checkMessage(
  value: object,
  text: string,
  state: SocketState,
  limits: Limits,
): ParsedMessage {
  const type = typeOf(value);
  const opening = type === "session.config" || type === "session.resume";
  if (!state.configured && !opening) {
    return refuse("invalid_config", `Expected session.config, got: ${named(type)}`, state);
  }
  const foreign = isClientMessageType(type) && state.dialect === 1 && DIALECT_2_ONLY.has(type);
  const misplaced = type === "session.resume" && state.configured;
  if (!isClientMessageType(type) || foreign || misplaced) {
    return refuse("unknown_message", `Unknown message type: ${named(type)}`, state, "type");
  }
  const [limit, which] =
    type === "session.config" || type === "session.update"
      ? [limits.ws_config_message_chars, type]
      : [limits.ws_text_message_chars, "input.text"];
  if (longerThan(text, limit)) {
    return refuse("message_too_large", `${which} message too large`, state);
  }
  const result = CLIENT_MESSAGES[type].safeParse(value, { reportInput: true });
  return result.success ? { ok: true, message: result.data } : invalid(type, result.error, state);
}
