/** The one error of this folder: audio that cannot be read, used or written as asked. */

/** Stable names for programs; each belongs to one kind of fault. */
export type AudioErrorCode =
  | "not_audio"
  | "unsupported_format"
  | "corrupt"
  | "too_large"
  | "too_long"
  | "too_short"
  | "silent"
  | "timeout"
  | "aborted"
  | "unsupported_output";

/** `code` is stable; the message is one sentence that says what was found and what is allowed. */
export class AudioError extends Error {
  constructor(
    readonly code: AudioErrorCode,
    message: string,
  ) {
    super(message);
    this.name = "AudioError";
  }
}

/** What a recording may be, for messages. */
export const READABLE_FORMATS = "wav, flac, mp3, ogg (Vorbis or Opus), webm (Opus), m4a and aac";

/** A refusal of content that was recognised as an audio format but does not hold together. */
export function corrupt(format: string, reason: string): AudioError {
  return new AudioError("corrupt", `Could not decode audio file: this ${format} ${reason}.`);
}

/** A refusal of audio whose decoded length passes the limit. */
export function tooLong(maxSeconds: number): AudioError {
  return new AudioError(
    "too_long",
    `Could not decode audio file: it holds more than the ${maxSeconds} s of audio that are allowed.`,
  );
}
