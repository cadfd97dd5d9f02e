/**
 * The speech service: opens sessions and keeps what they share, which is the engine, the line in front of it, and the
 * configuration's word on everything that a request leaves open. Owns the engine's life from start to close. Knows
 * nothing of transports.
 */
import type { EngineStream } from "../engine/stream.ts";
import type { EngineLimits, Finished, GenerateOptions } from "../engine/types.ts";
import type { Model, Sampling } from "../models/types.ts";
import { ApiError } from "../protocol/envelope.ts";
import { Admission, type Claim, type Ticket } from "./admission.ts";
import { firstFrames } from "./chunking/first-chunk.ts";
import { type ChunkPlanner, chunkPlanner } from "./chunking/policy.ts";
import { EngineHost, type HostedEngine, WARM_UP_FRAMES } from "./engine-host.ts";
import { speechError } from "./errors.ts";
import { LoadEstimate } from "./load-estimate.ts";
import {
  NO_METRICS,
  type RequestReport,
  type SpeechMetrics,
  transportLabel,
  voiceLabel,
} from "./metrics.ts";
import type { SpeechConfig } from "./options.ts";
import { realTimeSequences } from "./real-time.ts";
import { Session, type SessionHouse } from "./session.ts";
import { Signal } from "./signal.ts";
import { TURN_PIECES, Turns } from "./turns.ts";
import type {
  SessionRequest,
  SpeechService,
  SpeechSession,
  SpeechSettings,
  Transport,
} from "./types.ts";
import { madeFor, UnitAudio } from "./unit-audio.ts";
import { Utterance } from "./utterance.ts";

export interface ServiceOptions {
  readonly model: Model;
  readonly config: SpeechConfig;
  /** Loads an engine for the model; called again when one has died. */
  loadEngine(): Promise<HostedEngine>;
  /** A GPU is lost to this process (see HostOptions). */
  readonly onDeviceLost?: (() => void) | undefined;
  readonly metrics?: SpeechMetrics;
  /** Milliseconds on a clock that does not jump. */
  readonly now?: () => number;
  readonly log?: (level: "info" | "warn" | "error", message: string) => void;
}

/** Sessions that stay open while nothing is spoken; they meet a full line when they speak, not when they open. */
const LASTING: ReadonlySet<Transport> = new Set(["ws", "socketio"]);
/** What a client is told to wait while the engine is not ready, in seconds. */
const RETRY_AFTER_S = 2;
const WARM_UP_TEXT = "Hello there.";
/** So many are enough to see what company costs. */
const MOST_IN_CROWD = 8;
/** How often it is looked how many can be spoken to in real time. */
const MEASURE_MS = 100;
/** Who has less to hear than so many ticks take is short of sound. */
const SHORT_TICKS = 3;

export class SonantSpeechService implements SpeechService, SessionHouse {
  readonly model: Model;
  readonly limits: SessionHouse["limits"];
  readonly turns: Turns;
  /** The engine behind a name that survives restarts: for voices to be encoded, and for figures. */
  readonly host: EngineHost;
  readonly now: () => number;
  readonly #config: SpeechConfig;
  readonly #metrics: SpeechMetrics;
  readonly #estimate = new LoadEstimate();
  readonly #admission: Admission;
  readonly #sessions = new Set<Session>();
  readonly #changed = new Signal();
  #measuring: NodeJS.Timeout | undefined;
  #speaking = 0;
  #isDraining = false;

