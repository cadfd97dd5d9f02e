/**
 * A session on the speech socket: text in and audio out at the same time, over as many connections as it takes. Counts
 * everything in both directions, so that after a lost connection nothing is missing and nothing comes twice.
 */
import { pcmSeconds } from "../pcm.ts";
import type { ServerMessage, ServerMessageOf } from "../socket-server.ts";
import type { FrameTag } from "../tagged-frame.ts";
import { SonantError } from "./error.ts";
import { SocketBuffer } from "./socket-buffer.ts";
import { createdEvent, speechEvent } from "./socket-events.ts";
import { type Countable, SocketInput } from "./socket-input.ts";
import { platformWebSocket, SocketLink, socketUrl } from "./socket-link.ts";
import { SocketPings } from "./socket-pings.ts";
import { Reconnection } from "./socket-reconnect.ts";
import { SocketTrack } from "./socket-track.ts";
import type {
  CreatedEvent,
  SegmentEvent,
  SocketChange,
  SocketEvent,
  SocketEventOf,
  SocketState,
  SocketWish,
  SpeechSocketOptions,
} from "./socket-types.ts";

const KEEP_ALIVE_MS = 10_000;
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;
/** How long the server has for its part of the farewell. */
const FAREWELL_MS = 2000;

type Listener = (event: never) => void;

