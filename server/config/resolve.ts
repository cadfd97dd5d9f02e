/** From a checked deploy file to the resolved configuration: names, units and paths as the server wants them. */
import { LIMITS, type Limits } from "../protocol/limits.ts";
import type {
  ChunkConfig,
  Config,
  Device,
  EngineConfig,
  ModelConfig,
  ObjectStoreConfig,
  SamplingConfig,
  ServerConfig,
  SocketConfig,
} from "./config.ts";
import type { DeployFile } from "./schema.ts";
import { connector, frameStage } from "./schema-engine.ts";

type Stage<N extends 0 | 1> = Extract<DeployFile["stages"][number], { stage_id: N }>;

export interface ResolveContext {
  readonly source: string;
  readonly platform: "cpu" | "cuda";
  readonly apiKeys: readonly string[];
  /** Makes a path of the deploy file absolute. */
  readonly resolvePath: (path: string) => string;
}

const MS = 1000;
const MEBIBYTE = 1024 * 1024;

/** "cuda:0,1" names two. */
function devicesOf(written: string): Device[] {
  if (written === "auto" || written === "cpu") return [written];
  const numbers = written.replace(/^cuda:?/, "") || "0";
  return [...new Set(numbers.split(",").map(Number))].map((number) => `cuda:${number}` as const);
}

function stageWith<N extends 0 | 1>(file: DeployFile, id: N): Stage<N> | undefined {
  return file.stages.find((stage): stage is Stage<N> => stage.stage_id === id);
}

function engineOf(frames: Stage<0>, codec: Stage<1> | undefined): EngineConfig {
  const devices = devicesOf(frames.devices);
  return {
    devices,
    device: devices.join(",").replaceAll(",cuda:", ","),
    precision: frames.dtype,
    codecPrecision: codec?.dtype ?? frames.dtype,
    maxSequences: frames.max_num_seqs,
    maxQueue: frames.max_queue,
    maxQueueWaitMs: frames.max_queue_wait_s * MS,
    realTimeShare: frames.realtime_share,
    maxParked: frames.max_parked_seqs,
    threads: frames.threads,
    prefillSliceRows: frames.prefill_slice_rows,
    encodeSliceFrames: frames.encode_slice_frames,
    voiceCacheBytes: frames.voice_cache_mib * MEBIBYTE,
  };
}

function samplingOf({ default_sampling_params: written }: Stage<0>): SamplingConfig {
  return {
    textTemperature: written.text_temperature ?? written.temperature,
    textTopP: written.text_top_p ?? written.top_p,
    textTopK: written.text_top_k ?? written.top_k,
    audioTemperature: written.audio_temperature,
    audioTopP: written.audio_top_p,
    audioTopK: written.audio_top_k,
    audioRepetitionPenalty: written.audio_repetition_penalty,
    maxFrames: written.max_new_frames,
    seed: written.seed ?? undefined,
  };
}

function chunksOf(file: DeployFile): ChunkConfig {
  const { extra } = Object.values(file.connectors)[0] ?? connector.parse({});
  const written = extra.codec_chunk_ramp;
  const ramp = typeof written === "string" ? written.split(",").map(Number) : (written ?? []);
  return {
    policy: extra.codec_chunk_adaptive ? "adaptive" : ramp.length > 0 ? "ramp" : "fixed",
    steadyFrames: extra.codec_chunk_frames,
    firstFrames: extra.initial_codec_chunk_frames,
    ramp,
    minFrames: extra.codec_chunk_min_frames,
    marginMs: extra.codec_chunk_safety_margin_ms,
    rampDivisor: extra.codec_chunk_ramp_divisor,
    deltaMin: extra.codec_chunk_ramp_delta_min,
  };
}

