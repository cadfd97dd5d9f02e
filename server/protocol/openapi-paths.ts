/** The paths of the OpenAPI document: what each takes, answers and refuses, with an example of each body. */
import { ERRORS, type ErrorCode } from "./error-registry.ts";
import { CONTENT_TYPES, SSE_CONTENT_TYPE } from "./formats.ts";
import { HEADERS } from "./headers.ts";
import { type JsonObject, type SchemaName, schemaRef } from "./openapi-schemas.ts";
import { SOCKET_PATHS, SUBPROTOCOL } from "./socket-address.ts";
import { CLIP_TYPES } from "./voice-upload.ts";

const JSON_TYPE = "application/json";
const BINARY = { type: "string", format: "binary" } as const;

function json(schema: SchemaName, example?: unknown): JsonObject {
  const body = { schema: schemaRef(schema), ...(example === undefined ? {} : { example }) };
  return { [JSON_TYPE]: body };
}

function answer(description: string, content: JsonObject, headers?: JsonObject): JsonObject {
  return { description, content, ...(headers === undefined ? {} : { headers }) };
}

const ok = (description: string, schema: SchemaName) => ({
  200: answer(description, json(schema)),
});

/** Every failure of an operation, grouped by status; each code of the registry becomes an example. */
function failures(codes: readonly ErrorCode[]): JsonObject {
  const responses: Record<string, JsonObject> = {
    401: answer("The API key is missing or wrong", json("Unauthorized")),
  };
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const same = codes.filter((code) => ERRORS[code].status === status);
    const examples = Object.fromEntries(
      same.map((code) => {
        const { type, text, retryable, next } = ERRORS[code];
        const error = { message: text, type, param: null, code: status, reason: code };
        return [code, { value: { error: { ...error, retryable, hint: next } } }];
      }),
    );
    const description = same.map((code) => ERRORS[code].text).join(" · ");
    const content = { [JSON_TYPE]: { schema: schemaRef("ErrorEnvelope"), examples } };
    const waits = status === 503 || status === 429;
    responses[status] = answer(description, content, waits ? RETRY_AFTER : undefined);
  }
  return responses;
}

const RETRY_AFTER = {
  [HEADERS.retryAfter]: {
    description: "Seconds to wait before the next attempt",
    schema: { type: "integer" },
  },
};

const ABOUT_HEADERS: Readonly<Record<string, string>> = {
  [HEADERS.requestId]: "Id of the request in the server's log",
  [HEADERS.sampleRate]: "Samples per second",
  [HEADERS.channels]: "Channels of the audio",
  [HEADERS.bitDepth]: "Bits of a sample",
  [HEADERS.audioSampleRate]: "The same as X-Sample-Rate",
  [HEADERS.streamFormat]: "How the audio is delivered: whole, audio or sse",
  [HEADERS.seed]: "The seed that was used",
  [HEADERS.segments]: "Pieces that a long text was cut into",
  [HEADERS.truncated]: "Whether the audio was cut at the frame limit",
  [HEADERS.ignoredFields]: "Fields of the request that nobody reads",
};

const AUDIO_HEADERS = Object.fromEntries(
  Object.entries(ABOUT_HEADERS).map(([name, description]) => [
    name,
    { description, schema: { type: "string" } },
  ]),
);

const AUDIO_CONTENT = {
  ...Object.fromEntries(Object.values(CONTENT_TYPES).map((type) => [type, { schema: BINARY }])),
  [SSE_CONTENT_TYPE.split(";", 1)[0] ?? ""]: {
    schema: schemaRef("SpeechEvent"),
    example:
      'event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio":"AAAB","response_format":"pcm"}\n\n',
  },
};

const LOADING: readonly ErrorCode[] = [
  "model_not_found",
  "rate_limited",
  "overloaded",
  "warming_up",
  "model_failed",
  "shutting_down",
  "request_timeout",
];

const GENERATION: readonly ErrorCode[] = [
  "schema_violation",
  "invalid_json",
  "unsupported_media_type",
  "invalid_value",
  "input_empty",
  "input_too_long",
  "invalid_voice",
  "unsupported_format",
  "invalid_reference",
  "reference_unreachable",
  "model_not_found",
  "body_too_large",
  "rate_limited",
  "generation_failed",
  "no_audio",
  "engine_dead",
  "overloaded",
  "warming_up",
  "model_failed",
  "shutting_down",
  "voices_unavailable",
];

const nameParameter = {
  name: "name",
  in: "path",
  required: true,
  description: "Name of the voice in any case, or its id",
  schema: { type: "string" },
};

