/**
 * The fields that requests have in common, in groups: HTTP requests, batches and socket sessions are put together from
 * them, so that an option means the same at every door. Shapes only; what values mean together is speech-rules.ts.
 */
import { z } from "zod";
import { flag, real, seed, whole } from "./fields.ts";
import { AudioFormat } from "./formats.ts";

export const TASK_TYPES = ["CustomVoice", "VoiceDesign", "Base"] as const;
export const TaskType = z.enum(TASK_TYPES);
export type TaskType = z.infer<typeof TaskType>;

export const CHUNK_POLICIES = ["auto", "fixed", "ramp", "adaptive"] as const;
const EMBEDDING_ITEM = { type: "number" } as const;

const text = (description: string) => z.string().nullish().describe(description);

/** A voice by name, or `{id}` as OpenAI's clients write it. */
const VoiceField = z
  .union([
    z.string(),
    z.looseObject({
      id: z.string({ error: "voice dict must contain 'id'" }).describe("Name or id of a voice"),
    }),
  ])
  .nullish()
  .describe("Name or id of a voice, in any case; `default` is the server's default voice");

/** Checked by hand: a union inside 8192 items costs too much and says too little. */
const EmbeddingField = z
  .array(z.unknown())
  .check((context) => {
    const message = embeddingFault(context.value);
    if (message === undefined) return;
    context.issues.push({ code: "custom", path: [], message, input: context.value });
  })
  .transform((values) => values as number[] | number[][])
  .nullish()
  .meta({
    description: "A voice as an embedding: a list of numbers, or a list of such lists",
    anyOf: [
      { type: "array", items: EMBEDDING_ITEM },
      { type: "array", items: { type: "array", items: EMBEDDING_ITEM } },
      { type: "null" },
    ],
  });

const MAX_EMBEDDING = 8192;

function embeddingFault(values: readonly unknown[]): string | undefined {
  const name = "'speaker_embedding'";
  if (values.length > MAX_EMBEDDING) {
    return `${name} exceeds maximum length (${MAX_EMBEDDING} elements)`;
  }
  const rows = values.every(Array.isArray) ? values : [values];
  if (rows.length === 0 || rows.some((row) => row.length === 0)) {
    return `${name} must be a non-empty list of floats`;
  }
  for (const value of rows.flat(1)) {
    if (typeof value !== "number") return `${name} must contain only numeric values`;
    if (!Number.isFinite(value)) return `${name} values must be finite`;
  }
  return undefined;
}

/** Which voice speaks, and how. */
export const voiceFields = {
  model: text("Name of the model; the served model if absent"),
  voice: VoiceField,
  speaker: text("Another name for `voice`, which wins"),
  instructions: text("How to speak, in words; for models that understand it"),
  task_type: TaskType.nullish().describe("Kind of voice; follows from the other fields if absent"),
  language: text("Language of the text, for models that need to be told"),
  ref_text: text("What is said in `ref_audio`"),
  x_vector_only_mode: flag().nullish().describe("Clone from the speaker embedding alone"),
  max_new_tokens: whole().nullish().describe("Most frames of sound to generate"),
  initial_codec_chunk_frames: whole(0)
    .nullish()
    .describe("Frames of the first chunk; 0 makes it as large as the others"),
} as const;

/** A reference clip inside the request. */
export const referenceField = {
  ref_audio: text(
    "Speech to sound like: an http(s) URL, a data URL, base64 of an audio file, or a voice prompt id",
  ),
} as const;

/** The form of the sound. `response_format` has a default that depends on the model's name. */
export const outputFields = {
  response_format: AudioFormat.nullish().describe(
    "Form of the audio; wav if absent, mp3 for OpenAI's model names",
  ),
  speed: real(0.25, 4).nullish().describe("Tempo at the same pitch; 1 if absent"),
  sample_rate: whole(1).nullish().describe("Samples per second; the model's own rate if absent"),
  channels: whole(1, 2).nullish().describe("1 for mono, 2 for stereo"),
} as const;

/** Sampling of the model; each option falls back to the server's setting. */
export const samplerFields = {
  temperature: real(0.01, 5).nullish().describe("Text temperature"),
  top_p: real(0.01, 1).nullish().describe("Text nucleus; 1 switches it off"),
  top_k: whole(0, 16384).nullish().describe("Text candidates; 0 switches the limit off"),
  audio_temperature: real(0.01, 5).nullish().describe("Audio temperature"),
  audio_top_p: real(0.01, 1).nullish().describe("Audio nucleus; 1 switches it off"),
  audio_top_k: whole(0, 16384).nullish().describe("Audio candidates; 0 switches the limit off"),
  audio_repetition_penalty: real(0.5, 3)
    .nullish()
    .describe("Above 1: codes that were used lately become less likely"),
} as const;

export const SAMPLER_NAMES = Object.keys(samplerFields) as (keyof typeof samplerFields)[];

/** Options that a request and a socket session share beyond voice and form. */
export const generationFields = {
  seed: seed()
    .nullish()
    .describe("The same seed, text and voice give the same audio; drawn at random if absent"),
  speaker_embedding: EmbeddingField,
  non_streaming_mode: flag().nullish().describe("Prompt layout of models that have two"),
  word_timestamps: flag().nullish().describe("Time of each word; for models with an aligner"),
  extra_params: z
    .looseObject(samplerFields)
    .nullish()
    .describe("Options of one model; sampling options are read from here as well"),
  chunk_policy: z
    .enum(CHUNK_POLICIES)
    .nullish()
    .describe("How frames are gathered into chunks; the server's policy if `auto` or absent"),
  max_lead_ms: whole(0)
    .nullish()
    .describe("Generation pauses when it is this far ahead of playback"),
  text_normalization: z
    .enum(["auto", "off"])
    .nullish()
    .describe("Whether numbers, dates and the like are written out; `auto` if absent"),
  segmenting: z
    .enum(["auto", "off"])
    .nullish()
    .describe("Whether long text is cut at sentence ends; `auto` if absent"),
  pause_tags: flag()
    .nullish()
    .describe(
      "Whether `[pause 0.5s]` or `[pause:300ms]` between two pieces of text becomes exactly that much silence, " +
        "10 s at most and 60 s in one text; false if absent",
    ),
  ...samplerFields,
} as const;

type Sampler = { -readonly [K in keyof typeof samplerFields]?: number | undefined };

/** Sampling options of a request: those in the body, then those in `extra_params`. */
export function samplerOf(request: Sampler & { extra_params?: object | undefined }): Sampler {
  const extra = (request.extra_params ?? {}) as Record<string, unknown>;
  const sampler: Sampler = {};
  for (const name of SAMPLER_NAMES) {
    const value = request[name] ?? extra[name];
    if (typeof value === "number") sampler[name] = value;
  }
  return sampler;
}
