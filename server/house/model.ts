/**
 * One model of the server: what its folder says, its voices, and while it is loaded the service that speaks with it. Owns
 * the life of that service; who may load and unload it, and when, is decided in models.ts.
 */
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { EngineError } from "../engine/errors.ts";
import type { EngineReading } from "../metrics/engine-reading.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ModelMetrics } from "../metrics/model-metrics.ts";
import { loadModel } from "../models/registry.ts";
import type { Model } from "../models/types.ts";
import type { EngineFacts } from "../protocol/documents.ts";
import { ApiError } from "../protocol/envelope.ts";
import type { HostedEngine } from "../speech/engine-host.ts";
import { SonantSpeechService } from "../speech/service.ts";
import type { SpeechService } from "../speech/types.ts";
import type { ReferenceCodec } from "../voices/encode-reference.ts";
import type { VoiceLibrary } from "../voices/library.ts";
import type { Hold, ModelState, ServedModel } from "./types.ts";

export interface HouseParts {
  readonly metrics: Pick<Metrics, "forModel">;
  /** Loads the engine of a model; again when one has died. */
  loadEngine(config: Config): Promise<HostedEngine>;
  /** Opens the voices of a model, over the store that all models share. */
  openVoices(model: Model, codec: ReferenceCodec): Promise<VoiceLibrary>;
  /** A GPU is lost to this process: only a new one may have it back. */
  readonly onDeviceLost?: (() => void) | undefined;
  log(level: "info" | "warn" | "error", sentence: string): void;
}

const NO_LOAD: SpeechService["load"] = { active: 0, waiting: 0, capacity: 0, expectedWaitMs: 0 };
/** How often it is looked whether the last one has let go. */
const RELEASE_POLL_MS = 20;

export class HouseModel implements ServedModel {
  readonly id: string;
  readonly config: Config;
  readonly isDefault: boolean;
  /** Counts requests, on a common count; the smallest was unused for longest. */
  usedAt = 0;
  /** Requests that wait for it to be loaded. */
  waiting = 0;
  /** When loading it last failed, on a clock that does not jump; undefined if it did not. */
  failedAtMs: number | undefined;
  readonly #parts: HouseParts;
  #model: Model | undefined;
  #voices: VoiceLibrary | undefined;
  #metrics: ModelMetrics | undefined;
  #service: SonantSpeechService | undefined;
  #lastReading: EngineReading | undefined;
  #failure: string | undefined;
  #holds = 0;
  /** Resolves when it has been unloaded; undefined while nobody wants that. */
  #leaving: Promise<void> | undefined;
  #isClosed = false;

  constructor(config: Config, isDefault: boolean, parts: HouseParts) {
    this.id = config.servedModelNames[0] ?? "";
    this.config = config;
    this.isDefault = isDefault;
    this.#parts = parts;
  }

  get model(): Model | undefined {
    return this.#model;
  }

