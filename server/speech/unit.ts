/**
 * One unit: a piece of text that is generated in one go. Owns its place in line, its slot and its engine stream, and lets
 * go of all three however it ends. Reading it gives chunks; while nobody reads, the engine holds its audio back.
 */

import { concatSamples, type Samples } from "../audio/pcm.ts";
import type { EngineStream } from "../engine/stream.ts";
import type { AudioChunk, Finished, GenerateOptions } from "../engine/types.ts";
import type { Model } from "../models/types.ts";
import type { Claim, Listener, Ticket } from "./admission.ts";
import type { ChunkPlanner } from "./chunking/policy.ts";
import { parkWhilePaused } from "./parking.ts";
import type { FedSegment } from "./text-feed.ts";
import type { Turns } from "./turns.ts";
import type { FirstAudioTiming, SpeechSettings } from "./types.ts";
import { leavesSamples, madeFor, UnitAudio } from "./unit-audio.ts";

/** What a unit needs of the house. */
export interface Studio {
  readonly model: Model;
  /** Whose text is cut and whose audio is sent next. */
  readonly turns: Turns;
  /** Milliseconds on a clock that does not jump. */
  now(): number;
  /** @throws ApiError `overloaded` */
  admit(claim: Claim, onPlace: (place: number, expectedWaitMs: number) => void): Ticket;
  /** @throws EngineError */
  generate(options: GenerateOptions): EngineStream;
  /** What a request leaves open, filled in by the configuration. */
  samplingFor(settings: SpeechSettings): Omit<NonNullable<GenerateOptions["sampling"]>, "segment">;
  maxFramesFor(settings: SpeechSettings): number | undefined;
  planner(settings: SpeechSettings, firstFrames: number): ChunkPlanner;
  /** A generation has begun to give audio; the returned function says that it no longer does. */
  begun(): () => void;
  /** A generation ended by itself. */
  measured(finished: Finished): void;
  /** A generation failed. */
  failed(error: unknown): void;
}

export interface UnitRequest {
  readonly index: number;
  readonly segment: FedSegment;
  readonly settings: SpeechSettings;
  /** 0 to 2^64 - 1 */
  readonly seed: bigint;
  readonly firstFrames: number;
  readonly claim: Claim;
  readonly listener: Listener;
  onPlace(place: number, expectedWaitMs: number): void;
  onAdmitted(): void;
  /** Called when the engine has let go of it, just before its slot goes to the next in line. */
  onGenerated(): void;
}

export interface Piece {
  /** May be empty while a filter fills up. */
  readonly pcm: Samples;
  readonly frames: number;
}

/** Those whom nobody hears in real time let listeners go first for as long as it takes: a day, in milliseconds. */
const NOBODY_WAITS_MS = 86_400_000;

/** With less to hear than this, in milliseconds, a listener gets what there is: small chunks cost little, gaps are heard. */
const DRY_MS = 200;

/**
 * Frames that follow each other faster than this, in milliseconds, leave the engine together: to take in a message costs
 * the event loop far more than its samples do.
 */
const HOLD_MS = 10;

const MASK64 = (1n << 64n) - 1n;

export class Unit {
  readonly request: UnitRequest;
  readonly #studio: Studio;
  readonly #opened: Promise<EngineStream | undefined>;
  readonly #planner: ChunkPlanner;
  /** Settles when the engine has let go of the unit, or will never have it. Never rejects. */
  readonly generated: Promise<void>;
  #ticket: Ticket | undefined;
  #stream: EngineStream | undefined;
  #audio: UnitAudio | undefined;
  #pending: AudioChunk[] = [];
  #framesRead = 0;
  #framesGiven = 0;
  #finished: Finished | undefined;
  #isCancelled = false;
  #isGenerated = false;
  #isEnded = false;
  #waitedMs = 0;
  #ceased: (() => void) | undefined;

  constructor(studio: Studio, request: UnitRequest) {
    this.#studio = studio;
    this.request = request;
    this.#planner = studio.planner(request.settings, request.firstFrames);
    this.#opened = this.#open();
    this.generated = this.#opened.then(
      (stream) => this.#follow(stream),
      () => this.#letGo(),
    );
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get isGenerated(): boolean {
    return this.#isGenerated;
  }

  /** Codec frames that have been read. */
  get frames(): number {
    return this.#framesGiven;
  }

  get isTruncated(): boolean {
    return this.#finished?.reason === "length";
  }

  /** Computing time so far as the engine has told, in milliseconds. */
  get computeMs(): number {
    const stats = this.#finished?.stats;
    return stats === undefined ? 0 : stats.prefillMs + stats.frameMs + stats.codecMs;
  }

  /** From the wish to speak it to its first audio; undefined if there was none. */
  get ttfaMs(): number | undefined {
    const stats = this.#finished?.stats;
    return stats !== undefined && stats.frames > 0
      ? this.#waitedMs + stats.firstAudioMs
      : undefined;
  }

