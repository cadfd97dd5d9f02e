/**
 * What people say of a voice, and the rules for it: the form of `POST /v1/audio/voices`, checked before any audio is
 * decoded, and the body of `PATCH /v1/audio/voices/{name}`.
 */
import { z } from "zod";
import { ApiError, validate } from "./envelope.ts";
import type { ErrorCode } from "./error-registry.ts";
import { longerThan } from "./fields.ts";
import { parseJson } from "./json.ts";
import type { Limits } from "./limits.ts";

/** An empty form field counts as absent. */
const filled = (description: string) =>
  z
    .preprocess((value: string) => (value === "" ? undefined : value), z.string())
    .describe(description);

export const VoiceForm = z.object({
  name: filled("Display name, in any script"),
  consent: filled("How the speaker agreed to the use of the voice"),
  ref_text: z.string().optional().describe("What is said in the clip"),
  speaker_description: z.string().optional().describe("How the voice sounds"),
  language: z.string().optional().describe("Two-letter code of the language spoken"),
  speaker_embedding: z
    .string()
    .optional()
    .describe("JSON list of numbers, instead of `audio_sample`"),
});
export type VoiceForm = z.infer<typeof VoiceForm>;

/** A checked upload. `embedding` is absent if the voice comes as a clip. */
export interface VoiceUpload {
  readonly name: string;
  readonly consent: string;
  readonly ref_text?: string;
  readonly speaker_description?: string;
  readonly language?: string;
  readonly embedding?: readonly number[];
}

/** Content types of clips, in the order in which messages list them. */
export const CLIP_TYPES = [
  "audio/mpeg",
  "audio/wav",
  "audio/x-wav",
  "audio/ogg",
  "audio/aac",
  "audio/flac",
  "audio/webm",
  "audio/mp4",
] as const;

const TYPES_BY_EXTENSION: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  ogg: "audio/ogg",
  opus: "audio/ogg",
  aac: "audio/aac",
  flac: "audio/flac",
  webm: "audio/webm",
  m4a: "audio/mp4",
  mp4: "audio/mp4",
};

function refuse(code: ErrorCode, message: string, param: string): never {
  throw new ApiError(code, message, { param });
}

/**
 * The content type of an uploaded clip. A generic type is resolved by the file's extension.
 * @throws ApiError if clips of that type are not accepted
 */
export function clipType(contentType: string, filename: string): string {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "" || type === "application/octet-stream") {
    const extension = filename.toLowerCase().split(".").pop() ?? "";
    return TYPES_BY_EXTENSION[extension] ?? "audio/wav";
  }
  if ((CLIP_TYPES as readonly string[]).includes(type)) return type;
  const message = `Unsupported MIME type: ${type.slice(0, 80)}. Allowed: ${CLIP_TYPES.join(", ")}`;
  refuse("invalid_value", message, "audio_sample");
}

/** @throws ApiError if a voice cannot have that name */
export function checkVoiceName(name: string, limits: Limits): void {
  const trimmed = name.trim();
  const unusable = trimmed === "" || trimmed === "." || trimmed === "..";
  const control = [...name].some((character) => character < " " || character === "\u007f");
  if (unusable || control || /[/\\]/.test(name)) {
    const message = "Invalid voice name: it must not be blank, '.', '..' or contain / or \\";
    refuse("invalid_value", message, "name");
  }
  if (longerThan(name, limits.voice_name_chars)) {
    const message = `Invalid voice name: too long (max ${limits.voice_name_chars} characters)`;
    refuse("invalid_value", message, "name");
  }
}

/**
 * Reads an embedding from its JSON text.
 * @throws ApiError naming what is wrong with it
 */
export function parseEmbedding(
  text: string,
  expected: number | undefined,
  limits: Limits,
): number[] {
  const name = "'speaker_embedding'";
  const fail = (message: string) => refuse("invalid_value", message, "speaker_embedding");
  let values: unknown;
  try {
    // Not JSON, but what many programs write for numbers that are not finite; told apart below.
    values = parseJson(text.replace(/\bNaN\b|[+-]?\bInfinity\b/g, "1e999"));
  } catch {
    return fail(`${name} must be valid JSON`);
  }
  if (!Array.isArray(values) || values.length === 0) {
    return fail(`${name} must be a non-empty list of numbers`);
  }
  const most = limits.uploaded_embedding_values;
  if (values.length > most) return fail(`${name} exceeds maximum length (${most} elements)`);
  if (!values.every((value) => typeof value === "number")) {
    return fail(`${name} must contain only numeric values`);
  }
  if (!values.every(Number.isFinite)) return fail(`${name} values must be finite`);
  if (expected !== undefined && values.length !== expected) {
    return fail(`${name} has ${values.length} dimensions; expected ${expected} dimensions`);
  }
  return values;
}

