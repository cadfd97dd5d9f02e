/** The one error type of the engine. Its codes are stable; its sentences are for people. */

export type EngineErrorCode =
  | "addon_missing"
  | "model_missing"
  | "model_invalid"
  | "bad_request"
  | "overloaded"
  | "out_of_memory"
  | "unsupported"
  | "engine_failed"
  | "closed";

const CODES: ReadonlySet<string> = new Set<EngineErrorCode>([
  "addon_missing",
  "model_missing",
  "model_invalid",
  "bad_request",
  "overloaded",
  "out_of_memory",
  "unsupported",
  "engine_failed",
  "closed",
]);

const isCode = (code: unknown): code is EngineErrorCode =>
  typeof code === "string" && CODES.has(code);

export class EngineError extends Error {
  override readonly name = "EngineError";

  constructor(
    readonly code: EngineErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Any failure as an EngineError; what has no code of ours becomes `engine_failed`. */
  static from(error: unknown): EngineError {
    if (error instanceof EngineError) return error;
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
    return new EngineError(
      isCode(code) ? code : "engine_failed",
      typeof message === "string" ? message : String(error),
      { cause: error },
    );
  }

  /** An error as an event of the engine reports it. */
  static reported(code: string | undefined, message: string | undefined): EngineError {
    return new EngineError(isCode(code) ? code : "engine_failed", message ?? "The engine failed.");
  }
}

/** Runs a call into the addon; what it throws leaves as an EngineError. */
export function asEngineError<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw EngineError.from(error);
  }
}
