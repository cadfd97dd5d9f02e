/**
 * One WebSocket of a program: the handshake in messages, the watch over time and memory, and the way a connection ends.
 * What is said in between is the live session's affair.
 */
import type { WebSocket } from "ws";
import type { Hold } from "../house/types.ts";
import { ApiError } from "../protocol/envelope.ts";
import { CLOSE_NORMAL, closeCode, ERRORS, type ErrorCode } from "../protocol/error-registry.ts";
import { parseJson, toJson } from "../protocol/json.ts";
import type { ClientMessage, SessionConfig } from "../protocol/socket-client.ts";
import { parseClientMessage } from "../protocol/socket-parse.ts";
import { type ServerMessage, socketError } from "../protocol/socket-server.ts";
import { speechError } from "../speech/errors.ts";
import type { RealtimeDeps, Sink } from "./deps.ts";
import { LiveSession } from "./live-session.ts";
import { changedWish, prepareSettings, type SessionWish } from "./settings.ts";
import type { SessionShelf } from "./shelf.ts";

/** Bytes in the socket's buffer above which the session waits, and below which it goes on. */
const FULL_BYTES = 256 * 1024;
const ROOM_BYTES = 64 * 1024;
const ROOM_POLL_MS = 20;
/** Messages that may wait for their turn before nothing more is read. */
const MAX_WAITING = 64;

/** Least time between two looks at a session that is busy. */
const IDLE_POLL_MS = 100;

const NORMAL_CLOSURES = new Set([1000, 1001, 1005]);

export interface ConnectionOptions {
  /** Dialect 2 was asked for in the handshake. */
  readonly dialect: 1 | 2;
  /** Id of the handshake, under which the connection is logged. */
  readonly requestId: string;
  /** Address of the client. */
  readonly ip: string;
}

export class Connection implements Sink {
  readonly #socket: WebSocket;
  readonly #deps: RealtimeDeps;
  readonly #shelf: SessionShelf;
  readonly #gone = new AbortController();
  readonly #logged: { readonly requestId: string; readonly ip: string };
  readonly #openedAt = performance.now();
  /** Bytes of all messages that were sent. */
  #sentBytes = 0;
  /** Id of the session that was last here. */
  #sessionId: string | undefined;
  #dialect: 1 | 2;
  #session: LiveSession | undefined;
  #idleMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Messages are handled one after the other, also where one of them has to wait. */
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** When something was last received or sent. */
  #activeAt = performance.now();
  /** We ended the connection, so its session is not wanted any more. */
  #isEnded = false;

