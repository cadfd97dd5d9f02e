import { describe, expect, it } from "vitest";
import { EXPOSED_HEADERS } from "./headers.ts";
import { openApiDocument } from "./openapi.ts";

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

const document = openApiDocument({ version: "1.2.3", secured: true });
const schemas = document.components.schemas as Record<string, Schema>;

/** Fields of the interface description; one that gets lost here fails the test. */
const VOICE = `model voice speaker instructions task_type language ref_text x_vector_only_mode max_new_tokens
  initial_codec_chunk_frames`;
const OUTPUT = "response_format speed sample_rate channels";
const SAMPLER = `temperature top_p top_k audio_temperature audio_top_p audio_top_k audio_repetition_penalty`;
const MORE = `seed speaker_embedding non_streaming_mode word_timestamps extra_params chunk_policy max_lead_ms
  text_normalization segmenting pause_tags`;

const DOCUMENTED: Readonly<Record<string, string>> = {
  SpeechRequest: `input ${VOICE} ${OUTPUT} ${SAMPLER} ${MORE} stream stream_format ref_audio ref_audio_2
    ambient_sound duration_seconds references`,
  BatchRequest: `items ${VOICE} ${OUTPUT} ref_audio non_streaming_mode`,
  BatchResponse: "id results total succeeded failed",
  BatchResult: `index status audio_data media_type error usage sample_rate channels duration_s seed`,
  VoiceUploadForm:
    "name consent ref_text speaker_description language speaker_embedding audio_sample",
  VoiceChange: "name speaker_description language",
  VoiceCatalogue: "voices uploaded_voices presets",
  VoiceCreated: "success voice id object name created_at",
  VoicePromptRequest: "ref_audio audio_sample ref_text name",
  VoicePromptCreated: "id object frames duration_s content_sha256 expires_at",
  BlendRequest: "voices method name",
  ModelList: "object data",
  ModelCard: "id object created owned_by root",
  LimitsDocument: `limits formats sample_rate sample_rates channels default_channels frame_ms presets
    default_voice languages protocols word_timestamps idle_timeout_s`,
  Health: "status reason device",
  Ready: "ready reason active waiting capacity",
  Version: "version model device config_sha256 engine",
  Load: "server_load",
};

const MESSAGES: Readonly<Record<string, string>> = {
  "session.config": `type ${VOICE} ${OUTPUT} ${SAMPLER} ${MORE} ref_audio stream_audio split_granularity
    protocol binary_framing idle_timeout_s resumable`,
  "session.update": "type voice apply",
  "session.resume": "type session_id resume_token last_seq",
  "session.close": "type",
  "input.text": "type text seq",
  "input.flush": "type",
  "input.done": "type",
  "input.commit": "type",
  "input.cancel": "type scope played_ms",
  "playback.ack": "type utterance_index played_ms",
  ping: "type t",
  "session.created": `type session_id resume_token protocol sample_rate channels frame_ms limits`,
  "audio.start": `type utterance_index sentence_index sentence_text format sample_rate channels generation
    request_id text_start text_end`,
  "audio.chunk": `type utterance_index sentence_index chunk_id chunk_start_ms chunk_end_ms sample_rate channels
    audio_b64 timestamps`,
  "audio.mark": "type utterance_index sentence_index words",
  "audio.done": `type utterance_index sentence_index total_bytes error duration_ms ttfa_ms timing rtf seed cancelled`,
  "audio.cancelled": `type utterance_index sentence_index reason sent_bytes sent_ms heard_text dropped_chars`,
  "session.done": "type utterance_index total_sentences",
  "utterance.error": "type utterance_index code message retryable",
  flow: "type state lead_ms",
  "session.resumed": "type from_seq lost",
  pong: "type t",
  error: "type message code fatal param partial_audio action",
  "speech.audio.delta": `type audio response_format sample_rate channels start_ms duration_ms timestamps`,
  "speech.audio.done": "type usage",
  "speech.audio.error": "type error",
};

