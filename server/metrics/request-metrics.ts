/**
 * The metrics of one request. Its owner tells four things, in order: that it was admitted, each chunk, that it was
 * cancelled if it was, and how it ended. Everything that follows from them, in both families, is worked out here, so
 * that no door can forget a part.
 */
import { CONTINUITY_THRESHOLD_S, ContinuityMeter } from "../protocol/continuity.ts";
import type { AudioFormat } from "../protocol/formats.ts";
import type { DayBook } from "./day-book.ts";
import type { FailureBook } from "./failure-book.ts";
import type { Instruments } from "./instruments.ts";
import {
  isCompleted,
  isStreaming,
  type Outcome,
  type StageLabels,
  type Transport,
  type TtsLabels,
  ttsLabels,
  type VoiceKind,
} from "./labels.ts";
import { count, observe, type RecentValues } from "./observe.ts";

export interface RequestInfo {
  /** The model's name as the request wrote it. */
  readonly model: string | undefined;
  readonly voiceKind: VoiceKind;
  readonly transport: Transport;
  readonly format: AudioFormat;
  /** Code points of the text; a session adds more with `textAdded`. */
  readonly textChars: number;
}

export interface ChunkInfo {
  readonly frames: number;
  /** Samples of one channel. */
  readonly samples: number;
}

export interface RequestEnd {
  readonly outcome: Outcome;
  /** Time that the engine spent on it, without waiting for the reader. */
  readonly generationSeconds: number;
  /** Whether the audio was cut at the frame limit. */
  readonly truncated: boolean;
}

/** What the requests of a server share. */
export interface RequestContext {
  readonly instruments: Instruments;
  /** Seconds on a clock that does not jump. */
  readonly now: () => number;
  readonly sampleRate: number;
  readonly recentTtfa: RecentValues;
  readonly recentRtf: RecentValues;
  /** Totals of streams that reached their end, for status displays. */
  readonly streams: { ended: number; continuous: number; underruns: number };
  readonly failures: FailureBook;
  readonly day: DayBook;
}

const THRESHOLD_LABEL = String(CONTINUITY_THRESHOLD_S * 1000);

export class RequestMetrics {
  private readonly tts: TtsLabels;
  private readonly stage: StageLabels;
  private readonly startedAt: number;
  private readonly continuity = new ContinuityMeter();
  private state: "waiting" | "running" | "ended" = "waiting";
  private lastChunkAt: number | undefined;
  private frames = 0;
  private samples = 0;

  /** @param model label of the model, from a closed set */
  constructor(
    private readonly context: RequestContext,
    private readonly info: RequestInfo,
    model: string,
  ) {
    this.tts = ttsLabels(model, info.voiceKind, info.transport, info.format);
    this.stage = { model_name: model, stage: "0", replica: "0" };
    this.startedAt = context.now();
    const { omni, tts } = context.instruments;
    tts.active.inc(this.tts);
    omni.waiting.inc(this.model);
    this.textAdded(info.textChars);
  }

  private get model(): { readonly model_name: string } {
    return { model_name: this.stage.model_name };
  }

  private get sinceStart(): number {
    return this.context.now() - this.startedAt;
  }

  /** More text of a session was accepted. */
  textAdded(codePoints: number): void {
    count(this.context.instruments.tts.textChars, this.tts, codePoints);
  }

  /** It left the line. */
  admitted(): void {
    if (this.state !== "waiting") return;
    this.state = "running";
    const { omni, tts } = this.context.instruments;
    omni.waiting.dec(this.model);
    omni.running.inc(this.model);
    observe(tts.queueWait, this.tts, this.sinceStart);
  }