export class SpeechSocket {
  readonly #options: SpeechSocketOptions;
  readonly #now: () => number;
  readonly #openedAt: number;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #input = new SocketInput();
  readonly #track = new SocketTrack();
  readonly #pings: SocketPings;
  readonly #reconnection: Reconnection | undefined;
  #state: SocketState = "idle";
  #link: SocketLink | undefined;
  /** The first message of the first connection has left: what follows it need not wait for the answer. */
  #isGreeted = false;
  #buffer: SocketBuffer | undefined;
  #session: CreatedEvent | undefined;
  #token = "";
  #segment: SegmentEvent | undefined;
  /** What the server said before it closed the connection. */
  #lastWord: SonantError | undefined;
  #settleOpen: ((error: SonantError | undefined) => void) | undefined;
  #closing: Promise<void> | undefined;
  #settleClose: () => void = () => {};
  #farewell: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SpeechSocketOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#openedAt = this.#now();
    this.#pings = new SocketPings(this.#now);
    if (options.reconnect !== false) {
      this.#reconnection = new Reconnection(options.reconnect ?? {}, options.random, this.#now);
    }
  }

  get state(): SocketState {
    return this.#state;
  }

  /** What the server said of the session; undefined before it is open. */
  get session(): CreatedEvent | undefined {
    return this.#session;
  }

  /** Sound that waits to be taken from `events()`, in milliseconds. */
  get waitingMs(): number {
    return this.#buffer?.waitingMs ?? 0;
  }

  /** Calls a function with each event of a kind, or of every kind. Returns what ends that. */
  on<T extends SocketEvent["type"] | "*">(
    type: T,
    listener: (event: T extends SocketEvent["type"] ? SocketEventOf<T> : SocketEvent) => void,
  ): () => void {
    const same = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, same.add(listener as Listener));
    return () => void same.delete(listener as Listener);
  }

  /**
   * All events from now on, for one reader. Ends with the session, by an error if the session does. A reader who takes his
   * time makes the server wait; one who leaves the loop goes on to be heard by listeners only.
   */
  events(): AsyncIterableIterator<SocketEvent> {
    if (this.#buffer?.isRead) throw new SonantError("not_open", "There is a reader already.");
    const report = (utterance: number, playedMs: number) => this.played(utterance, playedMs);
    this.#buffer = new SocketBuffer({
      maxBytes: this.#options.maxBufferedBytes ?? MAX_BUFFERED_BYTES,
      report: this.#options.acks === "manual" ? undefined : report,
      overflow: () => this.#fail(new SonantError("buffer_full")),
    });
    if (this.#state === "closed") this.#buffer.finish();
    return this.#buffer;
  }

  /**
   * Opens the session: pcm as it is made, and resumable, unless the wish says otherwise. Once. Text may be sent without
   * waiting for it, which saves the way there and back.
   * @throws SonantError if the server refuses it or cannot be reached
   */
  open(wish: SocketWish = {}, { signal }: { signal?: AbortSignal } = {}): Promise<CreatedEvent> {
    if (this.#state !== "idle") {
      throw new SonantError("not_open", "A socket can be opened once; make another one.");
    }
    const form = { response_format: "pcm", stream_audio: true } as const;
    const isPcm = (wish.response_format ?? "pcm") === "pcm";
    return new Promise((resolve, reject) => {
      const stop = () =>
        this.#fail(new SonantError("aborted", undefined, { cause: signal?.reason }));
      this.#settleOpen = (error) => {
        this.#settleOpen = undefined;
        signal?.removeEventListener("abort", stop);
        if (error === undefined) resolve(this.#session as CreatedEvent);
        else reject(error);
      };
      if (signal?.aborted) return stop();
      signal?.addEventListener("abort", stop);
      this.#become("connecting");
      this.#connect((link) => {
        link.send({
          type: "session.config",
          ...(isPcm ? form : {}),
          resumable: this.#reconnection !== undefined,
          queue_events: true,
          ...wish,
          protocol: 2,
          binary_framing: "tagged",
        });
        this.#isGreeted = true;
        for (const message of this.#input.again()) link.send(message);
      });
    });
  }

  // ---- what the client says; each returns its number

  /** Appends text to the open utterance; it may be cut anywhere. @throws SonantError `input_overflow`, `not_open` */
  sendText(text: string): number {
    const most = this.#session?.limits.buffer_chars ?? 0;
    if (this.#session !== undefined && this.#input.chars + text.length > most) {
      throw new SonantError("input_overflow");
    }
    return this.#say({ type: "input.text", text });
  }

  /** Speaks what is there; the utterance stays open. */
  flush(): number {
    return this.#say({ type: "input.flush" });
  }

  /** Ends the utterance; the next text begins another. */
  end(): number {
    return this.#say({ type: "input.done" });
  }

  /** Stops: the segment being spoken, the utterance, or everything. @param playedMs what was heard of the utterance */
  cancel(scope: "current" | "utterance" | "all" = "utterance", playedMs?: number): number {
    const heard = playedMs === undefined ? {} : { played_ms: playedMs };
    return this.#say({ type: "input.cancel", scope, ...heard });
  }

  /** Changes options, from the next utterance or from the next segment on. */
  update(change: SocketChange, apply: "next" | "now" = "next"): number {
    return this.#say({ type: "session.update", ...change, apply });
  }

  /** Tells how much of an utterance was heard, in milliseconds, for the server to pace itself by. */
  played(utterance: number, playedMs: number): void {
    if (this.#state !== "open") return;
    this.#link?.send({
      type: "playback.ack",
      utterance_index: utterance,
      played_ms: Math.max(0, playedMs),
    });
  }

  /** Time to the server and back, in milliseconds. @throws SonantError if there is no connection, or none any more */
  async ping(): Promise<number> {
    if (this.#state !== "open") throw new SonantError("not_open");
    return this.#pings.send((t) => this.#link?.send({ type: "ping", t }));
  }

  /** Gives the connection up and resumes on a new one, as after a change of the network. */
  reconnect(): void {
    if (this.#state !== "open" || !this.#canResume()) return;
    this.#link?.drop(true);
    this.#lost(new SonantError("network", "The connection was given up for a new one."));
  }

  /** Ends the session. Safe to call at any time and as often as wanted; takes two seconds at most. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#settleClose = resolve;
      if (this.#state === "open") this.#sayGoodbye();
      else if (this.#state !== "reconnecting") return this.#over();
      this.#farewell = setTimeout(() => this.#over(), FAREWELL_MS);
    });
    return this.#closing;
  }

  #sayGoodbye(): void {
    this.#link?.send({ type: "session.close" });
    this.#link?.close();
  }

  #say(message: Countable): number {
    if (this.#state === "idle" || this.#state === "closed") throw new SonantError("not_open");
    const counted = this.#input.add(message);
    if (this.#state === "open" || (this.#state === "connecting" && this.#isGreeted)) {
      this.#link?.send(counted);
    }
    if (this.#state === "open") this.#ask();
    return counted.seq;
  }

  /** Finds out how far the server has come; what it has heard need not be kept. */
  #ask(): void {
    const question = this.#input.question();
    if (question !== undefined) this.#link?.send(question);
  }

  // ---- connections

  #connect(greet: (link: SocketLink) => void): void {
    const link: SocketLink = new SocketLink(
      {
        WebSocket: this.#options.WebSocket ?? platformWebSocket(),
        url: socketUrl(this.#options.baseUrl),
        apiKey: this.#options.apiKey,
        setsHeaders: this.#options.WebSocket !== undefined,
        keepAliveMs: this.#options.keepAliveMs ?? KEEP_ALIVE_MS,
        log: (entry) => this.#options.onFrame?.({ ...entry, atMs: this.#sinceMs() }),
      },
      {
        opened: () => greet(link),
        message: (message, text) => this.#message(message, text),
        audio: (tag, payload) => this.#audio(tag, payload),
        ended: (error) => this.#lost(error),
      },
    );
    this.#link = link;
  }

  #canResume(): boolean {
    return this.#reconnection !== undefined && this.#session?.isResumable === true;
  }

  #lost(error: SonantError): void {
    this.#link = undefined;
    this.#pings.lost(error);
    const ttlMs = (this.#session?.limits.resume_ttl_s ?? 0) * 1000;
    const isWorthIt = this.#lastWord === undefined && this.#canResume();
    const next = isWorthIt ? this.#reconnection?.next(error, ttlMs) : undefined;
    if (next === undefined) {
      // A server that has not heard the farewell would keep the session; one that has closes in order.
      if (this.#closing === undefined) this.#fail(this.#lastWord ?? error);
      else this.#over();
      return;
    }
    this.#become("reconnecting", { attempt: next.attempt, delayMs: next.delayMs, error });
    next.wait(() => this.#resume());
  }

  #resume(): void {
    this.#connect((link) =>
      link.send({
        type: "session.resume",
        session_id: this.#session?.sessionId ?? "",
        resume_token: this.#token,
        last_seq: this.#track.lastSeq,
      }),
    );
  }

  #resumed({ from_seq: fromSeq, lost }: ServerMessageOf<"session.resumed">): void {
    this.#reconnection?.succeeded();
    this.#track.resumed(fromSeq);
    if (lost) this.#audioLost(undefined);
    this.#become("open");
    if (this.#closing !== undefined) {
      this.#sayGoodbye();
      return;
    }
    for (const message of this.#input.again()) this.#link?.send(message);
    this.#ask();
  }

  // ---- what the server says

  #message(message: ServerMessage, text: string): void {
    if (!this.#track.isNew(message.type, text)) return;
    switch (message.type) {
      case "session.created":
        this.#session = createdEvent(message);
        this.#token = message.resume_token;
        this.#become("open");
        this.#ask();
        this.#emit(this.#session);
        this.#settleOpen?.(undefined);
        break;
      case "session.resumed":
        this.#resumed(message);
        break;
      case "pong":
        if (this.#input.answered(message.t)) this.#ask();
        else this.#pings.answered(message.t);
        break;
      case "error":
        this.#complaint(message);
        break;
      default: {
        const event = speechEvent(message, this.#session);
        if (event?.type === "segment") this.#segment = event;
        if (event !== undefined) this.#emit(event);
      }
    }
  }

  #complaint({ code, message, fatal = false, param }: ServerMessageOf<"error">): void {
    const error = new SonantError(code ?? "internal", message, { param });
    if (fatal) this.#lastWord = error;
    else this.#emit({ type: "error", error, fatal, utterance: undefined });
  }

  #audio(tag: FrameTag, bytes: Uint8Array): void {
    const { isHeard, isGap } = this.#track.audio(tag);
    if (isGap) this.#audioLost(tag.utterance);
    if (!isHeard) return;
    this.#emit({
      type: "chunk",
      bytes,
      ...tag,
      durationMs: this.#durationMs(bytes.length),
      atMs: this.#sinceMs(),
    });
  }

  #audioLost(utterance: number | undefined): void {
    this.#emit({ type: "error", error: new SonantError("audio_lost"), fatal: false, utterance });
  }

  #durationMs(bytes: number): number | undefined {
    if (this.#segment?.format !== "pcm") return undefined;
    return 1000 * pcmSeconds(bytes, this.#segment.sampleRate, this.#segment.channels);
  }

  // ---- the end

  #fail(error: SonantError): void {
    if (this.#state === "closed") return;
    const wasOpened = this.#session !== undefined;
    this.#link?.drop(false);
    this.#link = undefined;
    this.#reconnection?.stop();
    if (wasOpened) this.#emit({ type: "error", error, fatal: true, utterance: undefined }, false);
    this.#become("closed", { error });
    this.#settleOpen?.(error);
    this.#buffer?.finish(error);
    this.#settleClose();
  }

  #over(): void {
    clearTimeout(this.#farewell);
    if (this.#state !== "closed") {
      this.#link?.drop(false);
      this.#link = undefined;
      this.#reconnection?.stop();
      this.#become("closed");
      this.#settleOpen?.(new SonantError("aborted", "The socket was closed before it was open."));
      this.#buffer?.finish();
    }
    this.#settleClose();
  }

  #become(
    state: SocketState,
    { attempt, delayMs, error }: { attempt?: number; delayMs?: number; error?: SonantError } = {},
  ): void {
    if (this.#state === state && state !== "reconnecting") return;
    this.#state = state;
    this.#emit({ type: "state", state, attempt, delayMs, error });
  }

  #emit(event: SocketEvent, isKept = true): void {
    if (isKept) this.#buffer?.push(event);
    for (const type of [event.type, "*"]) {
      for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
    }
  }

  #sinceMs(): number {
    return this.#now() - this.#openedAt;
  }
}
