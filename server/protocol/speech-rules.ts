/**
 * The rules that a well-formed request still has to keep: limits of this server and abilities of the served model.
 * They are checked in a fixed order and the first that is broken is reported. Nothing is fetched or decoded here.
 */
import { ApiError } from "./envelope.ts";
import type { ErrorCode } from "./error-registry.ts";
import { longerThan } from "./fields.ts";
import { type AudioFormat, SAMPLE_RATES } from "./formats.ts";
import type { Limits } from "./limits.ts";
import { referenceForm } from "./reference-form.ts";
import type { TaskType } from "./speech-fields.ts";

/** What the served model and this server can do, as far as a request can ask for it. */
export interface SpeechAbilities {
  /** Name of the model family in messages: MOSS-TTS-Nano. */
  readonly label: string;
  readonly formats: readonly AudioFormat[];
  readonly channels: readonly number[];
  /** Language names the model has to be told; empty if it does not need to be. */
  readonly languages: readonly string[];
  /** Task types the model knows; empty if it has no such notion. */
  readonly tasks: readonly TaskType[];
  /** Length of a speaker embedding; undefined if the model takes none. */
  readonly embeddingDim: number | undefined;
  /** Name of the voice that speaks when none is named; undefined if a reference is needed then. */
  readonly defaultVoice: string | undefined;
  readonly aligner: boolean;
  /** Whether `file://` references may be used. */
  readonly fileReferences: boolean;
  /** The kind of a voice, whatever the case of its name; undefined if there is no such voice. */
  voiceKind(name: string): "preset" | "uploaded" | undefined;
}

/** The part of a request that the rules look at; batch items and sessions have it as well. */
export interface RuledRequest {
  readonly input?: string | undefined;
  readonly voice?: string | undefined;
  readonly instructions?: string | undefined;
  readonly response_format?: AudioFormat | undefined;
  readonly sample_rate?: number | undefined;
  readonly channels?: number | undefined;
  readonly task_type?: TaskType | undefined;
  readonly language?: string | undefined;
  readonly ref_audio?: string | readonly string[] | undefined;
  readonly ref_text?: string | undefined;
  readonly x_vector_only_mode?: boolean | undefined;
  readonly max_new_tokens?: number | undefined;
  readonly word_timestamps?: boolean | undefined;
  readonly speaker_embedding?: readonly number[] | readonly (readonly number[])[] | undefined;
}

function refuse(code: ErrorCode, message: string | undefined, param: string): never {
  throw new ApiError(code, message, { param });
}

/** @throws ApiError if the text is blank or too long */
export function checkInput(input: string, limits: Limits): void {
  if (input.trim() === "") refuse("input_empty", undefined, "input");
  if (longerThan(input, limits.max_input_chars)) {
    const message = `Input text is too long: the maximum of 'input' is ${limits.max_input_chars} characters`;
    refuse("input_too_long", message, "input");
  }
}

function checkLengths(request: RuledRequest, limits: Limits): void {
  const { instructions, max_new_tokens: frames } = request;
  if (instructions !== undefined && longerThan(instructions, limits.max_instructions_length)) {
    const message = `Instructions too long (max ${limits.max_instructions_length} characters)`;
    refuse("invalid_value", message, "instructions");
  }
  if (frames !== undefined && frames < 1) {
    refuse("invalid_value", "max_new_tokens must be at least 1", "max_new_tokens");
  }
  if (frames !== undefined && frames > limits.max_new_tokens) {
    const message = `max_new_tokens cannot exceed ${limits.max_new_tokens}`;
    refuse("invalid_value", message, "max_new_tokens");
  }
}

function checkOutput(request: RuledRequest, abilities: SpeechAbilities): void {
  const { response_format: format, sample_rate: rate, channels } = request;
  if (format !== undefined && !abilities.formats.includes(format)) {
    const message = `response_format '${format}' is not available. Supported: ${abilities.formats.join(", ")}`;
    refuse("unsupported_format", message, "response_format");
  }
  if (rate !== undefined && !(SAMPLE_RATES as readonly number[]).includes(rate)) {
    const message = `Unsupported sample_rate ${rate}. Supported: ${SAMPLE_RATES.join(", ")}`;
    refuse("invalid_value", message, "sample_rate");
  }
  if (channels !== undefined && !abilities.channels.includes(channels)) {
    const message = `Unsupported channels ${channels}. Supported: ${abilities.channels.join(", ")}`;
    refuse("invalid_value", message, "channels");
  }
  if (request.word_timestamps && !abilities.aligner) {
    const message = "word_timestamps needs an aligner, which this server does not have";
    refuse("invalid_value", message, "word_timestamps");
  }
}

