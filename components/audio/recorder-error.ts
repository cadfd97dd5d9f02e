/** Why a recording failed, and what a person can do about it. Texts for people are translated elsewhere, by code. */

export type RecorderErrorCode =
  | "denied"
  | "no_device"
  | "busy"
  | "insecure_context"
  | "unsupported"
  | "worklet_failed"
  | "already_recording"
  | "not_recording"
  | "cancelled"
  | "unknown";

/** What to do next; uploading a file is always possible. */
export type RecorderNextStep =
  | "allow_microphone"
  | "connect_microphone"
  | "close_other_programs"
  | "open_by_https"
  | "upload_instead"
  | "try_again"
  | "none";

interface Meaning {
  readonly next: RecorderNextStep;
  readonly message: string;
}

const MEANINGS: Readonly<Record<RecorderErrorCode, Meaning>> = {
  denied: { next: "allow_microphone", message: "The microphone is not allowed for this page." },
  no_device: { next: "connect_microphone", message: "No microphone was found." },
  busy: { next: "close_other_programs", message: "The microphone is used by another program." },
  insecure_context: {
    next: "open_by_https",
    message: "The microphone needs https, or the page on localhost.",
  },
  unsupported: { next: "upload_instead", message: "This browser cannot record." },
  worklet_failed: { next: "try_again", message: "The recorder's worklet did not load." },
  already_recording: { next: "none", message: "A recording is under way already." },
  not_recording: { next: "none", message: "No recording is under way." },
  cancelled: { next: "none", message: "The recording was cancelled before it began." },
  unknown: { next: "upload_instead", message: "The microphone failed." },
};

/** Names of the browser's own errors. */
const BROWSER_NAMES: Readonly<Record<string, RecorderErrorCode>> = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  PermissionDeniedError: "denied",
  NotFoundError: "no_device",
  DevicesNotFoundError: "no_device",
  OverconstrainedError: "no_device",
  NotReadableError: "busy",
  TrackStartError: "busy",
  AbortError: "busy",
};

export class RecorderError extends Error {
  override readonly name = "RecorderError";
  readonly next: RecorderNextStep;

  constructor(
    readonly code: RecorderErrorCode,
    message: string = MEANINGS[code].message,
  ) {
    super(message);
    this.next = MEANINGS[code].next;
  }
}

/** Any error of the browser as one of ours. */
export function toRecorderError(error: unknown): RecorderError {
  if (error instanceof RecorderError) return error;
  const { name = "", message = String(error) } = error instanceof Error ? error : {};
  const code = BROWSER_NAMES[name];
  return code === undefined ? new RecorderError("unknown", message) : new RecorderError(code);
}
