/** The errors of this folder: what keeps a model from being fetched, checked or removed. */

export type HubErrorCode =
  | "model_unknown"
  | "source_unreachable"
  | "access_refused"
  | "not_found"
  | "answer_invalid"
  | "listing_invalid"
  | "file_wrong"
  | "folder_taken"
  | "folder_busy"
  | "disk_full"
  | "manifest_invalid"
  | "weights_unreadable"
  | "voices_invalid";

/** `code` is stable; the message is for people and says what was found, what is allowed, and what to do next. */
export class HubError extends Error {
  constructor(
    readonly code: HubErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "HubError";
  }
}

/** Something that may well work when it is tried again: a lost connection, a busy server, an answer that broke off. */
export class PassingError extends Error {
  constructor(
    message: string,
    /** How long the server asks to be left alone. */
    readonly retryAfterMs?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "PassingError";
  }
}
