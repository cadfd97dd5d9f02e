/**
 * The metrics of one model: its requests, under the name that they used, and its engine, under the main name, so that models
 * that come and go never mix their figures. Made by `Metrics`.
 */
import type { ErrorCode } from "../protocol/error-registry.ts";
import type { EngineReading, LoadReading } from "./engine-reading.ts";
import type { Instruments } from "./instruments.ts";
import { modelLabel } from "./labels.ts";
import { count, observe } from "./observe.ts";
import { type RequestContext, type RequestInfo, RequestMetrics } from "./request-metrics.ts";

export interface ModelNames {
  /** Names under which the model is served; the first is its main name. */
  readonly names: readonly string[];
  /** Its native samples per second. */
  readonly sampleRate: number;
}

/** One hand-over between the engine's two stages, or from the engine to the server. */
export interface Transfer {
  readonly bytes: number;
  readonly sendSeconds: number;
  readonly receiveSeconds: number;
  readonly inFlightSeconds: number;
}

export class ModelMetrics {
  private readonly instruments: Instruments;
  private readEngine: (() => EngineReading | undefined) | undefined;
  private readLoad: (() => LoadReading | undefined) | undefined;

  /** @param refused counts a refusal for the whole server */
  constructor(
    private readonly context: RequestContext,
    private readonly model: ModelNames,
    private readonly refused: (reason: ErrorCode) => void,
  ) {
    this.instruments = context.instruments;
    // Series that dashboards divide by exist from the start.
    const { omni } = this.instruments;
    omni.running.set(this.labels, 0);
    omni.waiting.set(this.labels, 0);
  }

  private get labels(): { readonly model_name: string } {
    return { model_name: modelLabel(undefined, this.model.names) };
  }

  /** A request passed validation; report its further course to what is returned. */
  requestStarted(info: RequestInfo): RequestMetrics {
    return new RequestMetrics(this.context, info, modelLabel(info.model, this.model.names));
  }

  /** A request was refused before it began. */
  rejected(reason: ErrorCode): void {
    this.refused(reason);
  }

  transferred({ bytes, sendSeconds, receiveSeconds, inFlightSeconds }: Transfer): void {
    const { omni } = this.instruments;
    const labels = {
      ...this.labels,
      from_stage: "0",
      from_replica: "0",
      to_stage: "1",
      to_replica: "0",
    };
    observe(omni.transferBytes, labels, bytes);
    observe(omni.transferSend, labels, sendSeconds);
    observe(omni.transferReceive, labels, receiveSeconds);
    observe(omni.transferFlight, labels, inFlightSeconds);
  }

  /** Where the engine's figures come from; there are none while it is not loaded. */
  watchEngine(read: () => EngineReading | undefined): void {
    this.readEngine = read;
  }

  /** Where the figures of slots and the line in front of them come from. */
  watchLoad(read: () => LoadReading | undefined): void {
    this.readLoad = read;
  }

  /** The engine's figures now; undefined while none is loaded. */
  get engine(): EngineReading | undefined {
    return this.readEngine?.();
  }

  /** Writes the readings into series that were emptied before: those of a model that is not loaded are not there. */
  takeReadings(): void {
    this.takeLoad();
    this.takeEngine();
  }

  private takeLoad(): void {
    const reading = this.readLoad?.();
    if (reading === undefined) return;
    const { tts } = this.instruments;
    tts.streamsActive.set(this.labels, reading.active);
    tts.streamsWaiting.set(this.labels, reading.waiting);
    tts.streamsCapacity.set(this.labels, reading.capacity);
  }

  private takeEngine(): void {
    const reading = this.engine;
    if (reading === undefined) return;
    const { tts } = this.instruments;
    const { labels } = this;
    tts.engineMemory.set({ ...labels, kind: "weights" }, reading.weightBytes);
    tts.engineMemory.set({ ...labels, kind: "sequences" }, reading.sequenceBytes);
    tts.engineMemory.set({ ...labels, kind: "voice_cache" }, reading.voiceCacheBytes);
    tts.engineCancel.set({ ...labels, quantile: "0.5" }, reading.cancelMsP50 / 1000);
    tts.engineCancel.set({ ...labels, quantile: "0.99" }, reading.cancelMsP99 / 1000);
    tts.engineCancel.set({ ...labels, quantile: "1" }, reading.cancelMsMax / 1000);
    // The engine counts from its own start: its totals replace ours, and a restart shows as a reset.
    count(tts.voiceCache, { ...labels, result: "hit" }, reading.voiceCacheHits);
    count(tts.voiceCache, { ...labels, result: "miss" }, reading.voiceCacheMisses);
    count(tts.engineFrames, labels, reading.frames);
    count(tts.engineUnderruns, labels, reading.underruns);
    count(tts.engineYields, labels, reading.yields);
    tts.engineLead.set(labels, reading.leadMsMin / 1000);
    tts.engineTick.set({ ...labels, part: "fixed" }, reading.tickFixedMs / 1000);
    tts.engineTick.set({ ...labels, part: "sequence" }, reading.tickSequenceMs / 1000);
    tts.engineTick.set({ ...labels, part: "prompts" }, reading.tickPromptMs / 1000);
  }
}
