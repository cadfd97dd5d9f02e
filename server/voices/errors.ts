/**
 * Failures of decoders and of the engine in the terms that clients are told about. Everything that leaves this folder is
 * an ApiError, the reason of the caller's own signal, or a fault of this program.
 */
import { AudioError } from "../audio/error.ts";
import { EngineError, type EngineErrorCode } from "../engine/errors.ts";
import { ApiError } from "../protocol/envelope.ts";
import type { ErrorCode } from "../protocol/error-registry.ts";

const ENGINE_CODES: Record<EngineErrorCode, ErrorCode> = {
  addon_missing: "engine_dead",
  model_missing: "engine_dead",
  model_invalid: "engine_dead",
  bad_request: "invalid_reference",
  overloaded: "overloaded",
  out_of_memory: "overloaded",
  unsupported: "not_implemented",
  engine_failed: "engine_dead",
  closed: "engine_dead",
};

/**
 * What to throw for a failure while a reference was read, decoded or encoded.
 * @param field the request's field that held the reference
 */
export function referenceError(error: unknown, field: string, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  const details = { param: field, cause: error };
  if (error instanceof AudioError) return new ApiError("invalid_reference", error.message, details);
  if (!(error instanceof EngineError)) return error;
  const code = ENGINE_CODES[error.code];
  // The engine's own sentences are for operators, except where the recording is at fault.
  const message = code === "invalid_reference" ? error.message : undefined;
  return new ApiError(code, message, details);
}
