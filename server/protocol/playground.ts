/**
 * Events of the playground's own door (socket.io): the same sessions as on the speech socket, several on one
 * connection, each under an id that the page chooses. Audio travels as a binary attachment of its event.
 */
import { z } from "zod";
import type { ModelStage } from "./documents.ts";
import { real, whole } from "./fields.ts";
import { checkSpellings, plainSpelling } from "./references.ts";
import { CANCEL_SCOPES, SPLIT_GRANULARITIES } from "./socket-client.ts";
import type { ServerMessageOf } from "./socket-server.ts";
import { generationFields, outputFields, referenceField, voiceFields } from "./speech-fields.ts";

const session = z.string().min(1).max(64).describe("Id of the session, unique on this connection");

const OpenBody = z
  .object({
    session,
    ...voiceFields,
    ...outputFields,
    ...referenceField,
    ...generationFields,
    split_granularity: z.enum(SPLIT_GRANULARITIES).nullish().describe("Where text is cut"),
  })
  .check(checkSpellings);

/** Opens a session. Audio always comes as chunks of pcm, whatever form is asked for later. */
export const OpenEvent = OpenBody.transform(plainSpelling);
export type OpenEvent = z.output<typeof OpenEvent>;

export const TextEvent = z.object({
  session,
  text: z.string().describe("What comes next"),
  seq: whole(0).optional().describe("A number seen before is ignored"),
});
export const FlushEvent = z.object({ session });
export const EndEvent = z.object({ session });
export const CancelEvent = z.object({
  session,
  scope: z.enum(CANCEL_SCOPES).default("all").describe("What to stop"),
  played_ms: real(0).optional().describe("How much was heard"),
});
export const PlayedEvent = z.object({
  session,
  utterance_index: whole(0).describe("The utterance being played"),
  played_ms: real(0).describe("How much of it was heard"),
});
export const WatchEvent = z.object({
  status: z.boolean().describe("Whether status ticks are wanted"),
});

/** Schemas of everything a page may send, by event name. */
export const PAGE_EVENTS = {
  open: OpenEvent,
  text: TextEvent,
  flush: FlushEvent,
  end: EndEvent,
  cancel: CancelEvent,
  played: PlayedEvent,
  watch: WatchEvent,
} as const;
export type PageEventName = keyof typeof PAGE_EVENTS;

/** What the page learns about a chunk beside its bytes. */
export interface ChunkInfo {
  readonly session: string;
  readonly utterance_index: number;
  readonly sentence_index: number;
  readonly generation: number;
  readonly seq: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly duration_ms: number;
}

export interface OpenedInfo {
  readonly session: string;
  readonly session_id: string;
  readonly sample_rate: number;
  readonly channels: number;
  readonly frame_ms: number;
}

/** Place in the line of a session that has to wait. */
export interface QueuedInfo {
  readonly session: string;
  readonly place: number;
  readonly expected_wait_ms: number;
}

export interface ErrorInfo {
  /** Null if the failure belongs to no session. */
  readonly session: string | null;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly retryable: boolean;
  readonly fatal: boolean;
}

