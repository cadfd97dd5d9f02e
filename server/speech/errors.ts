/** What goes wrong inside, as the failures that clients know. The only place that translates them. */
import { AudioError } from "../audio/error.ts";
import { EngineError } from "../engine/errors.ts";
import { ModelError } from "../models/errors.ts";
import { ApiError, toApiError } from "../protocol/envelope.ts";

function engineFailure(error: EngineError): ApiError {
  if (error.code === "closed") return new ApiError("engine_dead", undefined, { cause: error });
  if (error.code === "overloaded") return new ApiError("overloaded", undefined, { cause: error });
  return new ApiError("generation_failed", error.message, { cause: error });
}

/** Any failure of a request. Foreign errors become `internal`, and their text stays on the server. */
export function speechError(error: unknown): ApiError {
  if (error instanceof EngineError) return engineFailure(error);
  if (error instanceof AudioError) {
    return new ApiError("invalid_value", error.message, { cause: error });
  }
  if (error instanceof ModelError && error.code === "request_invalid") {
    return new ApiError("invalid_value", error.message, { param: error.field, cause: error });
  }
  return toApiError(error);
}

/** How a request that failed so is counted. */
export function outcomeOf(error: ApiError): "error" | "engine_dead" {
  return error.code === "engine_dead" ? "engine_dead" : "error";
}
