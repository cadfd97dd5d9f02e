/**
 * The metrics of a server, as one typed object. Doors and engine report what happened; names, labels, buckets and the
 * arithmetic are in this folder. Nothing here throws for what it is told.
 */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { ErrorCode } from "../protocol/error-registry.ts";
import type { AudioFormat } from "../protocol/formats.ts";
import { DayBook, type PastFigures } from "./day-book.ts";
import { type EngineReading, together } from "./engine-reading.ts";
import { watchEventLoop } from "./event-loop.ts";
import { type Failure, FailureBook } from "./failure-book.ts";
import { type Instruments, instruments } from "./instruments.ts";
import { ModelMetrics, type ModelNames } from "./model-metrics.ts";
import { count, observe, RecentValues } from "./observe.ts";
import type { RequestContext } from "./request-metrics.ts";

export interface MetricsOptions {
  /** Seconds on a clock that does not jump; for tests. */
  readonly now?: () => number;
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
  /** Of all engines together; undefined while none is loaded. */
  readonly engine: EngineReading | undefined;
}

/** Some 40 seconds of event-loop samples. */
const LOOP_SAMPLES = 2048;

export class Metrics {
  private readonly registry = new Registry();
  private readonly instruments: Instruments;
  private readonly context: Omit<RequestContext, "sampleRate">;
  private readonly recentDelay = new RecentValues(LOOP_SAMPLES);
  private readonly loop: { stop(): void };
  private readonly models: ModelMetrics[] = [];

  constructor({ now = () => performance.now() / 1000 }: MetricsOptions = {}) {
    collectDefaultMetrics({ register: this.registry });
    this.instruments = instruments(this.registry);
    this.context = {
      instruments: this.instruments,
      now,
      recentTtfa: new RecentValues(),
      recentRtf: new RecentValues(),
      streams: { ended: 0, continuous: 0, underruns: 0 },
      failures: new FailureBook(),
      day: new DayBook(now),
    };
    const { eventLoopDelay, sessions } = this.instruments.tts;
    this.loop = watchEventLoop((delay) => observe(eventLoopDelay, {}, delay), this.recentDelay);
    sessions.set(0);
  }

  /** The metrics of one more model, which live as long as the server. */
  forModel(model: ModelNames): ModelMetrics {
    const context = { ...this.context, sampleRate: model.sampleRate };
    const metrics = new ModelMetrics(context, model, (reason) => this.rejected(reason));
    this.models.push(metrics);
    return metrics;
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

  private takeReadings(): void {
    const { tts } = this.instruments;
    for (const instrument of tts.ofModels) instrument.reset();
    for (const model of this.models) model.takeReadings();
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
      engine: together(this.models.flatMap(({ engine }) => engine ?? [])),
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All metrics in Prometheus' text format. */
  text(): Promise<string> {
    this.takeReadings();
    return this.registry.metrics();
  }

  /** Stops the timers. */
  close(): void {
    this.loop.stop();
    this.registry.clear();
  }
}