const ofModel = {
  name: "model",
  in: "query",
  required: false,
  description:
    "Name of the model, where a server has several; left out: the one that speaks by default",
  schema: { type: "string" },
};

const speech = {
  post: {
    operationId: "createSpeech",
    tags: ["Speech"],
    summary: "Text to speech: whole, as a byte stream, or as server-sent events",
    requestBody: {
      required: true,
      content: json("SpeechRequest", {
        model: "tts-1",
        voice: "alloy",
        input: "Hello from Sonant.",
        response_format: "wav",
      }),
    },
    responses: {
      200: answer("The audio", AUDIO_CONTENT, AUDIO_HEADERS),
      ...failures([...GENERATION, "not_implemented"]),
    },
  },
};

const batch = {
  post: {
    operationId: "createSpeechBatch",
    tags: ["Speech"],
    summary: "Several texts at once; an item that fails does not harm the others",
    requestBody: {
      required: true,
      content: json("BatchRequest", { items: [{ input: "First." }, { input: "Second." }] }),
    },
    responses: {
      200: answer("One result an item; one a line, as they come, for `application/x-ndjson`", {
        ...json("BatchResponse"),
        "application/x-ndjson": { schema: schemaRef("BatchResult") },
      }),
      ...failures([
        "schema_violation",
        "invalid_json",
        "unsupported_media_type",
        "batch_too_large",
        "model_not_found",
        "body_too_large",
        "rate_limited",
        "overloaded",
      ]),
    },
  },
};

const voices = {
  parameters: [ofModel],
  get: {
    operationId: "listVoices",
    tags: ["Voices"],
    summary: "All voices of a model: its own, and the uploaded ones, which all models share",
    responses: {
      ...ok("The voices", "VoiceCatalogue"),
      ...failures(["model_not_found", "model_failed", "voices_unavailable"]),
    },
  },
  post: {
    operationId: "uploadVoice",
    tags: ["Voices"],
    summary: "Adds a voice, or replaces the one of that name",
    requestBody: {
      required: true,
      content: { "multipart/form-data": { schema: schemaRef("VoiceUploadForm") } },
    },
    responses: {
      ...ok("The new voice", "VoiceCreated"),
      ...failures([
        "schema_violation",
        "invalid_value",
        "invalid_reference",
        "upload_too_large",
        "voice_limit_reached",
        "voices_unavailable",
      ]),
    },
  },
};

const voice = {
  parameters: [nameParameter, ofModel],
  get: {
    operationId: "getVoice",
    tags: ["Voices"],
    summary: "One voice",
    responses: {
      ...ok("The voice", "VoiceDetail"),
      ...failures(["voice_not_found", "voices_unavailable"]),
    },
  },
  patch: {
    operationId: "updateVoice",
    tags: ["Voices"],
    summary: "Changes the name, description or language of an uploaded voice; its id stays",
    requestBody: { required: true, content: json("VoiceChange", { name: "Narrator" }) },
    responses: {
      ...ok("The voice as it is now", "VoiceDetail"),
      ...failures([
        "schema_violation",
        "invalid_json",
        "unsupported_media_type",
        "invalid_value",
        "voice_not_found",
        "voice_name_taken",
        "body_too_large",
        "voices_unavailable",
      ]),
    },
  },
  delete: {
    operationId: "deleteVoice",
    tags: ["Voices"],
    summary: "Deletes an uploaded voice; requests that speak with it finish",
    responses: {
      ...ok("It is gone", "VoiceDeleted"),
      404: answer("There is no such uploaded voice", json("VoiceDeleted")),
      ...failures(["voices_unavailable"]),
    },
  },
};

const voiceAudio = {
  parameters: [nameParameter, ofModel],
  get: {
    operationId: "getVoiceAudio",
    tags: ["Voices"],
    summary: "The recording of an uploaded voice, as it was uploaded",
    responses: {
      200: answer(
        "The recording, under the content type that it was uploaded with",
        Object.fromEntries(CLIP_TYPES.map((type) => [type, { schema: BINARY }])),
      ),
      ...failures(["voice_not_found", "invalid_voice", "voices_unavailable"]),
    },
  },
};

const voicePrompts = {
  parameters: [ofModel],
  post: {
    operationId: "createVoicePrompt",
    tags: ["Voices"],
    summary: "Encodes a reference once, for use in many requests to that model",
    requestBody: { required: true, content: json("VoicePromptRequest") },
    responses: {
      ...ok("The prompt", "VoicePromptCreated"),
      ...failures([
        "schema_violation",
        "invalid_reference",
        "reference_unreachable",
        "model_not_found",
        "overloaded",
      ]),
    },
  },
};