  constructor(
    socket: WebSocket,
    deps: RealtimeDeps,
    shelf: SessionShelf,
    { dialect, requestId, ip }: ConnectionOptions,
  ) {
    this.#logged = { requestId, ip };
    this.#socket = socket;
    this.#deps = deps;
    this.#shelf = shelf;
    this.#dialect = dialect;
    this.#idleMs = deps.config.sockets.idleTimeoutMs;
    socket.on("message", (data, isBinary) => {
      if (isBinary) return this.#end("binary_message");
      this.#enqueue(data.toString());
    });
    socket.on("close", (code) => this.#closed(code));
    socket.on("error", () => {}); // a close event follows and says the same
    deps.logger?.info({ ...this.#logged, dialect }, "socket opened");
    this.#timer = setTimeout(
      () => this.#refuse("config_timeout", "Timeout waiting for session.config"),
      deps.config.sockets.configTimeoutMs,
    );
  }

  message(message: object): void {
    this.#send(Buffer.from(toJson(message)), false);
  }

  audio(bytes: Uint8Array): void {
    this.#send(bytes, true);
  }

  #send(bytes: Uint8Array, binary: boolean): void {
    this.#activeAt = performance.now();
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#sentBytes += bytes.length;
    this.#socket.send(bytes, { binary });
  }

  /** A reader that stays behind for too long is let go: its session would hold its place for ever. */
  async room(): Promise<void> {
    if (this.#socket.bufferedAmount <= FULL_BYTES) return;
    const until = performance.now() + this.#deps.config.sockets.stallTimeoutMs;
    while (this.#socket.readyState === this.#socket.OPEN) {
      if (this.#socket.bufferedAmount < ROOM_BYTES) return;
      if (performance.now() > until) return this.#stalled();
      await new Promise((resolve) => setTimeout(resolve, ROOM_POLL_MS));
    }
  }

  #enqueue(text: string): void {
    this.#waiting += 1;
    if (this.#waiting === MAX_WAITING) this.#socket.pause();
    this.#turn = this.#turn
      .then(() => this.#receive(text))
      .catch((error) => this.#broken(error))
      .then(() => {
        this.#waiting -= 1;
        if (this.#waiting === 0) this.#socket.resume();
      });
  }

  async #receive(text: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#activeAt = performance.now();
    const state = { configured: this.#session !== undefined, dialect: this.#dialect };
    const parsed = parseClientMessage(text, state, this.#deps.config.limits);
    if (!parsed.ok) {
      if (!state.configured && asksForDialect2(text)) this.#dialect = 2;
      this.message(parsed.error);
      if (parsed.error.fatal) this.#end(parsed.code, parsed.error.message);
      return;
    }
    await this.#handle(parsed.message);
  }

  async #handle(message: ClientMessage): Promise<void> {
    switch (message.type) {
      case "session.config":
        return this.#configure(message);
      case "session.update":
        return this.#update(message);
      case "session.resume":
        return this.#resume(message);
      case "session.close":
        return this.#close(CLOSE_NORMAL, "");
      case "ping":
        return this.message({ type: "pong", t: message.t } satisfies ServerMessage);
      default:
        try {
          this.#session?.receive(message);
        } catch (error) {
          const { code, message: said } = speechError(error);
          this.message(socketError(code, said));
        }
    }
  }

  async #configure(config: SessionConfig): Promise<void> {
    if (this.#session?.hasUtterance) {
      const message =
        "session.config cannot be applied while an utterance is in progress; send input.done first";
      return this.message(socketError("config_in_utterance", message));
    }
    if (this.#session === undefined) {
      clearTimeout(this.#timer); // it came; a voice may take longer to be made
      if (config.protocol === 2) this.#dialect = 2;
    }
    if (config.idle_timeout_s) this.#idleMs = config.idle_timeout_s * 1000;
    const known = this.#session;
    if (known !== undefined) {
      return this.#change(known, config, "next").catch((error) => this.#configRefused(error));
    }
    let hold: Hold | undefined;
    try {
      hold = await this.#deps.models.hold(config.model, this.#gone.signal);
      const settings = await prepareSettings(config, hold, this.#gone.signal);
      if (this.#gone.signal.aborted) return;
      const dialect = this.#dialect;
      const { resumeTtlMs } = this.#deps.config.sockets;
      const session = new LiveSession(this.#deps, hold, settings, {
        dialect,
        tagged: dialect === 2 && config.binary_framing === "tagged",
        resumable: dialect === 2 && config.resumable === true && resumeTtlMs > 0,
        tellsQueue: dialect === 2 && config.queue_events === true,
      });
      this.#adopt(session);
      if (dialect === 2) this.#created(session);
    } catch (error) {
      this.#configRefused(error);
    } finally {
      hold?.release();
    }
  }

  /** Changes what a session speaks with, its model excepted. @throws ApiError of the first rule that is broken */
  async #change(session: LiveSession, wish: SessionWish, apply: "next" | "now"): Promise<void> {
    const { id } = session.speaker;
    const { model } = wish;
    if (model !== undefined && this.#deps.models.named(model).id !== id) {
      const message = `model: a session keeps its model, ${id}; open another session for ${model}`;
      throw new ApiError("invalid_config", message, { param: "model" });
    }
    const settings = await prepareSettings(wish, session.speaker, this.#gone.signal);
    if (!this.#gone.signal.aborted) session.update(settings, apply);
  }

  #configRefused(error: unknown): void {
    if (this.#gone.signal.aborted) return;
    const { code, message, param } = speechError(error);
    const fatal = this.#session === undefined;
    const text =
      code === "overloaded" || code === "shutting_down"
        ? message
        : `Invalid session config: ${message}`;
    this.message(socketError(code, text, { fatal, param }));
    if (fatal) this.#end(code, text);
  }

  #adopt(session: LiveSession): void {
    clearTimeout(this.#timer);
    this.#session = session;
    this.#sessionId = session.id;
    if (session.options.resumable) this.#shelf.hold(session, () => this.release());
    session.attach(this);
    session.done.then(
      () => this.#session === session && this.#refuse("model_unloaded"),
      (error) => this.#broken(error),
    );
    this.#watchIdle();
  }

  #created(session: LiveSession): void {
    const { limits, sockets } = this.#deps.config;
    const { sampleRate, channels, maxLeadMs } = session.settings;
    this.message({
      type: "session.created",
      session_id: session.id,
      resume_token: session.options.resumable ? session.token : "",
      protocol: 2,
      sample_rate: sampleRate,
      channels,
      frame_ms: 1000 / session.speaker.service.model.audio.framesPerSecond,
      limits: {
        config_chars: limits.ws_config_message_chars,
        text_chars: limits.ws_text_message_chars,
        buffer_chars: limits.ws_buffer_chars,
        queued_units: limits.ws_queued_units,
        frame_bytes: limits.ws_frame_bytes,
        idle_timeout_s: this.#idleMs / 1000,
        max_lead_ms: maxLeadMs,
        resume_ttl_s: session.options.resumable ? sockets.resumeTtlMs / 1000 : 0,
      },
    } satisfies ServerMessage);
  }

  async #update(update: Extract<ClientMessage, { type: "session.update" }>): Promise<void> {
    const session = this.#session;
    const { type: _, apply, seq, ...change } = update;
    if (session === undefined || session.isRepeat(seq)) return;
    try {
      await this.#change(session, changedWish(session.settings.wish, change), apply ?? "next");
      session.heeded(seq);
    } catch (error) {
      if (this.#gone.signal.aborted) return;
      const { code, message, param } = speechError(error);
      this.message(socketError(code, `Invalid session.update: ${message}`, { param }));
    }
  }

  #resume(message: Extract<ClientMessage, { type: "session.resume" }>): void {
    this.#dialect = 2;
    const found = this.#shelf.take(message.session_id, message.resume_token);
    const result = found?.isTakenOver ? "taken_over" : "resumed";
    this.#deps.metrics.sessionResumed(found === undefined ? "unavailable" : result);
    if (found === undefined) {
      this.#refuse("resume_unavailable");
      return;
    }
    this.#adopt(found.session);
    found.session.resume(message.last_seq);
  }

  /** Another connection continues this one's session. */
  release(): void {
    this.#session?.detach();
    this.#session = undefined;
    this.#refuse("taken_over");
  }

  /** Says what is wrong and ends the connection. */
  #refuse(code: ErrorCode, message?: string): void {
    const error = socketError(code, message, { fatal: true });
    this.message(error);
    this.#end(code, error.message);
  }

  /** Ends the connection with the close code of a failure. */
  #end(code: ErrorCode, reason: string = ERRORS[code].text): void {
    this.#close(closeCode(code, this.#dialect), reason);
  }

  #close(code: number, reason: string): void {
    this.#isEnded = true;
    this.#socket.close(code, shortened(reason));
  }

  /** The session does not wait for the close to get through: its client may never read again, or come back for it. */
  #stalled(): void {
    this.#leave(true);
    this.#end("stalled_reader");
  }

  #broken(error: unknown): void {
    if (this.#gone.signal.aborted) return;
    const details = { ...this.#logged, session: this.#sessionId };
    this.#deps.logger?.error({ err: error, ...details }, "A speech socket failed");
    const said = error instanceof ApiError ? error.message : "the server failed";
    this.#refuse("internal", `Internal error: ${said}`);
  }

  /** Ends a connection that has been silent for too long while nothing was being spoken. */
  #watchIdle(): void {
    clearTimeout(this.#timer);
    const silentMs = performance.now() - this.#activeAt;
    this.#timer = setTimeout(
      () => {
        if (this.#session === undefined) return;
        const isSilent = performance.now() - this.#activeAt >= this.#idleMs;
        if (!isSilent || this.#session.isBusy) return this.#watchIdle();
        this.#refuse("idle_timeout");
      },
      Math.max(this.#idleMs - silentMs, IDLE_POLL_MS),
    );
  }

  #closed(code: number): void {
    clearTimeout(this.#timer);
    this.#gone.abort();
    const details = { dialect: this.#dialect, session: this.#sessionId, code };
    const ms = Math.round(performance.now() - this.#openedAt);
    this.#deps.logger?.info(
      { ...this.#logged, ...details, ms, bytes: this.#sentBytes },
      "socket closed",
    );
    this.#leave(!this.#isEnded && !NORMAL_CLOSURES.has(code));
  }

  /** Lets go of the session: it waits for its client where that is wanted, and ends otherwise. */
  #leave(isWanted: boolean): void {
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    session.detach();
    if (session.options.resumable && isWanted) {
      this.#shelf.put(session);
      return;
    }
    this.#shelf.forget(session);
    void session.close();
  }
}

/** Whether a configuration that was refused is one of dialect 2, which decides how the connection ends. */
function asksForDialect2(text: string): boolean {
  try {
    return (parseJson(text) as { protocol?: unknown } | null)?.protocol === 2;
  } catch {
    return false;
  }
}

/** A close frame has room for 123 bytes. */
function shortened(reason: string): string {
  let short = reason;
  while (Buffer.byteLength(short) > 123) short = [...short].slice(0, -1).join("");
  return short;
}