  /** What `ttfaMs` was spent on. */
  get timing(): FirstAudioTiming | undefined {
    const stats = this.#finished?.stats;
    if (stats === undefined || stats.frames === 0) return undefined;
    const { queueMs, prefillMs, firstAudioMs, firstCodecMs } = stats;
    return {
      queueMs: this.#waitedMs + queueMs,
      prefillMs,
      firstFrameMs: Math.max(0, firstAudioMs - queueMs - prefillMs - firstCodecMs),
      codecMs: firstCodecMs,
    };
  }

  /** Drops it, wherever it is. The engine stops within one frame. */
  cancel(): void {
    this.#isCancelled = true;
    if (this.#stream === undefined) this.#ticket?.release();
    this.#stream?.cancel();
  }

  /**
   * The next chunk; undefined at the end, or when cancelled.
   * @throws what made the unit fail
   */
  async next(): Promise<Piece | undefined> {
    const stream = await this.#opened;
    if (stream === undefined || this.#isEnded) return undefined;
    for (;;) {
      const { value: chunk } = await stream.next();
      if (this.#isCancelled) return undefined;
      if (chunk === undefined) {
        await this.generated;
        return this.#last();
      }
      this.#ceased ??= this.#studio.begun();
      this.#framesRead += chunk.frames;
      this.#pending.push(chunk);
      const now = this.#studio.now() / 1000;
      const isDue = this.#planner.take(this.#framesRead, false, now) !== undefined;
      const isDry = !isDue && this.request.listener.aheadMs() < DRY_MS;
      if (isDue || (isDry && this.#planner.hurry(this.#framesRead, now))) return this.#piece();
    }
  }

  async #open(): Promise<EngineStream | undefined> {
    const { settings, segment, claim, listener, onPlace, onAdmitted } = this.request;
    const { model } = this.#studio;
    const maxFrames = this.#studio.maxFramesFor(settings);
    const plan = model.planSegment({
      text: segment.spoken,
      voice: settings.voice,
      ...(maxFrames === undefined ? {} : { maxFrames }),
    });
    const { silenceMs, pauseBeforeMs } = segment;
    const isUsual = silenceMs === undefined && this.request.index > 0;
    const made = madeFor(model.audio, settings);
    this.#audio = new UnitAudio(made, settings, isUsual ? pauseBeforeMs : 0, silenceMs);
    const wishedAt = this.#studio.now();
    this.#ticket = this.#studio.admit(claim, onPlace);
    if (!(await this.#ticket.granted) || this.#isCancelled) return undefined;
    this.#waitedMs = this.#studio.now() - wishedAt;
    onAdmitted();
    const { mostAtOnce, mostHeldFrames } = this.#planner;
    // Who has run dry in the middle of his text is no newcomer: to have next to nothing is not to have begun.
    const leadMs = Math.max(listener.aheadMs(), claim.kind === "first" ? 0 : 1);
    this.#stream = this.#studio.generate({
      prefixKey: plan.prefixKey,
      prefixRows: plan.prefixRows,
      textRows: plan.textRows,
      maxFrames: plan.maxFrames,
      channels: made.channels,
      chunks: { growth: mostAtOnce, maxFrames: mostAtOnce, holdMs: HOLD_MS },
      pcm16: settings.wantsIntegers === true && leavesSamples(made, settings),
      leadMs: Math.min(leadMs, NOBODY_WAITS_MS),
      reserveMs: (mostHeldFrames * 1000) / model.audio.framesPerSecond,
      sampling: {
        ...this.#studio.samplingFor(settings),
        seed: this.request.seed & MASK64,
        segment: this.request.index,
      },
    });
    parkWhilePaused(this.#stream, this.#ticket, listener);
    return this.#stream;
  }

  async #follow(stream: EngineStream | undefined): Promise<void> {
    this.#finished = await stream?.finished;
    if (this.#finished?.reason === "stop") this.#studio.measured(this.#finished);
    this.#letGo();
  }

  #letGo(): void {
    this.#ceased?.();
    this.#isGenerated = true;
    this.request.onGenerated();
    this.#ticket?.release();
  }

  #last(): Piece | undefined {
    this.#isEnded = true;
    const piece = this.#piece();
    const tail = this.#framesRead > 0 ? this.#audio?.end() : undefined;
    if (tail === undefined || tail.length === 0) return piece.pcm.length > 0 ? piece : undefined;
    return { pcm: concatSamples([piece.pcm, tail]), frames: piece.frames };
  }

  /** Everything that is pending, as one chunk. */
  #piece(): Piece {
    const frames = this.#framesRead - this.#framesGiven;
    const made = concatSamples(this.#pending.map(({ pcm, pcm16 }) => pcm16 ?? pcm));
    this.#pending = [];
    this.#framesGiven = this.#framesRead;
    return { pcm: frames > 0 ? (this.#audio?.push(made) ?? made) : made, frames };
  }
}
