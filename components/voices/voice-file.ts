/**
 * One voice as one file, for moving it to another server or keeping it: the recording, what is said of it, and the consent
 * of the speaker, as JSON. The codes are not in it, since every model makes its own from the recording. Pure.
 */
import type { VoiceRecording } from "../../server/protocol/client/index.ts";
import type { UploadedVoice } from "../../server/protocol/voices.ts";

const FORMAT = "sonant-voice";
const VERSION = 1;
const ENDING = ".sonant-voice.json";
/** Bytes that are turned into characters at a time: more arguments than this are too many for a call. */
const SLICE_BYTES = 0x8000;

/** What a voice file brings. */
export interface VoiceParcel {
  readonly name: string;
  readonly consent: string;
  readonly description: string | undefined;
  readonly language: string | undefined;
  /** What the recording says. */
  readonly refText: string | undefined;
  readonly recording: VoiceRecording;
}

/** `foreign`: JSON, or not even that, but no voice. `newer`: of a version that this page does not know. */
export type VoiceFileErrorCode = "foreign" | "newer" | "damaged";

export class VoiceFileError extends Error {
  override readonly name = "VoiceFileError";

  constructor(
    readonly code: VoiceFileErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The text of a voice file.
 * @param now time of the export in milliseconds since 1970
 */
export function writeVoiceFile(voice: UploadedVoice, recording: VoiceRecording, now: number) {
  const document = {
    format: FORMAT,
    version: VERSION,
    exported_at: new Date(now).toISOString(),
    voice: {
      name: voice.name,
      consent: voice.consent,
      created_at: voice.created_at,
      duration_s: voice.duration_s,
      speaker_description: voice.speaker_description,
      language: voice.language,
      ref_text: voice.ref_text,
    },
    recording: {
      mime_type: recording.mimeType,
      bytes: recording.bytes.length,
      base64: toBase64(recording.bytes),
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/**
 * Reads a voice file.
 * @throws VoiceFileError
 */
export function readVoiceFile(text: string): VoiceParcel {
  const document = recordOf(parsed(text));
  if (document?.format !== FORMAT) {
    throw new VoiceFileError("foreign", "The file is not an exported voice.");
  }
  if (document.version !== VERSION) {
    throw new VoiceFileError("newer", `The file has version ${document.version}, not ${VERSION}.`);
  }
  const voice = recordOf(document.voice);
  const recording = recordOf(document.recording);
  const [name, consent] = [textOf(voice?.name), textOf(voice?.consent)];
  const [mimeType, base64] = [textOf(recording?.mime_type), textOf(recording?.base64)];
  const bytes = base64 === undefined ? undefined : fromBase64(base64);
  if (name === undefined || consent === undefined || mimeType === undefined) {
    throw new VoiceFileError("damaged", "The file lacks a name, a consent or a content type.");
  }
  if (bytes === undefined || bytes.length === 0 || bytes.length !== recording?.bytes) {
    throw new VoiceFileError("damaged", "The recording in the file is incomplete.");
  }
  return {
    name,
    consent,
    description: textOf(voice?.speaker_description),
    language: textOf(voice?.language),
    refText: textOf(voice?.ref_text),
    recording: { bytes, mimeType },
  };
}

/** Whether a file is to be imported and not to be cloned from. */
export function isVoiceFile({ name, type }: Pick<File, "name" | "type">): boolean {
  return type === "application/json" || name.toLowerCase().endsWith(".json");
}

/** A name that every file system takes. */
export function voiceFileName(name: string): string {
  const safe = name.replace(/[\\/:*?"<>|\p{Cc}]+/gu, "_").replace(/^\.+/, "_");
  return `${safe}${ENDING}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}

/** Undefined for whatever is no text or blank. */
function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function toBase64(bytes: Uint8Array): string {
  let characters = "";
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    characters += String.fromCharCode(...bytes.subarray(at, at + SLICE_BYTES));
  }
  return btoa(characters);
}

function fromBase64(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
