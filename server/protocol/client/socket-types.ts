/** What a speech socket is made of, takes and tells. Contracts only. */
import type { AudioFormat } from "../formats.ts";
import type { SessionConfigInput } from "../socket-client.ts";
import type { ServerMessageOf, SessionLimits } from "../socket-server.ts";
import type { SonantError } from "./error.ts";

/** What is used of a WebSocket: those of browsers, of Node and of the `ws` package all have it. */
export interface WebSocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** Listeners; of no type, since each platform has its own. */
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
}

export type WebSocketConstructor = new (
  url: string,
  protocols?: string[],
  options?: { headers: Record<string, string> },
) => WebSocketLike;

/** One message in either direction, for a log. */
export interface FrameLogEntry {
  readonly direction: "in" | "out";
  /** Type of the message; `audio` for sound. */
  readonly type: string;
  /** Number of a counted message or of a piece of sound. */
  readonly seq: number | undefined;
  readonly bytes: number;
  /** When, in milliseconds since the socket was opened. */
  readonly atMs: number;
  /** The message as it was written; undefined for sound. */
  readonly text: string | undefined;
}

export interface ReconnectOptions {
  /** Attempts in a row before it is given up. */
  readonly attempts?: number;
  /** Wait before the first attempt, in milliseconds; doubled for each one after it, with a random part. */
  readonly baseMs?: number;
  readonly maxMs?: number;
}

export interface SpeechSocketOptions {
  /** As for SpeechClient: http or https; empty for the page's own origin. */
  readonly baseUrl: string;
  /**
   * Sent in the handshake: as a header by a `WebSocket` that was passed, as a subprotocol by the platform's own, which sets
   * no headers.
   */
  readonly apiKey?: string | undefined;
  /** Used instead of the platform's own; Node 20 has none, so pass that of the `ws` package. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /** False: a lost connection ends the session. */
  readonly reconnect?: ReconnectOptions | false | undefined;
  /**
   * Who tells the server what has been heard: `consumed` counts what is taken from `events()`, `manual` leaves it to calls
   * of `played`, as a player makes them.
   */
  readonly acks?: "consumed" | "manual" | undefined;
  /** A ping goes out this often, in milliseconds, and a connection that is silent for two of them counts as lost; 0: never. */
  readonly keepAliveMs?: number | undefined;
  /** Sound that may wait in `events()` before the session fails, in bytes. */
  readonly maxBufferedBytes?: number | undefined;
  /** Hears of every message. */
  readonly onFrame?: ((entry: FrameLogEntry) => void) | undefined;
  /** Milliseconds on a clock that does not jump. */
  readonly now?: (() => number) | undefined;
  /** Between 0 and 1, for the random part of waits. */
  readonly random?: (() => number) | undefined;
}

/** Options of the session; the framing and the protocol's version are the socket's affair. */
export type SocketWish = Omit<SessionConfigInput, "type" | "protocol" | "binary_framing">;

/** Options that may be changed on the way. */
export type SocketChange = Omit<SocketWish, "resumable" | "idle_timeout_s" | "queue_events">;

export type SocketState = "idle" | "connecting" | "open" | "reconnecting" | "closed";

export interface CreatedEvent {
  readonly type: "created";
  readonly sessionId: string;
  /** Hz */
  readonly sampleRate: number;
  readonly channels: number;
  /** Sound of one frame, in milliseconds. */
  readonly frameMs: number;
  readonly limits: SessionLimits;
  /** Whether a lost connection can be resumed. */
  readonly isResumable: boolean;
}

export interface QueuedEvent {
  readonly type: "queued";
  /** From 1. */
  readonly place: number;
  readonly expectedWaitMs: number;
}

export interface SegmentEvent {
  readonly type: "segment";
  readonly utterance: number;
  readonly sentence: number;
  readonly generation: number;
  readonly text: string;
  /** Place of the text in the utterance's, in UTF-16 units. */
  readonly textStart: number | undefined;
  readonly textEnd: number | undefined;
  readonly format: AudioFormat;
  readonly sampleRate: number;
  readonly channels: number;
  readonly requestId: string | undefined;
}

export interface ChunkEvent {
  readonly type: "chunk";
  /** 16-bit pcm where the session streams pcm, else a whole file; empty where it only tells that a segment has ended. */
  readonly bytes: Uint8Array;
  readonly utterance: number;
  readonly sentence: number;
  readonly generation: number;
  /** Counts the pieces of the session from 0. */
  readonly seq: number;
  /** First and last piece of its segment. */
  readonly first: boolean;
  readonly last: boolean;
  /** Sent a second time, since the first one may not have arrived. */
  readonly replayed: boolean;
  /** Length of its sound, in milliseconds; undefined for files. */
  readonly durationMs: number | undefined;
  /** When it arrived, in milliseconds since the socket was opened. */
  readonly atMs: number;
}

export interface SegmentDoneEvent {
  readonly type: "segment_done";
  readonly utterance: number;
  readonly sentence: number;
  readonly bytes: number;
  readonly failed: boolean;
  readonly cancelled: boolean;
  readonly durationMs: number | undefined;
  readonly ttfaMs: number | undefined;
  /** What that time was spent on, in milliseconds. */
  readonly timing:
    | {
        readonly queueMs: number;
        readonly prefillMs: number;
        readonly firstFrameMs: number;
        readonly codecMs: number;
      }
    | undefined;
  readonly rtf: number | undefined;
  /** In decimal: it may be larger than a number can hold exactly. */
  readonly seed: string | undefined;
}

export interface CancelledEvent {
  readonly type: "cancelled";
  readonly utterance: number;
  readonly sentence: number;
  readonly reason: ServerMessageOf<"audio.cancelled">["reason"];
  readonly sentMs: number;
  readonly droppedChars: number;
}

export interface DoneEvent {
  readonly type: "done";
  readonly utterance: number;
  /** Segments that were completed. */
  readonly segments: number;
}

export interface FlowEvent {
  readonly type: "flow";
  readonly state: "paused" | "resumed";
  /** Sound sent and not played. */
  readonly leadMs: number;
}

export interface ErrorEvent {
  readonly type: "error";
  readonly error: SonantError;
  /** Whether the session is over. `events()` then ends with the error itself. */
  readonly fatal: boolean;
  /** The utterance that failed, if it was one. */
  readonly utterance: number | undefined;
}

/** The connection changes its state. */
export interface StateEvent {
  readonly type: "state";
  readonly state: SocketState;
  /** While reconnecting: which attempt comes next, from 1, and in how many milliseconds. */
  readonly attempt: number | undefined;
  readonly delayMs: number | undefined;
  /** What ended the connection, if something did. */
  readonly error: SonantError | undefined;
}

export type SocketEvent =
  | CreatedEvent
  | QueuedEvent
  | SegmentEvent
  | ChunkEvent
  | SegmentDoneEvent
  | CancelledEvent
  | DoneEvent
  | FlowEvent
  | ErrorEvent
  | StateEvent;

export type SocketEventOf<T extends SocketEvent["type"]> = Extract<SocketEvent, { type: T }>;
