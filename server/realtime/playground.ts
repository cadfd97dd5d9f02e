/**
 * The playground's door (socket.io): several sessions on one connection, each under an id that the page chooses, audio
 * as pcm, and a status tick for pages that watch. The sessions are the same as everywhere.
 */
import { randomUUID } from "node:crypto";
import type { Server as HttpServer, IncomingMessage } from "node:http";
import { Server, type Socket } from "socket.io";
import { type ServerOptions, WebSocketServer } from "ws";
import { toPcm16 } from "../audio/pcm.ts";
import type { Hold } from "../house/types.ts";
import { ApiError, validate } from "../protocol/envelope.ts";
import {
  type ErrorInfo,
  type OpenedInfo,
  PAGE_EVENTS,
  type PageEventName,
  type PageToServer,
  type ServerToPage,
} from "../protocol/playground.ts";
import { speechError } from "../speech/errors.ts";
import type { SpeechEvent, SpeechSession, SpeechSettings } from "../speech/types.ts";
import type { RealtimeDeps } from "./deps.ts";
import { firstAudio } from "./first-audio.ts";
import { waitingPackets } from "./page-packets.ts";
import { prepareSettings } from "./settings.ts";
import { StatusGauge } from "./status-tick.ts";
import { StressDoor } from "./stress.ts";

const TICK_MS = 1000;
const WATCHERS = "watchers";
/** Sessions that one page may have open. */
const MAX_SESSIONS = 64;

/** Packets that may wait for a page to read, and how often it is looked whether they still do. */
const MAX_WAITING = 32;
const ROOM_POLL_MS = 20;

type Page = Socket<PageToServer, ServerToPage>;
type TextMessage = ReturnType<(typeof PAGE_EVENTS)["text"]["parse"]>;

interface PageSession {
  readonly speech: SpeechSession;
  readonly settings: SpeechSettings;
  /** Number of the last text that was taken. */
  lastSeq: number;
}

/** The sessions of one page. */
class PageDoor {
  readonly #page: Page;
  readonly #deps: RealtimeDeps;
  readonly #sessions = new Map<string, PageSession>();
  readonly #opening = new Set<string>();
  readonly #gone = new AbortController();