const blend = {
  post: {
    operationId: "blendVoices",
    tags: ["Voices"],
    summary: "Blends voices, for models that speak from embeddings",
    requestBody: { required: true, content: json("BlendRequest") },
    responses: {
      ...ok("The new voice", "VoiceCreated"),
      ...failures(["schema_violation", "blend_unsupported", "invalid_voice"]),
    },
  },
};

function page(operationId: string, summary: string, schema: SchemaName, more: JsonObject = {}) {
  const responses = { ...ok(summary, schema), ...more };
  return { get: { operationId, tags: ["Server"], summary, responses } };
}

function socket(path: string) {
  return {
    get: {
      operationId: path.endsWith("ws") ? "openSpeechSocket" : "openSpeechStream",
      tags: ["Speech"],
      summary: "WebSocket: text in and audio out at the same time",
      description: `Messages are JSON text; audio comes as binary messages. The first message is \`session.config\`. With \`"protocol": 2\`, or the subprotocol \`${SUBPROTOCOL}\`, the session can be cancelled, flushed and resumed.`,
      responses: { 101: { description: "The socket is open" } },
      "x-client-messages": schemaRef("SocketClientMessage"),
      "x-server-messages": schemaRef("SocketServerMessage"),
    },
  };
}

/** A page of plain text, one fact a line, the verdict first. */
function textPage(operationId: string, summary: string, example: string): JsonObject {
  const content = { "text/plain": { schema: { type: "string" }, example } };
  const responses = { 200: answer(summary, content), 503: answer("The verdict is no", content) };
  return { get: { operationId, tags: ["Server"], summary, responses } };
}

const READY_TEXT = "ready\nactive 0\nwaiting 0\ncapacity 8\n";

const modelParameter = { ...nameParameter, name: "id", description: "Name of the model" };

function modelChange(operationId: string, summary: string, after: string): JsonObject {
  const responses = { ...ok(after, "ModelCard"), ...failures(LOADING) };
  return {
    parameters: [modelParameter],
    post: { operationId, tags: ["Server"], summary, responses },
  };
}

const notServing = { 503: answer("It cannot serve now", json("Health")) };
const notReady = { 503: answer("It does not accept requests now", json("Ready")) };

/** All paths of the server. */
export const PATHS: Readonly<Record<string, JsonObject>> = {
  "/v1/audio/speech": speech,
  "/v1/audio/speech/batch": batch,
  "/v1/audio/speech/limits": {
    parameters: [ofModel],
    ...page("getLimits", "What this server accepts for a model", "LimitsDocument"),
  },
  ...Object.fromEntries(SOCKET_PATHS.map((path) => [path, socket(path)])),
  "/v1/audio/voices": voices,
  "/v1/audio/voices/{name}": voice,
  "/v1/audio/voices/{name}/audio": voiceAudio,
  "/v1/audio/voice_prompts": voicePrompts,
  "/v1/audio/voices/blend": blend,
  "/v1/models": page(
    "listModels",
    "The models under all their names, with their states",
    "ModelList",
  ),
  "/v1/models/{id}": {
    parameters: [modelParameter],
    ...page("getModel", "One model", "ModelCard", failures(["model_not_found"])),
  },
  "/v1/models/{id}/load": modelChange(
    "loadModel",
    "Loads a model now, which may unload the one that was unused for longest",
    "The model, loaded and warm",
  ),
  "/v1/models/{id}/unload": modelChange(
    "unloadModel",
    "Frees a model's memory once it has spoken to its end; a request that names it loads it again",
    "The model, unloaded",
  ),
  "/health": page("getHealth", "Whether the server can speak", "Health", notServing),
  "/ready": page("getReady", "Whether it accepts requests now", "Ready", notReady),
  "/healthz": textPage("getHealthText", "The same as /health, as plain text", "healthy\n"),
  "/readyz": textPage("getReadyText", "The same as /ready, as plain text", READY_TEXT),
  "/version": page("getVersion", "Version, model and configuration", "Version"),
  "/load": page("getLoad", "How busy it is", "Load"),
  "/metrics": {
    get: {
      operationId: "getMetrics",
      tags: ["Server"],
      summary: "Metrics in Prometheus' text format",
      responses: {
        200: answer("The metrics", { "text/plain": { schema: { type: "string" } } }),
      },
    },
  },
};