  constructor(options: ServiceOptions) {
    const { config, model } = options;
    this.model = model;
    this.#config = config;
    this.#metrics = options.metrics ?? NO_METRICS;
    this.now = options.now ?? (() => performance.now());
    this.turns = new Turns(TURN_PIECES, this.now);
    this.limits = {
      maxChars: config.limits.ws_buffer_chars,
      maxQueued: config.limits.ws_queued_units,
    };
    this.#admission = new Admission({
      maxWaiting: config.engine.maxQueue,
      maxWaitMs: config.engine.maxQueueWaitMs,
      maxParked: config.engine.maxParked,
      estimate: this.#estimate,
      now: () => this.now(),
    });
    this.host = new EngineHost({
      load: () => options.loadEngine(),
      warmUps: () => this.#warmUps(),
      crowd: (limits) => (this.#share > 0 ? Math.min(this.#slots(limits), MOST_IN_CROWD) : 1),
      onChange: (isTrusted) => (isTrusted ? this.#open() : this.#admission.pause()),
      onDeviceLost: options.onDeviceLost,
      onFrameMs: (ms) => this.#estimate.noteFrame(ms),
      log: options.log ?? (() => {}),
    });
  }

  /** Loads and warms the engine. Rejects if that fails. */
  start(): Promise<void> {
    return this.host.start();
  }

  get state(): SpeechService["state"] {
    const { stage, reason } = this.host;
    if (this.#isDraining || stage === "closed") return { stage: "draining" };
    return reason === undefined ? { stage } : { stage, reason };
  }

  get load(): SpeechService["load"] {
    const { active, waiting, capacity, expectedWaitMs } = this.#admission;
    return { active, waiting, capacity, expectedWaitMs };
  }

  /** Sessions that have not been closed. */
  get openSessions(): number {
    return this.#sessions.size;
  }

  /** Whether something is being spoken, or waits to be, or has been and was not read to its end. */
  get hasUtterances(): boolean {
    return [...this.#sessions].some(({ hasUtterance }) => hasUtterance);
  }

  open(request: SessionRequest): SpeechSession {
    const refusal = this.#refusal(request);
    if (refusal !== undefined) {
      this.#metrics.rejected(refusal.code);
      throw refusal;
    }
    const session = new Session(this, request);
    if (!request.signal?.aborted) this.#sessions.add(session);
    return session;
  }

  #refusal({ transport }: SessionRequest): ApiError | undefined {
    const details = { retryAfterSeconds: RETRY_AFTER_S };
    const { stage, reason } = this.state;
    if (stage === "draining") return new ApiError("shutting_down", undefined, details);
    if (stage !== "ready") {
      const isFirst = reason === undefined;
      return new ApiError(isFirst ? "warming_up" : "engine_dead", undefined, details);
    }
    const isRefused = !LASTING.has(transport) && this.#admission.isFull;
    return isRefused ? this.#admission.refusal() : undefined;
  }

  async drain(limitMs: number): Promise<void> {
    this.#isDraining = true;
    const until = this.now() + limitMs;
    while (this.hasUtterances) {
      const left = until - this.now();
      if (left <= 0) return;
      await this.#changed.wait(Math.min(left, 50));
    }
  }

  async close(): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#measuring);
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await this.host.close();
  }

  // ---- what sessions and units ask of the house

  closed(session: Session): void {
    this.#sessions.delete(session);
    this.#changed.notify();
  }

  check(settings: SpeechSettings): void {
    try {
      new UnitAudio(madeFor(this.model.audio, settings), settings, 0);
    } catch (error) {
      throw speechError(error);
    }
  }

  newUtterance(index: number, settings: SpeechSettings, report: () => RequestReport): Utterance {
    const { sampling, chunks, sockets } = this.#config;
    return new Utterance({
      index,
      settings,
      model: this.model,
      granularity: settings.granularity ?? sockets.defaultSplit,
      defaultSeed: sampling.seed,
      firstFrames: firstFrames({
        requested: settings.firstChunkFrames,
        configured: chunks.firstFrames,
        steady: chunks.steadyFrames,
        active: this.#speaking,
        capacity: this.#admission.capacity,
      }),
      report,
    });
  }

  report({ model, transport, format }: SessionRequest, settings: SpeechSettings): RequestReport {
    return this.#metrics.requestStarted({
      model,
      voiceKind: voiceLabel(settings.voiceKind),
      transport: transportLabel(transport),
      format,
      textChars: 0,
    });
  }

  admit(claim: Claim, onPlace: (place: number, expectedWaitMs: number) => void): Ticket {
    try {
      return this.#admission.request(claim, onPlace);
    } catch (error) {
      this.#metrics.rejected("overloaded");
      throw error;
    }
  }

  generate(options: GenerateOptions): EngineStream {
    return this.host.generate(options);
  }

  samplingFor(settings: SpeechSettings): NonNullable<GenerateOptions["sampling"]> {
    const { maxFrames: _, seed: __, ...configured } = this.#config.sampling;
    const { audioRepetitionPenalty, ...rest } = merged<Sampling>(
      this.model.sampling,
      configured,
      settings.sampling ?? {},
    );
    return { ...rest, repetitionPenalty: audioRepetitionPenalty };
  }

  maxFramesFor(settings: SpeechSettings): number | undefined {
    return settings.maxFrames ?? this.#config.sampling.maxFrames;
  }

  planner(settings: SpeechSettings, first: number): ChunkPlanner {
    const { chunks } = this.#config;
    const { chunkPolicy } = settings;
    const wanted =
      chunkPolicy === undefined || chunkPolicy === "auto" ? chunks.policy : chunkPolicy;
    return chunkPlanner({
      policy: wanted === "ramp" && chunks.ramp.length === 0 ? "fixed" : wanted,
      first: first === 0 ? chunks.steadyFrames : first,
      ramp: chunks.ramp,
      steady: chunks.steadyFrames,
      minFrames: chunks.minFrames,
      marginMs: chunks.marginMs,
      rampDivisor: chunks.rampDivisor,
      deltaMin: chunks.deltaMin,
      frameMs: 1000 / this.model.audio.framesPerSecond,
    });
  }

  begun(): () => void {
    this.#speaking += 1;
    return () => {
      this.#speaking -= 1;
    };
  }

  measured({ stats }: Finished): void {
    this.#estimate.note(stats.frames, stats.totalMs - stats.queueMs - stats.pausedMs);
  }

  failed(error: unknown): void {
    void this.host.suspect(error);
  }

  /** An engine that replaces another one may have room for more or fewer, and what it has room for changes with the load. */
  #open(): void {
    this.#measure();
    this.#measuring ??= setInterval(() => {
      if (this.host.isTrusted) this.#measure();
    }, MEASURE_MS).unref();
  }

  #measure(): void {
    const { engine } = this.host;
    const slots = this.#slots(engine.info.limits);
    const frameMs = 1000 / this.model.audio.framesPerSecond;
    const devices = engine.members?.length ?? 1;
    if (this.#share === 0) {
      this.#admission.resume({ slots, capacity: slots });
      return;
    }
    const stats = engine.stats();
    const { live, leadMsMin, tickFixedMs, tickSequenceMs } = stats;
    const tickMs = tickFixedMs + tickSequenceMs * (live / devices);
    const inTime = realTimeSequences(stats, frameMs, this.#share) * devices;
    this.#admission.resume({
      slots,
      capacity: Math.min(slots, inTime),
      isStrained: live > 0 && leadMsMin < SHORT_TICKS * tickMs,
    });
  }

  get #share(): number {
    return this.#config.engine.realTimeShare ?? 0;
  }

  #slots({ maxSequences }: Pick<EngineLimits, "maxSequences">): number {
    return this.#config.engine.maxSequences || (maxSequences ?? 1);
  }

  #warmUps(): GenerateOptions[] {
    const voice = this.#config.voices.default ?? this.model.defaultVoice;
    const plan = this.model.planSegment({
      text: WARM_UP_TEXT,
      maxFrames: WARM_UP_FRAMES,
      ...(voice === undefined ? {} : { voice }),
    });
    const { rowWidth: _, ...rows } = plan;
    return [rows];
  }
}

/** Later values win, unless they are undefined. */
function merged<T extends object>(first: T, ...others: Partial<Record<keyof T, unknown>>[]): T {
  const out = { ...first };
  for (const other of others) {
    for (const [key, value] of Object.entries(other)) {
      if (value !== undefined) out[key as keyof T] = value as T[keyof T];
    }
  }
  return out;
}