  get voices(): VoiceLibrary {
    if (this.#voices === undefined) throw this.failure;
    return this.#voices;
  }

  /** Undefined while it is not loaded. */
  get service(): SonantSpeechService | undefined {
    return this.#service;
  }

  /** Whether a request may take hold of it now. */
  get isThere(): boolean {
    return this.isLoaded && this.#leaving === undefined;
  }

  /** Whether it takes memory, also while it is being unloaded. */
  get isLoaded(): boolean {
    return this.#service !== undefined;
  }

  /** 0 while nobody uses it, 1 with open sessions that are silent, 2 while it speaks or is about to. */
  get usage(): 0 | 1 | 2 {
    const { openSessions = 0, hasUtterances = false } = this.#service ?? {};
    if (this.#holds > 0 || hasUtterances) return 2;
    return openSessions > 0 ? 1 : 0;
  }

  get state(): ModelState {
    if (this.#leaving !== undefined) return { stage: "draining" };
    if (this.#service !== undefined) return this.#service.state;
    if (this.#failure !== undefined) return { stage: "failed", reason: this.#failure };
    return { stage: "unloaded" };
  }

  get load(): SpeechService["load"] {
    return this.#service?.load ?? NO_LOAD;
  }

  get device(): string {
    const { device } = this.config.engine;
    const { host } = this.#service ?? {};
    if (device !== "auto" || host?.stage !== "ready") return device;
    return host.engine.info.device === "cuda" ? "cuda:0" : "cpu";
  }

  get engine(): EngineFacts | undefined {
    const { host } = this.#service ?? {};
    if (host?.stage !== "ready") return undefined;
    const { description, note, precision, threads, weightBytes } = host.engine.info;
    return {
      description,
      ...(note === null ? {} : { note }),
      precision,
      threads,
      weight_bytes: weightBytes,
    };
  }

  /** The last known figures while a dead engine is being replaced. */
  get reading(): EngineReading | undefined {
    const { host } = this.#service ?? {};
    if (host === undefined) this.#lastReading = undefined;
    else if (host.stage === "ready") this.#lastReading = host.engine.stats();
    return this.#lastReading;
  }

  /** Why it could not be loaded. */
  get failure(): ApiError {
    const reason = this.#failure ?? "its folder has not been read yet.";
    return new ApiError("model_failed", `The model \`${this.id}\` could not be loaded: ${reason}`);
  }

  /** Reads everything but the weights. @throws ModelError, TokenizerError */
  async read(): Promise<void> {
    if (this.#model !== undefined) return;
    try {
      const model = await loadModel(this.config.model, this.config.pipeline);
      this.#voices = await this.#parts.openVoices(model, this.#codec());
      const names = this.config.servedModelNames;
      this.#metrics = this.#parts.metrics.forModel({ names, sampleRate: model.audio.sampleRate });
      this.#metrics.watchEngine(() => this.reading);
      this.#metrics.watchLoad(() => this.#service?.load);
      this.#model = model;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** Loads and warms the engine; nothing is left of it if that fails. @throws what went wrong */
  async start(): Promise<void> {
    await this.read();
    const { config } = this;
    const service = new SonantSpeechService({
      model: this.#model as Model,
      config,
      loadEngine: () => this.#parts.loadEngine(config),
      onDeviceLost: this.#parts.onDeviceLost,
      ...(this.#metrics === undefined ? {} : { metrics: this.#metrics }),
      log: (level, sentence) => this.#parts.log(level, `${this.id}: ${sentence}`),
    });
    this.#service = service;
    try {
      await service.start();
      this.#failure = undefined;
      this.failedAtMs = undefined;
    } catch (error) {
      this.#service = undefined;
      this.#failed(error);
      await service.close();
      throw error;
    }
  }

  /** Keeps the loaded model until it is let go. */
  hold(): Hold {
    const { id, config, voices } = this;
    const service = this.#service;
    if (service === undefined) throw this.failure;
    this.#holds += 1;
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#holds -= 1;
      isHeld = false;
    };
    return { id, config, voices, service, release };
  }

  /** Lets everything come to its end, then frees the memory. All who ask share the one unloading. */
  async unload(): Promise<void> {
    const service = this.#service;
    if (service === undefined) return;
    this.#leaving ??= this.#leave(service).finally(() => {
      this.#leaving = undefined;
    });
    await this.#leaving;
  }

  async #leave(service: SonantSpeechService): Promise<void> {
    // Those who hold it are about to open sessions; a service that drains would refuse them.
    while (this.#holds > 0 && !this.#isClosed) await sleep(RELEASE_POLL_MS);
    await service.drain(Number.POSITIVE_INFINITY);
    await service.close();
    this.#service = undefined;
  }

  /** Ends it together with the server, whatever it is doing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#service?.close();
  }

  /** Clients learn the reason, but not where on this machine the model lies. */
  #failed(error: unknown): void {
    const { model } = this.config;
    const sentence = error instanceof Error ? error.message : String(error);
    this.#failure = sentence.replaceAll(model, basename(model));
    this.failedAtMs = performance.now();
  }

  /** The engine in use, for recordings to be encoded by; it may be another one later on. */
  #codec(): ReferenceCodec {
    const engine = () => {
      if (this.#service !== undefined) return this.#service.host.engine;
      throw new EngineError("closed", `The model ${this.id} is not loaded.`);
    };
    return {
      get info() {
        return engine().info;
      },
      encode: (pcm, channels, sampleRate, options) =>
        engine().encode(pcm, channels, sampleRate, options),
    };
  }
}
