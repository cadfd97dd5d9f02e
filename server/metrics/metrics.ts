/**
 * The metrics of a server, as one typed object. Doors and engine report what happened; names, labels, buckets and the
 * arithmetic are in this folder. Nothing here throws for what it is told.
 */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { ErrorCode } from "../protocol/error-registry.ts";
import type { AudioFormat } from "../protocol/formats.ts";
import { DayBook, type PastFigures } from "./day-book.ts";
import { watchEventLoop } from "./event-loop.ts";
import { type Failure, FailureBook } from "./failure-book.ts";
import { type Instruments, instruments } from "./instruments.ts";
import { modelLabel } from "./labels.ts";
import { count, observe, RecentValues } from "./observe.ts";
import { type RequestContext, type RequestInfo, RequestMetrics } from "./request-metrics.ts";

export interface MetricsOptions {
  /** Names under which the model is served; the first is its main name. */
  readonly models: readonly string[];
  /** Native samples per second of the model. */
  readonly sampleRate: number;
  /** Seconds on a clock that does not jump; for tests. */
  readonly now?: () => number;
}

/** Totals and gauges of the engine, read when metrics are asked for. */
export interface EngineReading {
  readonly frames: number;
  /** Least audio in milliseconds that a listener has to hear. */
  readonly leadMsMin: number;
  /** Chunks that came after their listener had run dry. */
  readonly underruns: number;
  /** Frames that were put off for listeners who had less to hear. */
  readonly yields: number;
  /** What a tick costs, what each generation in it adds, and what falls to a frame of other work, in milliseconds. */
  readonly tickFixedMs: number;
  readonly tickSequenceMs: number;
  readonly tickPromptMs: number;
  /** Milliseconds from cancel to release. */
  readonly cancelMsP50: number;
  readonly cancelMsP99: number;
  readonly cancelMsMax: number;
  readonly voiceCacheHits: number;
  readonly voiceCacheMisses: number;
  readonly weightBytes: number;
  readonly sequenceBytes: number;
  readonly voiceCacheBytes: number;
}

/** Who is spoken to now. */
export interface LoadReading {
  readonly active: number;
  readonly waiting: number;
  readonly capacity: number;
}

/** One hand-over between the engine's two stages, or from the engine to the server. */
export interface Transfer {
  readonly bytes: number;
  readonly sendSeconds: number;
  readonly receiveSeconds: number;
  readonly inFlightSeconds: number;
}

/** Figures of the recent past, for status displays. */
export interface RecentFigures {
  readonly ttfaP50Ms: number;
  readonly ttfaP95Ms: number;
  readonly rtfP50: number;
  readonly eventLoopP99Ms: number;
  /** Totals of streams that reached their end: all, those without a gap, and the chunks that came too late. */
  readonly streams: number;
  readonly streamsContinuous: number;
  readonly underruns: number;
  /** The latest first. */
  readonly failures: readonly Failure[];
  /** The last hour, then the last day. */
  readonly past: readonly PastFigures[];
  /** Undefined until an engine has been loaded. */
  readonly engine: EngineReading | undefined;
}

/** Some 40 seconds of event-loop samples. */
const LOOP_SAMPLES = 2048;

export class Metrics {
  private readonly registry = new Registry();
  private readonly instruments: Instruments;
  private readonly context: RequestContext;
  private readonly recentDelay = new RecentValues(LOOP_SAMPLES);
  private readonly loop: { stop(): void };
  private readEngine: (() => EngineReading) | undefined;
  private readLoad: (() => LoadReading) | undefined;

  constructor(private readonly options: MetricsOptions) {
    collectDefaultMetrics({ register: this.registry });
    this.instruments = instruments(this.registry);
    const now = options.now ?? (() => performance.now() / 1000);
    this.context = {
      instruments: this.instruments,
      now,
      sampleRate: options.sampleRate,
      recentTtfa: new RecentValues(),
      recentRtf: new RecentValues(),
      streams: { ended: 0, continuous: 0, underruns: 0 },
      failures: new FailureBook(),
      day: new DayBook(now),
    };
    const { eventLoopDelay } = this.instruments.tts;
    this.loop = watchEventLoop((delay) => observe(eventLoopDelay, {}, delay), this.recentDelay);
    this.beginAtZero();
  }

  /** Series that dashboards divide by exist from the start. */
  private beginAtZero(): void {
    const { omni, tts } = this.instruments;
    const labels = { model_name: modelLabel(undefined, this.options.models) };
    omni.running.set(labels, 0);
    omni.waiting.set(labels, 0);
    tts.sessions.set(0);
  }

