/** The resolved configuration: one frozen object that the whole server reads, and how it is shown. */
import { createHash } from "node:crypto";
import type { Limits } from "../protocol/limits.ts";
import type { DeployFile } from "./schema.ts";

export type Device = "auto" | "cpu" | `cuda:${number}`;
export type Precision = DeployFile["stages"][number]["dtype"];

export interface EngineConfig {
  /** One engine on each. */
  readonly devices: readonly Device[];
  /** The same in a word, as it is shown: "cuda:0,1". */
  readonly device: string;
  readonly precision: Precision;
  readonly codecPrecision: Precision;
  /** Requests spoken side by side, on all devices together; 0: what suits them. */
  readonly maxSequences: number;
  /** Requests that may wait, and how long. */
  readonly maxQueue: number;
  readonly maxQueueWaitMs: number;
  /** Share of real time that all listeners may need together; 0: only `maxSequences` counts. */
  readonly realTimeShare: number;
  readonly maxParked: number;
  /** 0: one for each core. */
  readonly threads: number;
  /** 0: what suits the device. */
  readonly prefillSliceRows: number;
  /** 0: what suits the device. */
  readonly encodeSliceFrames: number;
  readonly voiceCacheBytes: number;
}

/** Sampling of requests that do not say; what is undefined follows the model. */
export interface SamplingConfig {
  readonly textTemperature: number | undefined;
  readonly textTopP: number | undefined;
  readonly textTopK: number | undefined;
  readonly audioTemperature: number | undefined;
  readonly audioTopP: number | undefined;
  readonly audioTopK: number | undefined;
  readonly audioRepetitionPenalty: number | undefined;
  readonly maxFrames: number | undefined;
  /** Undefined: a random seed for each request. */
  readonly seed: number | undefined;
}

export interface ChunkConfig {
  readonly policy: "fixed" | "ramp" | "adaptive";
  readonly steadyFrames: number;
  /** 0: as the load allows. */
  readonly firstFrames: number;
  readonly ramp: readonly number[];
  readonly minFrames: number;
  readonly marginMs: number;
  readonly rampDivisor: number;
  readonly deltaMin: number;
}

/** A bucket for uploaded voices; credentials come from where the service's own tools look for them. */
export interface ObjectStoreConfig {
  readonly bucket: string;
  /** Undefined: Amazon's own. */
  readonly endpoint: string | undefined;
  /** Undefined: as the environment says. */
  readonly region: string | undefined;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly forcePathStyle: boolean;
}

export interface VoicesConfig {
  /** Undefined: the model's own default. */
  readonly default: string | undefined;
  readonly openaiMap: Readonly<Record<string, string>>;
  readonly directory: string;
  /** Goes before the folder; undefined: there is none. */
  readonly s3: ObjectStoreConfig | undefined;
}

export interface ClusterConfig {
  /** May hold a password; undefined: this server is alone. */
  readonly redisUrl: string | undefined;
  readonly keyPrefix: string;
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly streamDefault: "audio" | "sse";
  readonly earlyHeaders: boolean;
  /** Empty: no key is asked for. */
  readonly apiKeys: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly trustProxy: boolean;
  readonly drainTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly stallTimeoutMs: number;
  /** 0: no limit. */
  readonly requestsPerMinute: number;
  readonly logLevel: DeployFile["server"]["log_level"];
}

export interface ReferenceConfig {
  readonly allowPrivate: boolean;
  readonly allowedDomains: readonly string[];
  readonly allowedLocalPath: string | undefined;
  readonly allowedPorts: readonly number[];
  readonly connectTimeoutMs: number;
  readonly fetchTimeoutMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

export interface SocketConfig {
  readonly configTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly defaultSplit: "sentence" | "clause" | "none" | "auto";
  readonly maxLeadMs: number;
  /** 0: sessions are not kept. */
  readonly resumeTtlMs: number;
  readonly maxSessions: number;
  readonly maxSessionsPerClient: number;
}

/** The load generator behind the stress page. */
export interface StressConfig {
  readonly enabled: boolean;
  readonly maxStreams: number;
  readonly maxSeconds: number;
}

/** What belongs to one model of a server; everything else its models share. */
export interface ModelConfig {
  /** The deploy file that was read. */
  readonly source: string;
  /** Its family; "auto": as its folder says. */
  readonly pipeline: string;
  /** Its folder. */
  readonly model: string;
  /** The first is its main name. */
  readonly servedModelNames: readonly string[];
  readonly openaiAliases: readonly string[];
  readonly engine: EngineConfig;
  readonly sampling: SamplingConfig;
  readonly chunks: ChunkConfig;
  readonly output: { readonly channels: number; readonly allowChannels: readonly number[] };
  readonly voices: Pick<VoicesConfig, "default" | "openaiMap">;
}

/** The models beside the first one, which is always loaded at the start. */
export interface ModelsConfig {
  readonly others: readonly ModelConfig[];
  /** When the others are loaded. */
  readonly load: "at_start" | "on_request";
  /** In memory at once; 0: all. */
  readonly maxLoaded: number;
}

/** Of a server and the first of its models. */
export interface Config extends ModelConfig {
  readonly platform: "cpu" | "cuda";
  readonly voices: VoicesConfig;
  readonly models: ModelsConfig;
  readonly server: ServerConfig;
  readonly limits: Limits;
  readonly references: ReferenceConfig;
  readonly sockets: SocketConfig;
  readonly stress: StressConfig;
  readonly cluster: ClusterConfig;
}

/** The configuration as one of the models sees it: its own part, and what all share. */
export function configFor(config: Config, { voices, ...own }: ModelConfig): Config {
  const { default: byDefault, openaiMap } = voices;
  return { ...config, ...own, voices: { ...config.voices, default: byDefault, openaiMap } };
}

const MASK = "********";

/** A copy to print: secrets are masked, one mask each, so that their number still shows. */
export function printable(config: Config): Config {
  const apiKeys = config.server.apiKeys.map(() => MASK);
  const redisUrl = withoutPassword(config.cluster.redisUrl);
  return {
    ...config,
    server: { ...config.server, apiKeys },
    cluster: { ...config.cluster, redisUrl },
  };
}

/** Passwords stand before the host or, as Redis clients also take them, in the query. */
function withoutPassword(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  const url = new URL(address);
  if (url.password !== "") url.password = MASK;
  if (url.searchParams.has("password")) url.searchParams.set("password", MASK);
  return url.href;
}

/** The same value with the members of every object in the order of their names. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, canonical(member)]));
}

/**
 * SHA-256 of what `printable` shows, as hex: equal for servers that are set alike. Secrets do not go in, since the
 * hash is published and short keys could be guessed from it.
 */
export function configSha256(config: Config): string {
  return createHash("sha256")
    .update(JSON.stringify(canonical(printable(config))))
    .digest("hex");
}

/** Freezes a value and everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