function serverOf({ server }: DeployFile, apiKeys: readonly string[]): ServerConfig {
  return {
    host: server.host,
    port: server.port,
    streamDefault: server.stream_default,
    earlyHeaders: server.early_headers,
    apiKeys,
    corsOrigins: server.cors_origins,
    trustProxy: server.trust_proxy,
    drainTimeoutMs: server.drain_timeout_s * MS,
    requestTimeoutMs: server.request_timeout_s * MS,
    stallTimeoutMs: server.stall_timeout_s * MS,
    requestsPerMinute: server.requests_per_minute,
    logLevel: server.log_level,
  };
}

function limitsOf({ limits, ws }: DeployFile): Limits {
  return {
    ...LIMITS,
    ...limits,
    ws_config_message_chars: ws.config_message_chars,
    ws_text_message_chars: ws.text_message_chars,
    ws_buffer_chars: ws.buffer_chars,
    ws_queued_units: ws.queued_units,
  };
}

function socketsOf({ ws }: DeployFile): SocketConfig {
  return {
    configTimeoutMs: ws.config_timeout_s * MS,
    idleTimeoutMs: ws.idle_timeout_s * MS,
    stallTimeoutMs: ws.stall_timeout_s * MS,
    heartbeatMs: ws.heartbeat_s * MS,
    defaultSplit: ws.default_split,
    maxLeadMs: ws.max_lead_ms,
    resumeTtlMs: ws.resume_ttl_s * MS,
    maxSessions: ws.max_sessions,
    maxSessionsPerClient: ws.max_sessions_per_client,
  };
}

function objectStoreOf({ voices: { s3 } }: DeployFile): ObjectStoreConfig | undefined {
  if (s3 === null) return undefined;
  return {
    bucket: s3.bucket,
    endpoint: s3.endpoint,
    region: s3.region,
    prefix: s3.prefix,
    forcePathStyle: s3.force_path_style ?? s3.endpoint !== undefined,
  };
}

/** The part of a checked deploy file that belongs to its model. */
export function resolveModel(
  file: DeployFile,
  { source, resolvePath }: Pick<ResolveContext, "source" | "resolvePath">,
): ModelConfig {
  const codec = stageWith(file, 1);
  const frames = stageWith(file, 0) ?? frameStage.parse({ stage_id: 0 });
  return {
    source,
    pipeline: file.pipeline,
    model: resolvePath(file.model),
    servedModelNames: file.served_model_names,
    openaiAliases: file.openai_aliases,
    engine: engineOf(frames, codec),
    sampling: samplingOf(frames),
    chunks: chunksOf(file),
    output: { channels: file.output.channels, allowChannels: file.output.allow_channels },
    voices: { default: file.voices.default ?? undefined, openaiMap: file.voices.openai_map },
  };
}

/** Resolves a checked deploy file, with the other models that it names. */
export function resolve(
  file: DeployFile,
  others: readonly ModelConfig[],
  context: ResolveContext,
): Config {
  const { resolvePath } = context;
  const local = file.ref_audio.allowed_local_path;
  const own = resolveModel(file, context);
  return {
    ...own,
    platform: context.platform,
    models: { others, load: file.models.load, maxLoaded: file.models.max_loaded },
    voices: {
      ...own.voices,
      directory: resolvePath(file.voices.directory),
      s3: objectStoreOf(file),
    },
    server: serverOf(file, context.apiKeys),
    limits: limitsOf(file),
    references: {
      allowPrivate: file.ref_audio.allow_private,
      allowedDomains: file.ref_audio.allowed_domains,
      allowedLocalPath: local === null ? undefined : resolvePath(local),
      allowedPorts: file.ref_audio.allowed_ports,
      connectTimeoutMs: file.ref_audio.connect_timeout_s * MS,
      fetchTimeoutMs: file.ref_audio.fetch_timeout_s * MS,
      maxBytes: file.ref_audio.max_bytes,
      maxRedirects: file.ref_audio.max_redirects,
    },
    sockets: socketsOf(file),
    stress: {
      enabled: file.stress.enabled,
      maxStreams: file.stress.max_streams,
      maxSeconds: file.stress.max_seconds,
    },
    cluster: {
      redisUrl: file.cluster.redis_url ?? undefined,
      keyPrefix: file.cluster.key_prefix,
    },
  };
}
