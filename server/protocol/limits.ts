/** The limits of the wire with their defaults, and the document in which a server states its own. */
import { z } from "zod";
import { AudioFormat } from "./formats.ts";

/** Defaults; the operator may change those that are part of the configuration. */
export const LIMITS = {
  /** Bytes of a JSON body. */
  body_bytes: 16 * 1024 * 1024,
  max_input_chars: 16_000,
  max_instructions_length: 500,
  max_new_tokens: 4096,
  reference_min_seconds: 1,
  reference_max_seconds: 30,
  /** Bytes of a decoded data URL. */
  inline_reference_bytes: 10 * 1024 * 1024,
  upload_bytes: 10 * 1024 * 1024,
  max_uploaded_voices: 1000,
  voice_name_chars: 128,
  consent_chars: 1024,
  ref_text_chars: 8192,
  description_chars: 2048,
  embedding_values: 8192,
  uploaded_embedding_values: 4096,
  tts_batch_max_items: 32,
  ws_config_message_chars: 4 * 1024 * 1024,
  ws_text_message_chars: 128 * 1024,
  ws_buffer_chars: 100_000,
  ws_queued_units: 64,
  /** Bytes of one WebSocket message. */
  ws_frame_bytes: 8 * 1024 * 1024,
} as const;

/** Limits as a server resolved them: the same keys, other numbers. */
export type Limits = { readonly [K in keyof typeof LIMITS]: number };

const count = (text: string) => z.int().min(0).describe(text);

const LimitsTable = z.object({
  body_bytes: count("Bytes of a JSON body"),
  max_input_chars: count("Code points of `input`"),
  max_instructions_length: count("Code points of `instructions`"),
  max_new_tokens: count("Largest `max_new_tokens`"),
  reference_min_seconds: count("Shortest reference clip, in seconds"),
  reference_max_seconds: count("Longest reference clip, in seconds"),
  inline_reference_bytes: count("Decoded bytes of a reference inside a request"),
  upload_bytes: count("Bytes of an uploaded clip"),
  max_uploaded_voices: count("Voices that may be uploaded"),
  voice_name_chars: count("Code points of a voice name"),
  consent_chars: count("Code points of `consent`"),
  ref_text_chars: count("Code points of an uploaded `ref_text`"),
  description_chars: count("Code points of `speaker_description`"),
  embedding_values: count("Values of a `speaker_embedding` in a request"),
  uploaded_embedding_values: count("Values of an uploaded embedding"),
  tts_batch_max_items: count("Items of a batch"),
  ws_config_message_chars: count("Characters of a session.config message"),
  ws_text_message_chars: count("Characters of an input.text message"),
  ws_buffer_chars: count("Code points that wait to be spoken in a session"),
  ws_queued_units: count("Units that wait to be spoken in a session"),
  ws_frame_bytes: count("Bytes of one WebSocket message"),
}) satisfies z.ZodType<Limits>;

export const LimitsDocument = z.object({
  limits: LimitsTable.describe("Largest and smallest values"),
  formats: z.array(AudioFormat).describe("Formats that this server makes"),
  sample_rate: z.int().describe("Native rate, in samples per second"),
  sample_rates: z.array(z.int()).describe("Rates that `sample_rate` may ask for"),
  channels: z.array(z.int()).describe("Channel counts that `channels` may ask for"),
  default_channels: z.int().describe("Channels of a response that asks for none"),
  frame_ms: z.number().describe("Milliseconds of sound in a frame"),
  presets: z.array(z.string()).describe("Voices that come with the model"),
  default_voice: z.string().nullable().describe("Voice of a request that names none"),
  languages: z.array(z.string()).describe("Two-letter codes of the model's languages"),
  protocols: z.array(z.int()).describe("Versions of the WebSocket protocol"),
  word_timestamps: z.boolean().describe("Whether `word_timestamps` is available"),
  idle_timeout_s: z.number().describe("A session without messages is closed after this time"),
});
export type LimitsDocument = z.infer<typeof LimitsDocument>;
