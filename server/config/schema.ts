/**
 * The deploy file: every key that an operator may write, with its type, range, default and meaning. The names are those
 * of vLLM-Omni where the meaning is the same. deploy/schema.json is made from this file.
 */
import { z } from "zod";
import { codecStage, connector, frameStage, platform } from "./schema-engine.ts";
import { ignored } from "./schema-fields.ts";
import { checkFileRules } from "./schema-rules.ts";

const count = (least: number, normal: number, description: string) =>
  z.int().min(least).default(normal).describe(description);
const seconds = (least: number, normal: number, description: string) =>
  z.number().min(least).default(normal).describe(description);
const flag = (normal: boolean, description: string) =>
  z.boolean().default(normal).describe(description);
const words = (normal: string[], description: string) =>
  z.array(z.string().min(1)).default(normal).describe(description);

const MEBIBYTE = 1024 * 1024;

const objectStore = z.strictObject({
  bucket: z.string().min(1).describe("Bucket of uploaded voices"),
  endpoint: z
    .url({ protocol: /^https?$/, error: "has to be an http:// or https:// address" })
    .optional()
    .describe("Address of a service other than Amazon's"),
  region: z.string().min(1).optional().describe("Region; left out, as the environment says"),
  prefix: z
    .string()
    .regex(/^([^/]+\/)*$/, "has to be empty or to end with / and not to begin with it")
    .default("voices/")
    .describe("What the names of all objects begin with"),
  force_path_style: z
    .boolean()
    .nullable()
    .default(null)
    .describe(
      "The bucket's name stands in the path of addresses; null: where an endpoint is named",
    ),
});

const voices = z.strictObject({
  default: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe("Voice of requests that name none; null: the model's own default"),
  openai_map: z
    .record(z.string(), z.string())
    .default({})
    .describe("Voices behind the names of OpenAI's voices; others get the default voice"),
  directory: z
    .string()
    .min(1)
    .default("../data/voices")
    .describe("Folder of uploaded voices, relative to this file"),
  s3: objectStore
    .nullable()
    .default(null)
    .describe(
      "Store of uploaded voices that several servers share, in place of the folder; null: none",
    ),
});

const models = z.strictObject({
  files: words(
    [],
    "Deploy files of more models, relative to this file; of each, the keys that belong to its model count",
  ),
  load: z
    .enum(["at_start", "on_request"])
    .default("on_request")
    .describe("When those are loaded; the model of this file is always loaded at the start"),
  max_loaded: count(
    0,
    2,
    "Models in memory at once; when another is asked for, the one unused for longest makes room. 0: all",
  ),
});

const cluster = z.strictObject({
  redis_url: z
    .url({ protocol: /^rediss?$/, error: "has to be a redis:// or rediss:// address" })
    .nullable()
    .default(null)
    .describe("Redis that several servers share, for limits and pages; null: this server is alone"),
  key_prefix: z
    .string()
    .default("sonant:")
    .describe("What all names in Redis begin with; equal on servers that belong together"),
});

const output = z.strictObject({
  channels: z.int().min(1).max(2).default(1).describe("Channels of requests that ask for none"),
  allow_channels: z
    .array(z.int().min(1).max(2))
    .min(1)
    .default([1, 2])
    .describe("Channel counts that requests may ask for"),
});

const server = z.strictObject({
  host: z.string().min(1).default("127.0.0.1").describe("Address to listen on"),
  port: z.int().min(0).max(65535).default(8091).describe("Port to listen on; 0: any free one"),
  stream_default: z
    .enum(["audio", "sse"])
    .default("audio")
    .describe("Form of `stream: true` when a request does not say which"),
  early_headers: flag(false, "Send headers at admission instead of with the first audio"),
  api_key_env: z
    .string()
    .min(1)
    .default("SONANT_API_KEY")
    .describe("Environment variable with the API keys, separated by commas; unset: no keys"),
  cors_origins: words(["*"], "Origins that browsers may call from; `*` for all"),
  trust_proxy: flag(false, "Take the client's address from X-Forwarded-For"),
  drain_timeout_s: seconds(0, 8, "Time for open requests to finish after SIGTERM"),
  request_timeout_s: seconds(1, 600, "Longest time of one request"),
  stall_timeout_s: seconds(
    0.1,
    30,
    "A client that stops sending its request or reading its answer is cut off after this",
  ),
  requests_per_minute: count(0, 0, "Requests of one key or address in a minute; 0: no limit"),
  log_level: z
    .enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"])
    .default("info")
    .describe("Least severe log lines that are written"),
});

const limits = z.strictObject({
  body_bytes: count(1024, 16 * MEBIBYTE, "Bytes of a JSON body"),
  max_input_chars: count(1, 16_000, "Code points of `input`"),
  max_instructions_length: count(0, 500, "Code points of `instructions`"),
  max_new_tokens: count(1, 4096, "Largest `max_new_tokens`, in frames"),
  tts_batch_max_items: count(1, 32, "Items of a batch"),
  max_uploaded_voices: count(0, 1000, "Voices that may be uploaded"),
  inline_reference_bytes: count(1024, 10 * MEBIBYTE, "Decoded bytes of a reference in a request"),
  upload_bytes: count(1024, 10 * MEBIBYTE, "Bytes of an uploaded clip"),
});

