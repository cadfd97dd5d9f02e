/**
 * The session: text in, audio out, at the same time. One state machine behind every door. The composer turns text
 * into units; here they are sent in turn, as fast as the listener can use them. Everything that stops a unit is decided
 * here and takes effect at once: nothing is sent for a unit after it was cancelled.
 */
import { ApiError } from "../protocol/envelope.ts";
import { Composer } from "./composer.ts";
import { outcomeOf, speechError } from "./errors.ts";
import { audioMs, EventQueue } from "./event-queue.ts";
import type { RequestReport } from "./metrics.ts";
import { Playback } from "./playback.ts";
import {
  audioReady,
  cancelledEvent,
  isOf,
  type Part,
  unitEnded,
  unitStarted,
} from "./session-events.ts";
import { Signal } from "./signal.ts";
import { codePoints } from "./text-feed.ts";
import type {
  CancelScope,
  SessionRequest,
  SpeechEvent,
  SpeechSession,
  SpeechSettings,
} from "./types.ts";
import type { Piece, Studio, Unit } from "./unit.ts";
import type { Utterance } from "./utterance.ts";

/** Unread audio above which nothing more is read from the engine. */
const MAX_UNREAD_MS = 1000;
/** Share of the lead below which a paused session goes on. */
const RESUME_SHARE = 0.8;

/** Whether somebody is taken to hear it while it is made; answers that are sent as a whole are not heard before. */
function isHeardLive({ transport }: SessionRequest): boolean {
  return transport !== "http" && transport !== "batch";
}

/** What a session needs of the house. */
export interface SessionHouse extends Studio {
  readonly limits: { readonly maxChars: number; readonly maxQueued: number };
  /** Completes an utterance's settings. */
  newUtterance(index: number, settings: SpeechSettings, report: () => RequestReport): Utterance;
  report(request: SessionRequest, settings: SpeechSettings): RequestReport;
  /** @throws ApiError for a rate or speed that cannot be made */
  check(settings: SpeechSettings): void;
  closed(session: Session): void;
}

export class Session implements SpeechSession {
  readonly requestId: string;
  readonly events: EventQueue;
  readonly #house: SessionHouse;
  readonly #request: SessionRequest;
  readonly #changed = new Signal();
  readonly #playback: Playback;
  readonly #composer: Composer;
  #settings: SpeechSettings;
  #generation = 0;
  #nextIndex = 0;
  /** Utterances whose end has not been read, in order. */
  #utterances: Utterance[] = [];
  /** The one that takes text. It may be over already: the rest of its text is then thrown away. */
  #open: Utterance | undefined;
  /** Units that were announced and whose end has not been read, in order. */
  #announced: Part[] = [];
  #isPaused = false;
  #isClosed = false;
  readonly #loops: Promise<unknown>;

