/**
 * Failures as the interface shows them, whatever threw them. What the server says of a failure is shown as it came; what
 * was found in the browser is told in the reader's language, by its code.
 */
import { CLIENT_ERRORS, SonantError } from "../../server/protocol/client/index.ts";

/** What the interface needs to know of a failure; errors of the client package have this shape. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds after which another try makes sense. */
  readonly retryAfterMs?: number | undefined;
  /** It was found in the browser: message and hint are English, and give way to the words for its code. */
  readonly isLocal?: boolean | undefined;
  /** What else is known of it, in English, for those who look into it. */
  readonly detail?: string | undefined;
}

/** Codes of failures that are found in the browser, beside those of the client package. */
type PageTroubleCode =
  | "insecure_context"
  | "unsupported"
  | "worklet_failed"
  | "device_failed"
  | "unreadable"
  | "sound_gone"
  | "unknown";

/** Words for everything that is found in the browser: a sentence and the next step. */
export type TroubleWords = Readonly<
  Record<
    keyof typeof CLIENT_ERRORS | PageTroubleCode,
    { readonly text: string; readonly next: string }
  >
>;

/** A failure that the page itself finds. */
export class PageError extends Error {
  override readonly name = "PageError";

  constructor(
    readonly code: PageTroubleCode,
    message: string,
  ) {
    super(message);
  }
}

/** Errors of the client package carry everything; others become a plain sentence. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof SonantError) {
    const { code, message, hint, requestId, retryAfterMs } = error;
    const known = { code, message, hint, requestId, retryAfterMs };
    if (!isClientCode(code)) return known;
    const isPlain = message === CLIENT_ERRORS[code].text;
    return { ...known, isLocal: true, ...(isPlain ? {} : { detail: message }) };
  }
  if (!(error instanceof Error)) return { code: "unknown", message: String(error), isLocal: true };
  const { code } = error as { code?: unknown };
  return {
    code: typeof code === "string" ? code : error.name,
    message: error.message,
    isLocal: true,
  };
}

function isClientCode(code: string): code is keyof typeof CLIENT_ERRORS {
  return Object.hasOwn(CLIENT_ERRORS, code);
}

/** A failure in the reader's language, if it was found in the browser; any other as it is. */
export function inWords(trouble: Trouble, words: TroubleWords): Trouble {
  if (trouble.isLocal !== true) return trouble;
  const isKnown = trouble.code !== "unknown" && Object.hasOwn(words, trouble.code);
  const { text, next } = words[isKnown ? (trouble.code as keyof TroubleWords) : "unknown"];
  const detail = trouble.detail ?? (isKnown ? undefined : trouble.message);
  return { ...trouble, message: text, hint: next, detail, isLocal: false };
}