  constructor(page: Page, deps: RealtimeDeps) {
    this.#page = page;
    this.#deps = deps;
    this.#on("open", (event, answer) => this.#open(event, answer));
    this.#on("text", (event) => this.#text(event));
    this.#on("flush", ({ session }) => this.#speech(session)?.flush());
    this.#on("end", ({ session }) => this.#speech(session)?.end());
    this.#on("cancel", ({ session, scope, played_ms }) =>
      this.#speech(session)?.cancel(scope, played_ms),
    );
    this.#on("played", ({ session, utterance_index, played_ms }) =>
      this.#speech(session)?.played(utterance_index, played_ms),
    );
    this.#on("watch", ({ status }) => (status ? page.join(WATCHERS) : page.leave(WATCHERS)));
    page.on("disconnect", () => {
      this.#gone.abort();
      for (const { speech } of this.#sessions.values()) void speech.close();
      this.#sessions.clear();
    });
  }

  #text({ session, text, seq }: TextMessage): void {
    const open = this.#sessions.get(session);
    if (open === undefined || (seq !== undefined && seq <= open.lastSeq)) return;
    open.speech.push(text);
    open.lastSeq = seq ?? open.lastSeq;
  }

  #speech(session: string): SpeechSession | undefined {
    return this.#sessions.get(session)?.speech;
  }

  /** Handles an event that has been checked; what goes wrong is told to the page. */
  #on<T extends PageEventName>(
    name: T,
    handle: (
      event: ReturnType<(typeof PAGE_EVENTS)[T]["parse"]>,
      answer: (info: OpenedInfo | ErrorInfo) => void,
    ) => unknown,
  ): void {
    const listener = async (raw: unknown, answer: unknown) => {
      const reply = typeof answer === "function" ? (answer as (info: unknown) => void) : () => {};
      const named = (raw as { session?: unknown } | null | undefined)?.session;
      const session = typeof named === "string" ? named : null;
      try {
        const event = validate(PAGE_EVENTS[name], raw) as ReturnType<
          (typeof PAGE_EVENTS)[T]["parse"]
        >;
        await handle(event, reply);
      } catch (error) {
        if (this.#gone.signal.aborted) return;
        const info = errorInfo(session, error, name === "open");
        if (name === "open") reply(info);
        else this.#page.emit("error", info);
      }
    };
    this.#page.on(name, listener as never);
  }

  async #open(
    event: ReturnType<(typeof PAGE_EVENTS)["open"]["parse"]>,
    answer: (info: OpenedInfo | ErrorInfo) => void,
  ): Promise<void> {
    const { session: id, response_format: _, ...wish } = event;
    if (this.#sessions.has(id) || this.#opening.has(id)) {
      throw new TypeError(`The session '${id}' is open already.`);
    }
    if (this.#sessions.size + this.#opening.size >= MAX_SESSIONS) {
      throw new TypeError(`A page may have ${MAX_SESSIONS} sessions open.`);
    }
    this.#opening.add(id);
    let hold: Hold | undefined;
    try {
      hold = await this.#deps.models.hold(wish.model, this.#gone.signal);
      const settings = await prepareSettings(
        { ...wish, response_format: "pcm", stream_audio: true },
        hold,
        this.#gone.signal,
      );
      if (this.#gone.signal.aborted) return;
      const speech = hold.service.open({
        ...settings,
        requestId: `page_${this.#page.id}_${id}`,
        transport: "socketio",
        model: settings.wish.model,
      });
      const opened = { speech, settings, lastSeq: -1 };
      this.#sessions.set(id, opened);
      answer({
        session: id,
        session_id: speech.requestId,
        sample_rate: settings.sampleRate,
        channels: settings.channels,
        frame_ms: 1000 / hold.service.model.audio.framesPerSecond,
      });
      void this.#pump(id, opened);
    } finally {
      hold?.release();
      this.#opening.delete(id);
    }
  }

  async #pump(id: string, { speech, settings }: PageSession): Promise<void> {
    const forward = new Forward(this.#page, id, settings);
    try {
      for await (const event of speech.events) {
        await this.#room();
        if (this.#gone.signal.aborted) return;
        forward.send(event);
        // One utterance is a page's session; the next one opens its own.
        if (event.kind === "utterance-end") return;
      }
      if (this.#gone.signal.aborted) return;
      this.#page.emit("error", errorInfo(id, new ApiError("model_unloaded"), true));
    } catch (error) {
      this.#page.emit("error", errorInfo(id, error, true));
    } finally {
      this.#sessions.delete(id);
      await speech.close();
    }
  }

  /** Waits while the page does not read. One that stays behind for too long is let go. */
  async #room(): Promise<void> {
    const until = performance.now() + this.#deps.config.sockets.stallTimeoutMs;
    while (this.#page.connected && waitingPackets(this.#page) > MAX_WAITING) {
      if (performance.now() > until) this.#page.disconnect(true);
      await new Promise((resolve) => setTimeout(resolve, ROOM_POLL_MS));
    }
  }
}

/** Puts the events of one session into the page's words. */
class Forward {
  readonly #page: Page;
  readonly #session: string;
  readonly #settings: SpeechSettings;
  #seq = 0;
  #bytes = 0;
  #isFirst = true;

  constructor(page: Page, session: string, settings: SpeechSettings) {
    this.#page = page;
    this.#session = session;
    this.#settings = settings;
  }

  send(event: SpeechEvent): void {
    const page = this.#page;
    const session = this.#session;
    const { sampleRate, channels } = this.#settings;
    switch (event.kind) {
      case "queued":
        page.emit("queued", {
          session,
          place: event.place,
          expected_wait_ms: event.expectedWaitMs,
        });
        return;
      case "unit":
        this.#bytes = 0;
        this.#isFirst = true;
        page.emit("segment", {
          session,
          utterance_index: event.utterance,
          sentence_index: event.unit,
          sentence_text: event.text,
          format: "pcm",
          sample_rate: sampleRate,
          channels,
          generation: event.generation,
          text_start: event.textStart,
          text_end: event.textEnd,
        });
        return;
      case "audio": {
        const audio = toPcm16(event.pcm);
        this.#bytes += audio.length;
        const info = {
          session,
          utterance_index: event.utterance,
          sentence_index: event.unit,
          generation: event.generation,
          seq: this.#seq++,
          first: this.#isFirst,
          last: false,
          duration_ms: (1000 * event.pcm.length) / event.channels / event.sampleRate,
        };
        this.#isFirst = false;
        page.emit("chunk", info, audio);
        return;
      }
      case "unit-end":
        if (event.error !== undefined) page.emit("error", errorInfo(session, event.error, false));
        page.emit("segment_done", {
          session,
          utterance_index: event.utterance,
          sentence_index: event.unit,
          total_bytes: this.#bytes,
          error: event.error !== undefined,
          duration_ms: event.durationMs,
          ...firstAudio(event),
          rtf: event.rtf,
          // Through a double; seeds that a page chooses are small enough to survive it.
          seed: Number(event.seed),
          cancelled: event.cancelled,
        });
        return;
      case "cancelled":
        page.emit("cancelled", {
          session,
          utterance_index: event.utterance,
          sentence_index: event.unit ?? 0,
          reason: event.reason,
          sent_bytes: this.#bytes,
          sent_ms: event.sentMs,
          dropped_chars: event.droppedChars,
        });
        return;
      case "utterance-end":
        if (event.error !== undefined) page.emit("error", errorInfo(session, event.error, true));
        page.emit("done", {
          session,
          utterance_index: event.utterance,
          total_sentences: event.units,
        });
        return;
      case "flow":
    }
  }
}

function errorInfo(session: string | null, error: unknown, fatal: boolean): ErrorInfo {
  if (error instanceof TypeError) {
    const hint = "Choose another id, or wait until a session has ended.";
    return {
      session,
      code: "invalid_message",
      message: error.message,
      hint,
      retryable: false,
      fatal,
    };
  }
  const { code, message, entry } = speechError(error);
  return { session, code, message, hint: entry.next, retryable: entry.retryable, fatal };
}

/** Who may come in; both fail with an ApiError for those who may not. */
export interface PageAdmission {
  /** Looks at where a handshake comes from; its key follows later. */
  arrive(request: IncomingMessage): void;
  /** Looks at the key of a connection: of the handshake's header, else what the page says first. */
  enter(request: IncomingMessage, key: string | undefined): Promise<void>;
}

/** Time for a page to say its key, in milliseconds; longer than any network needs. */
const GREETING_MS = 10_000;

export interface PageDoors {
  readonly stress: StressDoor;
  close(): Promise<void>;
}

/** What the addresses of this door begin with. */
export const PAGE_PATH = "/socket.io/";

/**
 * Opens the door. Servers of a cluster share their broadcasts and nothing else: a page's sessions live and end with its
 * connection, so a page that connects again may come to any of them. Asking by plain requests in between would have to
 * come to the same one each time, so pages of a cluster have the websocket alone.
 */
export function attachPlayground(
  server: HttpServer,
  deps: RealtimeDeps,
  admission: PageAdmission,
): PageDoors {
  const { cluster } = deps;
  const io = new Server<PageToServer, ServerToPage>(server, {
    path: PAGE_PATH,
    serveClient: false,
    // Other paths are the speech socket's, which refuses what nobody serves.
    destroyUpgrade: false,
    ...(cluster === undefined
      ? {}
      : { adapter: cluster.pageAdapter(), transports: ["websocket" as const] }),
    maxHttpBufferSize: deps.config.limits.ws_frame_bytes,
    perMessageDeflate: false,
    // As on the speech socket: two beats without an answer end a connection.
    pingInterval: deps.config.sockets.heartbeatMs,
    pingTimeout: deps.config.sockets.heartbeatMs,
    // Who has not answered a beat does not answer a farewell either, for which a socket would wait half a minute.
    wsEngine: class extends WebSocketServer {
      constructor(given: ServerOptions) {
        const options: ServerOptions & { closeTimeout: number } = {
          ...given,
          closeTimeout: deps.config.sockets.heartbeatMs,
        };
        super(options);
      }
    },
    connectTimeout: GREETING_MS,
    allowRequest: (request, decide) => {
      try {
        admission.arrive(request);
        const isFull = io.engine.clientsCount >= deps.config.sockets.maxSessions;
        if (isFull) throw new ApiError("too_many_sessions");
        decide(null, true);
      } catch (error) {
        const { code, message } = speechError(error);
        deps.metrics.rejected(code);
        decide(message, false);
      }
    },
  });
  const admit: Parameters<Server["use"]>[0] = async ({ request, handshake }, decide) => {
    const { key } = handshake.auth as { readonly key?: unknown };
    try {
      await admission.enter(request, typeof key === "string" && key !== "" ? key : undefined);
    } catch (error) {
      const { code, message } = speechError(error);
      deps.metrics.rejected(code);
      // The page is told the code, so that it can ask its visitor for a key.
      decide(Object.assign(new Error(message), { data: { code } }));
      return;
    }
    decide();
  };
  io.use(admit);
  const stress = new StressDoor(io, server, deps, admit);
  /** Room of all pages of this server; the others have their own. */
  const here = `server ${randomUUID()}`;
  io.on("connection", (page) => {
    void page.join(here);
    new PageDoor(page, deps);
  });
  const unwatch = deps.models.onVoices(() => {
    // Own pages hear of it whether or not the other servers can be told.
    io.local.emit("voices");
    if (cluster !== undefined) io.except(here).emit("voices");
  });
  const gauge = new StatusGauge(deps);
  const ticks = setInterval(() => {
    if (!io.sockets.adapter.rooms.has(WATCHERS)) return;
    // The gauges are those of this server.
    io.local.to(WATCHERS).emit("status", gauge.read(io.engine.clientsCount));
  }, TICK_MS);
  ticks.unref();
  return {
    stress,
    async close() {
      clearInterval(ticks);
      await stress.close();
      unwatch();
      // Not those of the other servers.
      io.local.disconnectSockets(true);
      io.engine.close();
      io.of("/").adapter.close();
    },
  };
}