  constructor(house: SessionHouse, request: SessionRequest) {
    house.check(request);
    this.#house = house;
    this.#request = request;
    this.#settings = request;
    this.requestId = request.requestId;
    this.#playback = new Playback(() => house.now());
    this.events = new EventQueue({
      taken: (event, frames) => this.#taken(event, frames),
      left: () => void this.close(),
    });
    this.#composer = new Composer({
      studio: house,
      changed: this.#changed,
      utterances: () => this.#utterances,
      aheadMs: () => this.#playback.leadMs + this.events.bufferedMs,
      listener: {
        aheadMs: () =>
          isHeardLive(request)
            ? this.#playback.leadMs + this.events.bufferedMs
            : Number.POSITIVE_INFINITY,
        isHearing: () => isHeardLive(request) && this.#playback.leadMs > 0,
      },
      onPlace: (utterance, place, waitMs) => this.#onPlace(utterance, place, waitMs),
    });
    request.signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#loops = Promise.all([this.#guard(this.#composer.run()), this.#guard(this.#sendAll())]);
    if (request.signal?.aborted) void this.close();
  }

  get isBusy(): boolean {
    return !this.#isClosed && this.#utterances.some((utterance) => this.#isAtWork(utterance));
  }

  /** Whether an utterance has begun and its end has not been read. */
  get hasUtterance(): boolean {
    return !this.#isClosed && this.#utterances.length > 0;
  }

  push(text: string): void {
    if (this.#isClosed || text === "") return;
    const chars = codePoints(text);
    this.#checkRoom(chars);
    const utterance = this.#openUtterance();
    if (!utterance.isOver) utterance.push(text, chars);
    this.#changed.notify();
  }

  flush(): void {
    if (this.#isClosed || this.#open?.isOver !== false) return;
    this.#checkRoom(0);
    this.#open.text.flush();
    this.#changed.notify();
  }

  end(): void {
    if (this.#isClosed) return;
    if (this.#open === undefined) this.#checkRoom(0);
    this.#openUtterance().text.end();
    this.#open = undefined;
    this.#changed.notify();
  }

  cancel(scope: CancelScope, playedMs?: number): void {
    if (this.#isClosed) return;
    const live = this.#utterances.filter(({ isOver }) => !isOver);
    if (playedMs !== undefined && live[0]) this.#playback.played(live[0].index, playedMs);
    this.#generation += 1;
    if (scope === "current") this.#cancelCurrent();
    else this.#cancelUtterances(scope === "all" ? live : live.slice(0, 1));
    this.#changed.notify();
  }

  played(utterance: number, playedMs: number): void {
    this.#playback.played(utterance, playedMs);
    this.#changed.notify();
  }

  update(settings: Partial<SpeechSettings>, apply: "next" | "now"): void {
    const changed = { ...this.#settings, ...settings };
    this.#house.check(changed);
    this.#settings = changed;
    if (apply === "next") return;
    for (const utterance of this.#utterances)
      utterance.update({ ...utterance.settings, ...settings });
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#request.signal?.removeEventListener("abort", this.#onAbort);
      for (const utterance of this.#utterances) utterance.finish("closed");
      this.#utterances = [];
      this.events.end();
      this.#house.closed(this);
      const stopped = this.#composer.close();
      this.#changed.notify();
      await stopped;
    }
    await this.#composer.close();
    await this.#loops;
  }

  readonly #onAbort = () => void this.close();

  #isAtWork({ text, isCut, isOver }: Utterance): boolean {
    return (
      !this.#composer.isIdle || this.#announced.length > 0 || isOver || isCut || text.isPending
    );
  }

  /** @throws ApiError `input_overflow` */
  #checkRoom(chars: number): void {
    const { maxChars, maxQueued } = this.#house.limits;
    const waiting = this.#utterances.reduce((sum, { text }) => sum + text.waitingChars, 0);
    const queued = this.#utterances.reduce((sum, { text }) => sum + text.waitingFlushes + 1, 0);
    const isRoom = waiting + chars <= maxChars && queued <= maxQueued;
    if (!isRoom) throw new ApiError("input_overflow");
  }

  #openUtterance(): Utterance {
    if (this.#open === undefined) {
      const settings = this.#settings;
      this.#open = this.#house.newUtterance(this.#nextIndex++, settings, () =>
        this.#house.report(this.#request, settings),
      );
      this.#utterances.push(this.#open);
    }
    return this.#open;
  }

  /** A loop that breaks is a fault of ours: the listener is told, and the session ends. */
  async #guard(loop: Promise<void>): Promise<void> {
    try {
      await loop;
    } catch (error) {
      const utterance = this.#utterances[0];
      if (utterance !== undefined) this.#failUtterance(utterance, speechError(error));
      void this.close();
    }
  }

  #onPlace(utterance: Utterance, place: number, expectedWaitMs: number): void {
    if (utterance.audioMs > 0 || utterance.isOver) return;
    this.events.replace(({ kind }) => kind === "queued");
    this.events.push({ kind: "queued", place, expectedWaitMs });
  }

  // ---- from units to events

  async #sendAll(): Promise<void> {
    while (!this.#isClosed) {
      const turn = this.#composer.next();
      if (turn === undefined) await this.#changed.wait();
      else if (turn.unit === undefined) this.events.push(turn.utterance.endEvent());
      else await this.#send(turn);
    }
  }

  async #send(part: Part): Promise<void> {
    const { unit, utterance } = part;
    let error: ApiError | undefined;
    try {
      for (;;) {
        await this.#room(unit);
        await this.#house.turns.take(this.#playback.leadMs + this.events.bufferedMs);
        const piece = await unit.next();
        if (unit.isCancelled) return;
        if (piece === undefined) break;
        if (piece.pcm.length > 0) this.#sendAudio(part, piece);
      }
      if (part.audioMs === 0) error = new ApiError("no_audio");
    } catch (failure) {
      if (unit.isCancelled) return;
      this.#house.failed(failure);
      error = speechError(failure);
    }
    if (error?.code === "overloaded" && utterance.audioMs === 0) {
      this.#failUtterance(utterance, error);
      return;
    }
    this.#announce(part);
    utterance.ended += 1;
    utterance.noteEnd({
      frames: unit.frames,
      computeMs: unit.computeMs,
      isTruncated: unit.isTruncated,
      failure: error && outcomeOf(error),
    });
    this.events.push(unitEnded(part, this.#generation, { cancelled: false, error }));
  }

  #sendAudio(part: Part, piece: Piece): void {
    this.#announce(part);
    const event = audioReady(part, piece.pcm, this.#generation);
    part.audioMs += audioMs(event);
    part.utterance.audioMs += audioMs(event);
    this.events.push(event, piece.frames);
  }

  #announce(part: Part): void {
    if (this.#announced.includes(part)) return;
    part.utterance.text.spokenTo(part.unit.request.segment.end);
    this.#announced.push(part);
    this.events.push(unitStarted(part, this.#generation));
  }

  /** Waits while the listener has enough: unread events, or audio that was sent and not played. */
  async #room(unit: Unit): Promise<void> {
    const { maxLeadMs } = unit.request.settings;
    while (!this.#isClosed && !unit.isCancelled) {
      const leadMs = this.#playback.leadMs;
      if (leadMs > (this.#isPaused ? maxLeadMs * RESUME_SHARE : maxLeadMs)) {
        this.#flow("paused", leadMs);
        await this.#changed.wait(leadMs - maxLeadMs * RESUME_SHARE);
      } else if (this.events.bufferedMs >= MAX_UNREAD_MS) {
        await this.#changed.wait();
      } else {
        this.#flow("resumed", leadMs);
        return;
      }
    }
  }

  #flow(state: "paused" | "resumed", leadMs: number): void {
    if (this.#isPaused === (state === "paused")) return;
    this.#isPaused = state === "paused";
    this.events.push({ kind: "flow", state, leadMs });
  }

  /** An event leaves the session. Units and their audio belong to the generation in which they leave. */
  #taken(event: SpeechEvent, frames: number): SpeechEvent {
    if (event.kind === "audio") {
      const ms = audioMs(event);
      const utterance = this.#utterances.find(({ index }) => index === event.utterance);
      const { sampleRate } = this.#house.model.audio;
      utterance?.report.chunk({ frames, samples: Math.round((ms / 1000) * sampleRate) });
      this.#playback.sent(event.utterance, ms);
      this.#changed.notify();
    } else if (event.kind === "unit-end") {
      this.#announced = this.#announced.filter((part) => !isOf(part)(event));
    } else if (event.kind === "utterance-end") {
      this.#utterances.find(({ index }) => index === event.utterance)?.finish();
      this.#utterances = this.#utterances.filter(({ index }) => index !== event.utterance);
      this.#changed.notify();
    }
    const isStamped = event.kind === "audio" || event.kind === "unit" || event.kind === "unit-end";
    return isStamped ? { ...event, generation: this.#generation } : event;
  }

  // ---- stopping

  #cancelCurrent(): void {
    const parts = [...this.#announced, this.#composer.current];
    const part = parts.find((candidate) => candidate?.unit.isCancelled === false);
    if (part === undefined) {
      this.events.push(this.#cancelled(this.#utterances[0], undefined, 0));
      return;
    }
    this.#composer.stop(part);
    const { utterance, unit } = part;
    const isWhole = !this.#announced.includes(part);
    const droppedChars = isWhole ? codePoints(unit.request.segment.text) : 0;
    utterance.text.spokenTo(unit.request.segment.end);
    this.#playback.stopped();
    this.events.replace(isOf(part), (removed) => {
      const events = this.#cancelledPart(part, removed);
      return [this.#cancelled(utterance, part, droppedChars), ...events];
    });
  }

  #cancelUtterances(targets: readonly Utterance[]): void {
    const isTarget = ({ utterance }: { utterance: Utterance }) => targets.includes(utterance);
    const first = targets[0];
    if (this.#open === undefined || this.#open.isOver || targets.includes(this.#open)) {
      this.#open = undefined;
    }
    if (first === undefined) {
      this.events.push(this.#cancelled(undefined, undefined, 0));
      return;
    }
    this.#composer.drop(targets);
    this.#playback.stopped();
    const indices = new Set(targets.map(({ index }) => index));
    const droppedChars = targets.reduce((sum, { text }) => sum + text.waitingChars, 0);
    this.events.replace(
      (event) => event.kind !== "cancelled" && "utterance" in event && indices.has(event.utterance),
      (removed) => {
        const parts = this.#announced.filter(isTarget);
        const ends = parts.flatMap((part) => this.#cancelledPart(part, removed));
        const cancelled = this.#cancelled(
          first,
          ends.length > 0 ? parts[0] : undefined,
          droppedChars,
        );
        for (const utterance of targets) {
          utterance.finish("cancelled");
          utterance.text.clear();
        }
        return [cancelled, ...ends, ...targets.map((utterance) => utterance.endEvent())];
      },
    );
  }

  /** Takes back what the listener has not read of a unit, and tells its end if he has read its beginning. */
  #cancelledPart(part: Part, removed: readonly SpeechEvent[]): SpeechEvent[] {
    const events = removed.filter(isOf(part));
    const unsentMs = events.reduce((sum, event) => sum + audioMs(event), 0);
    part.audioMs -= unsentMs;
    part.utterance.audioMs -= unsentMs;
    const end = events.find((event) => event.kind === "unit-end");
    if (end?.cancelled === false) part.utterance.ended -= 1;
    if (end === undefined)
      part.utterance.noteEnd({ frames: part.unit.frames, computeMs: 0, isTruncated: false });
    const wasAnnounced =
      this.#announced.includes(part) && !events.some(({ kind }) => kind === "unit");
    if (wasAnnounced) return [unitEnded(part, this.#generation, { cancelled: true })];
    this.#announced = this.#announced.filter((other) => other !== part);
    return [];
  }

  #cancelled(
    utterance: Utterance | undefined,
    part: Part | undefined,
    dropped: number,
  ): SpeechEvent {
    const place = {
      utterance: utterance?.index ?? Math.max(0, this.#nextIndex - 1),
      unit: part?.unit.request.index,
      generation: this.#generation,
    };
    return cancelledEvent(place, utterance?.audioMs ?? 0, dropped);
  }

  /** Ends an utterance that cannot be spoken; the text of it that still comes is thrown away. */
  #failUtterance(utterance: Utterance, error: ApiError): void {
    this.#composer.drop([utterance]);
    utterance.finish(outcomeOf(error));
    utterance.text.clear();
    this.events.push(utterance.endEvent(error));
  }
}
