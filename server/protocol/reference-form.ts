/**
 * The forms in which a reference clip may be named, told apart by their text alone. Whether an address may be
 * contacted and whether the bytes are speech is decided by those who fetch and decode them.
 */
import { ApiError } from "./envelope.ts";

export type ReferenceForm =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "file"; readonly url: string }
  | { readonly kind: "base64"; readonly base64: string }
  | { readonly kind: "prompt"; readonly id: string };

const FORMS =
  "ref_audio must be a URL (http/https), base64 data URL (data:...), or file URI (file://...)";
const PROMPT_ID = /^vp_[A-Za-z0-9_-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const SIGNATURE_CHARS = 24;

function refuse(message: string): never {
  throw new ApiError("invalid_reference", message, { param: "ref_audio" });
}

function strictBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && BASE64.test(text);
}

/** Bytes that base64 text stands for. */
function decodedBytes(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** True if a file begins like one of the audio containers: RIFF/WAVE, FLAC, Ogg, MPEG, MP4 or WebM. */
export function looksLikeAudio(head: Uint8Array): boolean {
  const ascii = String.fromCharCode(...head.subarray(0, 12));
  if (ascii.startsWith("RIFF") && ascii.slice(8) === "WAVE") return true;
  if (ascii.startsWith("fLaC") || ascii.startsWith("OggS") || ascii.startsWith("ID3")) return true;
  if (ascii.slice(4, 8) === "ftyp") return true;
  const [a = 0, b = 0, c = 0, d = 0] = head;
  if (a === 0xff && (b & 0xe0) === 0xe0) return true;
  return a === 0x1a && b === 0x45 && c === 0xdf && d === 0xa3;
}

function headOf(base64: string): Uint8Array {
  const text = atob(base64.slice(0, SIGNATURE_CHARS));
  return Uint8Array.from(text, (unit) => unit.charCodeAt(0));
}

function dataPayload(reference: string): string {
  const comma = reference.indexOf(",");
  if (comma < 0) refuse("ref_audio is not a valid data URL: the comma is missing");
  const parameters = reference.slice("data:".length, comma).toLowerCase().split(";");
  if (!parameters.includes("base64")) {
    const message = "Only base64 data URLs are supported for now.";
    throw new ApiError("not_implemented", message, { param: "ref_audio" });
  }
  const payload = reference.slice(comma + 1).replace(/\s+/g, "");
  const padded = payload.padEnd(Math.ceil(payload.length / 4) * 4, "=");
  if (!strictBase64(padded)) refuse("ref_audio is not a valid data URL: its base64 is broken");
  return padded;
}

/**
 * Tells what a reference is.
 * @throws ApiError `invalid_reference`, or `not_implemented` for data URLs without base64
 */
export function referenceForm(
  reference: string,
  options: { readonly fileReferences: boolean },
  limits: { readonly inline_reference_bytes: number },
): ReferenceForm {
  const scheme = reference.slice(0, 8).toLowerCase();
  if (scheme.startsWith("http://") || scheme.startsWith("https://")) {
    return { kind: "url", url: reference };
  }
  if (scheme.startsWith("file://")) {
    if (!options.fileReferences) refuse("ref_audio: file URIs are switched off on this server");
    return { kind: "file", url: reference };
  }
  if (PROMPT_ID.test(reference)) return { kind: "prompt", id: reference };
  const inline = scheme.startsWith("data:");
  const base64 = inline ? dataPayload(reference) : reference;
  if (!inline && !(strictBase64(base64) && looksLikeAudio(headOf(base64)))) refuse(FORMS);
  if (decodedBytes(base64) > limits.inline_reference_bytes) {
    const megabytes = Math.floor(limits.inline_reference_bytes / 2 ** 20);
    refuse(`ref_audio is too large: at most ${megabytes} MiB may be sent inside a request`);
  }
  return { kind: "base64", base64 };
}
