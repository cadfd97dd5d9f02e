/** Failures as the interface shows them, whatever threw them. */
/** What the interface needs to know of a failure; errors of the client package have this shape. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds after which another try makes sense. */
  readonly retryAfterMs?: number | undefined;
}

/** Errors of the client package carry everything; others become a plain sentence. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof Error) {
    const { code, hint, requestId, retryAfterMs } = error as Partial<Trouble> & Error;
    return {
      code: typeof code === "string" ? code : error.name,
      message: error.message,
      hint,
      requestId,
      retryAfterMs,
    };
  }
  return { code: "unknown", message: String(error) };
}