  /** A chunk was handed to the transport. Empty ones count for nothing. */
  chunk({ frames, samples }: ChunkInfo): void {
    if (this.state === "ended" || samples <= 0) return;
    this.admitted();
    const { tts } = this.context.instruments;
    const now = this.context.now();
    const seconds = samples / this.context.sampleRate;
    if (this.lastChunkAt === undefined) this.firstAudio(frames);
    else observe(tts.interChunk, this.tts, now - this.lastChunkAt);
    observe(tts.chunkFrames, this.tts, frames);
    count(tts.audioSeconds, this.tts, seconds);
    this.continuity.add(now, seconds);
    this.lastChunkAt = now;
    this.frames += frames;
    this.samples += samples;
  }

  private firstAudio(frames: number): void {
    const { omni, tts } = this.context.instruments;
    observe(tts.firstChunkFrames, this.tts, frames);
    if (!isStreaming(this.info.transport)) return;
    observe(omni.ttfp, this.stage, this.sinceStart);
    observe(tts.ttfa, this.tts, this.sinceStart);
    this.context.recentTtfa.add(this.sinceStart);
    this.context.day.firstAudio(this.sinceStart);
  }

  /** A cancel took that long to take effect. */
  cancelled(latencySeconds: number): void {
    observe(this.context.instruments.tts.cancelLatency, {}, latencySeconds);
  }

  /** The end, whichever way it came. Only the first call counts. */
  finished(end: RequestEnd): void {
    if (this.state === "ended") return;
    const { omni, tts } = this.context.instruments;
    (this.state === "waiting" ? omni.waiting : omni.running).dec(this.model);
    this.state = "ended";
    tts.active.dec(this.tts);
    count(tts.requests, { ...this.tts, outcome: end.outcome });
    this.context.day.requestEnded(end.outcome === "error" || end.outcome === "engine_dead");
    if (end.outcome === "error") this.context.failures.note("generation_failed");
    if (end.outcome === "engine_dead") this.context.failures.note("engine_dead");
    if (end.truncated) count(tts.truncated, this.tts);
    this.countOutcome(end.outcome);
    if (isCompleted(end.outcome)) this.completed(end.generationSeconds);
    if (isStreaming(this.info.transport)) this.streamEnded(end.outcome);
  }

  private countOutcome(outcome: Outcome): void {
    const left = outcome === "cancelled" || outcome === "closed";
    if (!left && !isCompleted(outcome)) return;
    const reason = left ? "abort" : outcome;
    count(this.context.instruments.omni.success, { ...this.model, finished_reason: reason });
  }

  private completed(generationSeconds: number): void {
    const { omni, tts } = this.context.instruments;
    observe(omni.latency, this.model, this.sinceStart);
    observe(tts.duration, this.tts, this.sinceStart);
    if (this.samples === 0) {
      count(omni.skipped, { ...this.stage, reason: "no_audio_data" });
      return;
    }
    const seconds = this.samples / this.context.sampleRate;
    const rtf = generationSeconds / seconds;
    observe(omni.duration, this.stage, seconds);
    count(omni.samples, this.stage, this.samples);
    observe(omni.rtf, this.stage, rtf);
    observe(tts.rtf, this.tts, rtf);
    this.context.recentRtf.add(rtf);
    if (generationSeconds > 0) {
      observe(tts.tokensPerSecond, this.tts, this.frames / generationSeconds);
    }
  }

  private streamEnded(outcome: Outcome): void {
    const { omni, tts } = this.context.instruments;
    if (!isCompleted(outcome)) {
      count(omni.streamsAborted, { ...this.stage, reason: outcome });
      return;
    }
    const { streams } = this.context;
    count(omni.streamsCompleted, this.stage);
    if (this.samples === 0) return;
    const { underrunSeconds, events, ok } = this.continuity.result();
    observe(omni.underrun, this.stage, underrunSeconds);
    count(tts.underruns, this.tts, events);
    streams.ended += 1;
    streams.underruns += events;
    this.context.day.streamEnded(ok);
    if (!ok) return;
    streams.continuous += 1;
    count(omni.continuous, { ...this.stage, threshold_ms: THRESHOLD_LABEL });
  }
}