const refAudio = z.strictObject({
  allow_private: flag(false, "Fetch references from private and loopback addresses"),
  allowed_domains: words([], "Host names that references may come from; empty: all public ones"),
  allowed_local_path: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe("Folder below which file:// references may lie; null: none"),
  allowed_ports: z
    .array(z.int().min(1).max(65535))
    .default([80, 443])
    .describe("Ports that references may be fetched from"),
  connect_timeout_s: seconds(0.1, 3, "Time to connect"),
  fetch_timeout_s: seconds(0.1, 10, "Time for the whole fetch"),
  max_bytes: count(1024, 25 * MEBIBYTE, "Bytes of a fetched reference"),
  max_redirects: count(0, 3, "Redirects that are followed"),
});

const ws = z.strictObject({
  config_timeout_s: seconds(0.05, 10, "Time for session.config to arrive"),
  idle_timeout_s: seconds(0.05, 30, "A silent session without work is closed after this"),
  stall_timeout_s: seconds(0.1, 30, "A client that does not read is closed after this"),
  heartbeat_s: seconds(0.1, 15, "Interval of transport pings; two missed ones end a socket"),
  default_split: z
    .enum(["sentence", "clause", "none", "auto"])
    .default("sentence")
    .describe("Where text is cut when a session does not say"),
  max_lead_ms: count(100, 20_000, "Generation pauses this far ahead of playback"),
  resume_ttl_s: seconds(0, 60, "A lost resumable session is kept for this long; 0: never"),
  max_sessions: count(1, 4096, "Open sockets"),
  max_sessions_per_client: count(1, 256, "Open sockets of one key or address"),
  config_message_chars: count(64, 4 * MEBIBYTE, "Characters of a session.config message"),
  text_message_chars: count(16, 128 * 1024, "Characters of an input.text message"),
  buffer_chars: count(1, 100_000, "Code points that may wait in a session"),
  queued_units: count(1, 64, "Units that may wait in a session"),
});

const stress = z.strictObject({
  enabled: flag(true, "Load tests may be started from the page, in processes beside the server"),
  max_streams: count(1, 4096, "Requests at once of such a load test"),
  max_seconds: seconds(1, 3600, "Longest time of such a load test, in seconds"),
});

/** A section that may be left out; its keys then have their defaults. */
function section<T extends z.ZodType>(schema: T, description: string) {
  return schema.prefault({} as z.input<T>).describe(description);
}

export const DeployFile = z
  .strictObject({
    pipeline: z
      .string()
      .regex(/^[a-z0-9_]+$/, "has to be a word of small letters, digits and _")
      .default("auto")
      .describe("Model family; auto: as the model folder says"),
    model: z
      .string()
      .min(1)
      .default("../native/models/starter")
      .describe("Model folder, relative to this file"),
    served_model_names: z
      .array(z.string().min(1))
      .min(1)
      .describe("Names of the model for `model` in requests; the first is its main name"),
    openai_aliases: words(
      ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"],
      "More names for the model; their requests get mp3 by default",
    ),
    models: section(models, "More models that this server speaks with"),
    voices: section(voices, "Voices and where they are kept"),
    stages: z
      .array(z.discriminatedUnion("stage_id", [frameStage, codecStage]))
      .min(1)
      .max(2)
      .default([frameStage.parse({ stage_id: 0 })])
      .describe("The two stages of the engine: 0 makes frames, 1 turns them into sound"),
    connectors: z
      .record(z.string(), connector)
      .default({})
      .describe("At most one: how frames become chunks between the stages"),
    output: section(output, "Form of the sound"),
    server: section(server, "The HTTP server"),
    limits: section(limits, "What requests may ask for"),
    ref_audio: section(refAudio, "Where reference clips may come from"),
    ws: section(ws, "Socket sessions"),
    stress: section(stress, "The server's own load generator"),
    cluster: section(cluster, "What joins several servers"),
    platforms: z
      .partialRecord(z.enum(["cpu", "cuda"]), platform)
      .default({})
      .describe(
        "Stage settings that replace those above where SONANT_PLATFORM is cpu, its default, or cuda",
      ),
    async_chunk: ignored("frames and sound are always made side by side"),
    custom_voice_dir: ignored("presets come with the model folder"),
    trust_remote_code: ignored("no code is loaded with a model"),
    active_stream_window: ignored("streams are scheduled by their deadlines"),
    distributed_executor_backend: ignored("the engine runs inside the server"),
    dtype: ignored("set it for each stage"),
    quantization: ignored("set dtype of a stage"),
    enable_prefix_caching: ignored("voices are always cached"),
    enable_chunked_prefill: ignored("prefill is always cut into slices"),
    data_parallel_size: ignored("start more servers instead"),
    pipeline_parallel_size: ignored("the model fits on one device"),
    edges: ignored("the order of the stages is fixed"),
  })
  .check(checkFileRules)
  .describe("Deploy file of a Sonant server");
export type DeployFile = z.output<typeof DeployFile>;