/** One reading of the server's gauges, sent about once a second to pages that watch. */
export interface StatusTick {
  /** Unix time in milliseconds. */
  readonly at_ms: number;
  readonly state: "warming_up" | "ready" | "shutting_down" | "engine_dead";
  /** The same, finer: weights are read while it is `loading`, short texts are spoken while it is `warming`. */
  readonly stage: "loading" | "warming" | "ready" | "draining" | "failed";
  /** Why it is not ready, in a sentence, where there is more to say than the stage. */
  readonly reason?: string;
  /** Since the server process began. */
  readonly uptime_s: number;
  readonly active: number;
  readonly waiting: number;
  /** Streams that can be spoken at once in real time, as measured. */
  readonly capacity: number;
  /** What a request that came now would probably wait. */
  readonly expected_wait_ms: number;
  readonly sockets: number;
  readonly ttfa_p50_ms: number;
  readonly ttfa_p95_ms: number;
  readonly rtf_p50: number;
  readonly event_loop_p99_ms: number;
  readonly resident_bytes: number;
  /** Frames that the engine made a second, since the tick before. */
  readonly frames_per_second: number;
  /** Totals since the server began, of streams that reached their end: those, and those of them without a gap. */
  readonly streams: number;
  readonly streams_continuous: number;
  /** Chunks of them that came after the sound had run out. */
  readonly underruns: number;
  /** Least audio that a listener has to hear; 0 if there is none. */
  readonly lead_ms_min: number;
  /** Frames put off by streams that were ahead, since the engine was loaded. */
  readonly yields: number;
  /** What a tick of the engine takes with as many streams as there are now. */
  readonly tick_ms: number;
  /** Totals since the engine was loaded. */
  readonly voice_cache_hits: number;
  readonly voice_cache_misses: number;
  /** Memory of the engine: weights, sequences and cached voices together. */
  readonly engine_bytes: number;
  /** Each model that the server knows, the default one first. */
  readonly models: readonly ModelReading[];
  /** The last hour, then the last 24 hours. */
  readonly past: readonly PastWindow[];
  /** Failures since the server began, one entry a code, the latest first. */
  readonly errors: readonly FailureCount[];
}

/** One model in a status tick. */
export interface ModelReading {
  readonly id: string;
  readonly is_default: boolean;
  readonly stage: ModelStage;
  /** Why it failed or is being restarted, in a sentence. */
  readonly reason?: string;
  readonly active: number;
  readonly waiting: number;
  /** Streams that it can speak at once in real time, as measured; 0 while it is not loaded. */
  readonly capacity: number;
  /** Memory of its engine. */
  readonly engine_bytes: number;
}

/** What happened in a stretch of time up to now, counted in steps of five minutes. */
export interface PastWindow {
  readonly window_s: number;
  /** How much of it the server has been running. */
  readonly covered_s: number;
  /** Percentiles over its streams, good to 5 %; 0 if there were none. */
  readonly ttfa_p50_ms: number;
  readonly ttfa_p95_ms: number;
  readonly ttfa_p99_ms: number;
  /** Streams that reached their end, and those of them without a gap. */
  readonly streams: number;
  readonly streams_continuous: number;
  /** Requests that ended, whichever way, and those of them that the server could not finish. */
  readonly requests: number;
  readonly failed: number;
  /** Requests that were refused before they began. */
  readonly refused: number;
}

/** How often something went wrong. */
export interface FailureCount {
  readonly code: string;
  readonly count: number;
  /** Unix time in milliseconds. */
  readonly last_at_ms: number;
}

type In<T extends PageEventName> = z.input<(typeof PAGE_EVENTS)[T]>;
type Forwarded<T extends "audio.start" | "audio.done" | "audio.cancelled" | "session.done"> = Omit<
  ServerMessageOf<T>,
  "type"
> & { readonly session: string };

/** socket.io's map of events from the page. */
export interface PageToServer {
  open: (event: In<"open">, opened: (answer: OpenedInfo | ErrorInfo) => void) => void;
  text: (event: In<"text">) => void;
  flush: (event: In<"flush">) => void;
  end: (event: In<"end">) => void;
  cancel: (event: In<"cancel">) => void;
  played: (event: In<"played">) => void;
  watch: (event: In<"watch">) => void;
}

/** socket.io's map of events to the page. */
export interface ServerToPage {
  queued: (info: QueuedInfo) => void;
  segment: (info: Forwarded<"audio.start">) => void;
  chunk: (info: ChunkInfo, audio: Uint8Array) => void;
  segment_done: (info: Forwarded<"audio.done">) => void;
  cancelled: (info: Forwarded<"audio.cancelled">) => void;
  done: (info: Forwarded<"session.done">) => void;
  error: (info: ErrorInfo) => void;
  status: (tick: StatusTick) => void;
  /** A voice was uploaded, changed or deleted, on whichever server: the list is another one now. */
  voices: () => void;
}