/** Two letters, in lower case. */
const LANGUAGE = /^[a-z]{2}$/;

/**
 * Reads the code of a language; blank means that none is stated.
 * @throws ApiError if it is none
 */
function readLanguage(value: string | undefined): string | undefined {
  const language = value?.trim().toLowerCase() || undefined;
  if (language === undefined || LANGUAGE.test(language)) return language;
  const message = "'language' must be a two-letter code such as 'en' or 'zh'";
  refuse("invalid_value", message, "language");
}

function checkLength(value: string | undefined, field: string, most: number): void {
  if (value === undefined || !longerThan(value, most)) return;
  refuse("invalid_value", `'${field}' is too long (max ${most} characters)`, field);
}

/**
 * Checks the fields of an upload.
 * @param fields the form's text fields; @param hasClip whether a file `audio_sample` came along
 * @throws ApiError of the first rule that is broken
 */
export function checkUpload(
  fields: unknown,
  hasClip: boolean,
  embeddingDim: number | undefined,
  limits: Limits,
): VoiceUpload {
  const form = validate(VoiceForm, fields);
  const embedding = form.speaker_embedding?.trim() ? form.speaker_embedding : undefined;
  if (hasClip && embedding !== undefined) {
    const message = "'audio_sample' and 'speaker_embedding' are mutually exclusive";
    refuse("invalid_value", message, "speaker_embedding");
  }
  if (!hasClip && embedding === undefined) {
    const message = "Either 'audio_sample' or 'speaker_embedding' must be provided";
    refuse("invalid_value", message, "audio_sample");
  }
  checkVoiceName(form.name, limits);
  const consent = form.consent.trim();
  if (consent === "") refuse("invalid_value", "'consent' must not be blank", "consent");
  const text = form.ref_text?.trim() || undefined;
  const description = form.speaker_description?.trim() || undefined;
  const language = readLanguage(form.language);
  checkLength(consent, "consent", limits.consent_chars);
  checkLength(text, "ref_text", limits.ref_text_chars);
  checkLength(description, "speaker_description", limits.description_chars);
  return {
    name: form.name.trim(),
    consent,
    ...(text === undefined ? {} : { ref_text: text }),
    ...(description === undefined ? {} : { speaker_description: description }),
    ...(language === undefined ? {} : { language }),
    ...(embedding === undefined
      ? {}
      : { embedding: parseEmbedding(embedding, embeddingDim, limits) }),
  };
}

/** Body of `PATCH /v1/audio/voices/{name}`: what is absent stays, and an empty string or null takes a detail away. */
export const VoiceChange = z.object({
  name: z.string().optional().describe("New name, in any script"),
  speaker_description: z.string().nullish().describe("How the voice sounds"),
  language: z.string().nullish().describe("Two-letter code of the language spoken"),
});
export type VoiceChangeInput = z.input<typeof VoiceChange>;

/** A checked change: members that are there are set, also to undefined. */
export interface VoiceEdit {
  readonly name?: string;
  readonly speakerDescription?: string | undefined;
  readonly language?: string | undefined;
}

/**
 * Checks the body of a change. Whether the name is free is the library's affair.
 * @throws ApiError of the first rule that is broken
 */
export function checkChange(body: unknown, limits: Limits): VoiceEdit {
  const change = validate(VoiceChange, body);
  const description = change.speaker_description?.trim() || undefined;
  checkLength(description, "speaker_description", limits.description_chars);
  const edit = {
    ...(change.name === undefined ? {} : { name: change.name.trim() }),
    ...(change.speaker_description === undefined ? {} : { speakerDescription: description }),
    ...(change.language === undefined
      ? {}
      : { language: readLanguage(change.language ?? undefined) }),
  };
  if (edit.name !== undefined) checkVoiceName(edit.name, limits);
  if (Object.keys(edit).length > 0) return edit;
  const message = "Nothing to change: send 'name', 'speaker_description' or 'language'";
  refuse("invalid_value", message, "name");
}
