/**
 * The addon: where it is, what it offers. The only file that loads `sonant.node`; everything else sees these types.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { EngineError } from "./errors.ts";
import type {
  EngineInfo,
  EngineStats,
  FinishReason,
  GenerateOptions,
  GenerateStats,
  LoadOptions,
} from "./types.ts";

export interface ChunkEvent {
  readonly kind: "chunk";
  readonly frames: number;
  readonly firstFrame: number;
  /** One of the two. */
  readonly pcm?: Float32Array;
  readonly pcm16?: Int16Array;
  readonly codes?: Int32Array;
}

export interface EncodedEvent {
  readonly kind: "encoded";
  readonly codes: Int32Array;
}

export interface DecodedEvent {
  readonly kind: "decoded";
  readonly frames: number;
  readonly pcm: Float32Array;
}

/** The last event of every request, exactly once. */
export interface DoneEvent {
  readonly kind: "done";
  readonly reason: FinishReason;
  readonly errorCode?: string;
  readonly errorMessage?: string;
  readonly stats: GenerateStats;
}

export type NativeEvent = ChunkEvent | EncodedEvent | DecodedEvent | DoneEvent;

export type EventListener = (event: NativeEvent) => void;

/** An engine as the addon gives it. Methods throw errors with a `code`. */
export interface NativeEngine {
  generate(options: GenerateOptions, onEvent: EventListener): number;
  encode(pcm: Float32Array, channels: number, sampleRate: number, onEvent: EventListener): number;
  decode(codes: Int32Array, nBooks: number, onEvent: EventListener): number;
  cancel(id: number): void;
  consumed(id: number, frames: number): void;
  stats(): EngineStats;
  info(): EngineInfo;
  close(): Promise<void>;
}

export interface Addon {
  readonly version: string;
  readonly Engine: { load(options: LoadOptions): Promise<NativeEngine> };
  resample(pcm: Float32Array, fromHz: number, toHz: number): Promise<Float32Array>;
}

/** Where the build puts the addon. */
export const ADDON_PATH = join(import.meta.dirname, "../../native/build/sonant.node");

/**
 * Loads the addon; Node keeps one copy for each thread.
 * @throws EngineError `addon_missing` if it has not been built or cannot be loaded here
 */
export function loadAddon(path: string = ADDON_PATH): Addon {
  if (!existsSync(path)) {
    throw new EngineError(
      "addon_missing",
      `The native engine has not been built (${path} is missing); run "npm run build" to build it.`,
    );
  }
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (error) {
    throw new EngineError(
      "addon_missing",
      `The native engine cannot be loaded here; run "npm run build" to build it again. (${String(error)})`,
      { cause: error },
    );
  }
}