  /** A request passed validation; report its further course to what is returned. */
  requestStarted(info: RequestInfo): RequestMetrics {
    return new RequestMetrics(this.context, info, modelLabel(info.model, this.options.models));
  }

  /** A request was refused before it began. */
  rejected(reason: ErrorCode): void {
    count(this.instruments.tts.rejected, { reason });
    this.context.failures.note(reason);
    this.context.day.refused();
  }

  /** The audio of a request, or of a unit on a socket, was encoded: the time of all its pieces together. */
  encoded(format: AudioFormat, seconds: number): void {
    observe(this.instruments.tts.encode, { format }, seconds);
  }

  /** A reference was fetched from elsewhere, or that failed. */
  referenceFetched(seconds: number): void {
    observe(this.instruments.tts.refFetch, {}, seconds);
  }

  referenceLookedUp(result: "hit" | "miss"): void {
    count(this.instruments.tts.refCache, { result });
  }

  sessionOpened(): void {
    this.instruments.tts.sessions.inc();
  }

  sessionClosed(): void {
    this.instruments.tts.sessions.dec();
  }

  sessionResumed(result: "resumed" | "unavailable" | "taken_over"): void {
    count(this.instruments.tts.resumes, { result });
  }

  transferred({ bytes, sendSeconds, receiveSeconds, inFlightSeconds }: Transfer): void {
    const { omni } = this.instruments;
    const labels = {
      model_name: modelLabel(undefined, this.options.models),
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

  /** Where the engine's figures come from. */
  watchEngine(read: () => EngineReading): void {
    this.readEngine = read;
  }

  /** Where the figures of slots and the line in front of them come from. */
  watchLoad(read: () => LoadReading): void {
    this.readLoad = read;
  }

  private takeLoadReading(): void {
    const reading = this.readLoad?.();
    if (reading === undefined) return;
    const { tts } = this.instruments;
    tts.streamsActive.set(reading.active);
    tts.streamsWaiting.set(reading.waiting);
    tts.streamsCapacity.set(reading.capacity);
  }

  private takeEngineReading(): void {
    const reading = this.readEngine?.();
    if (reading === undefined) return;
    const { tts } = this.instruments;
    tts.engineMemory.set({ kind: "weights" }, reading.weightBytes);
    tts.engineMemory.set({ kind: "sequences" }, reading.sequenceBytes);
    tts.engineMemory.set({ kind: "voice_cache" }, reading.voiceCacheBytes);
    tts.engineCancel.set({ quantile: "0.5" }, reading.cancelMsP50 / 1000);
    tts.engineCancel.set({ quantile: "0.99" }, reading.cancelMsP99 / 1000);
    tts.engineCancel.set({ quantile: "1" }, reading.cancelMsMax / 1000);
    // The engine counts from its own start: its totals replace ours, and a restart shows as a reset.
    tts.voiceCache.reset();
    count(tts.voiceCache, { result: "hit" }, reading.voiceCacheHits);
    count(tts.voiceCache, { result: "miss" }, reading.voiceCacheMisses);
    tts.engineFrames.reset();
    count(tts.engineFrames, {}, reading.frames);
    tts.engineUnderruns.reset();
    count(tts.engineUnderruns, {}, reading.underruns);
    tts.engineYields.reset();
    count(tts.engineYields, {}, reading.yields);
    tts.engineLead.set(reading.leadMsMin / 1000);
    tts.engineTick.set({ part: "fixed" }, reading.tickFixedMs / 1000);
    tts.engineTick.set({ part: "sequence" }, reading.tickSequenceMs / 1000);
    tts.engineTick.set({ part: "prompts" }, reading.tickPromptMs / 1000);
  }

  recent(): RecentFigures {
    const { recentTtfa, recentRtf, streams, failures, day } = this.context;
    return {
      ttfaP50Ms: recentTtfa.percentile(0.5) * 1000,
      ttfaP95Ms: recentTtfa.percentile(0.95) * 1000,
      rtfP50: recentRtf.percentile(0.5),
      eventLoopP99Ms: this.recentDelay.percentile(0.99) * 1000,
      streams: streams.ended,
      streamsContinuous: streams.continuous,
      underruns: streams.underruns,
      failures: failures.list(),
      past: day.read(),
      engine: this.readEngine?.(),
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All metrics in Prometheus' text format. */
  text(): Promise<string> {
    this.takeEngineReading();
    this.takeLoadReading();
    return this.registry.metrics();
  }

  /** Stops the timers. */
  close(): void {
    this.loop.stop();
    this.registry.clear();
  }
}