const words = (text: string) => text.trim().split(/\s+/);
const branches = (schema: Schema | undefined) => schema?.oneOf ?? schema?.anyOf ?? [];

/** Properties without a description, however deep. */
function undescribed(schema: Schema, path: string): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...(member.description === undefined ? [`${path}.${name}`] : []),
    ...undescribed(member, `${path}.${name}`),
  ]);
  const inner = [...branches(schema), ...(schema.items === undefined ? [] : [schema.items])];
  return [...own, ...inner.flatMap((part) => undescribed(part, path))];
}

/** Every value under a key, anywhere in the document. */
function everywhere(value: unknown, key: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === key ? [member] : everywhere(member, key),
  );
}

describe("the OpenAPI document", () => {
  it.each(Object.entries(DOCUMENTED))("has every field of %s", (name, fields) => {
    expect(Object.keys(schemas[name]?.properties ?? {})).toEqual(
      expect.arrayContaining(words(fields)),
    );
  });

  it.each(Object.entries(MESSAGES))("has every field of %s", (type, fields) => {
    const names = ["SocketClientMessage", "SocketServerMessage", "SpeechEvent"];
    const all = names.flatMap((name) => branches(schemas[name]));
    const message = all.find(
      ({ properties }) => (properties?.type as { const?: string } | undefined)?.const === type,
    );
    expect(Object.keys(message?.properties ?? {})).toEqual(expect.arrayContaining(words(fields)));
  });

  it("describes every field", () => {
    const missing = Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name));
    expect(missing).toEqual([]);
  });

  it("asks only for what is needed", () => {
    expect(schemas.SpeechRequest?.required).toEqual(["input"]);
    expect(schemas.BatchRequest?.required).toEqual(["items"]);
    expect(schemas.VoiceUploadForm?.required).toEqual(["name", "consent"]);
  });

  it("refers only to schemas that exist", () => {
    const references = everywhere(document, "$ref").map(String);
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references) {
      expect(Object.keys(schemas)).toContain(reference.replace("#/components/schemas/", ""));
    }
  });

  it("has every path, each operation with a name of its own", () => {
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        "/v1/audio/speech",
        "/v1/audio/speech/batch",
        "/v1/audio/speech/limits",
        "/v1/audio/speech/stream",
        "/v1/audio/speech/ws",
        "/v1/audio/voices",
        "/v1/audio/voices/{name}",
        "/v1/audio/voices/{name}/audio",
        "/v1/audio/voice_prompts",
        "/v1/audio/voices/blend",
        "/v1/models",
        "/v1/models/{id}",
        "/health",
        "/ready",
        "/healthz",
        "/readyz",
        "/version",
        "/metrics",
      ]),
    );
    const ids = everywhere(document.paths, "operationId");
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("tells binary answers, their headers and the errors of speech", () => {
    const { responses } = (document.paths["/v1/audio/speech"] as { post: { responses: object } })
      .post;
    const answers = responses as Record<string, { content: object; headers?: object }>;
    expect(Object.keys(answers)).toEqual(
      expect.arrayContaining(["200", "400", "401", "404", "413", "429", "500", "501", "503"]),
    );
    expect(Object.keys(answers[200]?.content ?? {})).toEqual([
      "audio/wav",
      "audio/pcm",
      "audio/flac",
      "audio/mpeg",
      "audio/aac",
      "audio/ogg",
      "text/event-stream",
    ]);
    for (const header of Object.keys(answers[200]?.headers ?? {})) {
      expect(EXPOSED_HEADERS).toContain(header);
    }
    expect(answers[503]?.headers).toHaveProperty("Retry-After");
  });

  it("can be written as JSON, and asks for a key only where there is one", () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(document.security).toHaveLength(1);
    expect(openApiDocument({ version: "1", secured: false }).security).toEqual([]);
  });
});