/** The spelling of a language that the model knows, or undefined if the model need not be told. */
export function knownLanguage(
  language: string | undefined,
  abilities: SpeechAbilities,
): string | undefined {
  if (language === undefined || abilities.languages.length === 0) return undefined;
  const wanted = language.toLowerCase();
  const known = abilities.languages.find((name) => name.toLowerCase() === wanted);
  if (known === undefined) {
    const message = `Invalid language '${language}'. Supported: ${abilities.languages.join(", ")}`;
    refuse("invalid_value", message, "language");
  }
  return known;
}

/** The task of a request, for models that know tasks: as asked for, or as the other fields suggest. */
export function taskOf(request: RuledRequest, abilities: SpeechAbilities): TaskType {
  const { voice, ref_audio, ref_text, speaker_embedding } = request;
  if (voice !== undefined && abilities.voiceKind(voice) === "uploaded") return "Base";
  const cloning = ref_audio !== undefined || ref_text !== undefined;
  return request.task_type ?? (cloning || speaker_embedding !== undefined ? "Base" : "CustomVoice");
}

function checkTask(request: RuledRequest, abilities: SpeechAbilities): void {
  if (abilities.tasks.length === 0) return;
  const task = taskOf(request, abilities);
  if (request.speaker_embedding !== undefined && task !== "Base") {
    const message = "'speaker_embedding' is only valid for Base task";
    refuse("invalid_value", message, "speaker_embedding");
  }
  if (!abilities.tasks.includes(task)) {
    const message = `${abilities.label} does not support task_type '${task}'. Supported: ${abilities.tasks.join(", ")}`;
    refuse("invalid_value", message, "task_type");
  }
  if (task === "VoiceDesign" && !request.instructions?.trim()) {
    refuse("invalid_value", "VoiceDesign task requires 'instructions'", "instructions");
  }
  const textless = request.x_vector_only_mode || request.speaker_embedding !== undefined;
  if (
    task === "Base" &&
    request.ref_audio !== undefined &&
    !textless &&
    !request.ref_text?.trim()
  ) {
    const message = "Base task requires a non-empty 'ref_text', unless x_vector_only_mode is true";
    refuse("invalid_value", message, "ref_text");
  }
}

function checkEmbedding(request: RuledRequest, abilities: SpeechAbilities): void {
  const values = request.speaker_embedding;
  if (values === undefined) return;
  const expected = abilities.embeddingDim;
  if (expected === undefined) {
    const message = `${abilities.label} does not take a 'speaker_embedding'`;
    refuse("invalid_value", message, "speaker_embedding");
  }
  const rows = (Array.isArray(values[0]) ? values : [values]) as readonly (readonly number[])[];
  const wrong = rows.find((row) => row.length !== expected);
  if (wrong !== undefined) {
    const message = `speaker_embedding has ${wrong.length} dimensions; expected ${expected} for the loaded ${abilities.label} model`;
    refuse("invalid_value", message, "speaker_embedding");
  }
}

function checkVoice(request: RuledRequest, abilities: SpeechAbilities): void {
  const { voice } = request;
  if (voice !== undefined && voice.trim() === "") {
    refuse("invalid_voice", `Invalid voice '${voice}'`, "voice");
  }
  if (request.ref_audio !== undefined || request.speaker_embedding !== undefined) return;
  const byDefault = voice === undefined || voice.toLowerCase() === "default";
  if (byDefault && abilities.defaultVoice !== undefined) return;
  if (voice === undefined) {
    const message = `${abilities.label} requires 'ref_audio' or an uploaded voice`;
    refuse("invalid_voice", message, "voice");
  }
  if (abilities.voiceKind(voice) === undefined) {
    const message = `Invalid voice: Unknown voice '${voice}' for ${abilities.label}. GET /v1/audio/voices lists the voices.`;
    refuse("invalid_voice", message, "voice");
  }
}

/**
 * Checks everything that can be said of voice, form and options without touching audio.
 * @throws ApiError of the first rule that is broken
 */
export function checkOptions(
  request: RuledRequest,
  abilities: SpeechAbilities,
  limits: Limits,
): void {
  checkLengths(request, limits);
  checkOutput(request, abilities);
  knownLanguage(request.language, abilities);
  checkTask(request, abilities);
  checkEmbedding(request, abilities);
  checkVoice(request, abilities);
  const references = request.ref_audio === undefined ? [] : [request.ref_audio].flat();
  for (const reference of references) referenceForm(reference, abilities, limits);
}

/** @throws ApiError of the first rule that the request breaks */
export function checkSpeech(
  request: RuledRequest & { readonly input: string },
  abilities: SpeechAbilities,
  limits: Limits,
): void {
  checkInput(request.input, limits);
  checkOptions(request, abilities, limits);
}

/** @throws ApiError `model_not_found` if the model is none of the names given */
export function checkModel(model: string | undefined, served: (name: string) => boolean): void {
  if (model !== undefined && !served(model)) {
    throw new ApiError("model_not_found", `The model \`${model}\` does not exist.`, {
      param: "model",
    });
  }
}
