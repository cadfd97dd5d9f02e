/**
 * The use case as the doors see it: one session, text in and audio out at the same time. Contracts only. HTTP, SSE,
 * WebSocket and socket.io all speak to this and to nothing behind it, so none of them has logic of its own.
 */
import type { Samples } from "../audio/pcm.ts";
import type { Model, Sampling, VoicePrompt } from "../models/types.ts";
import type { Granularity } from "../text/segment.ts";

/** Where a request came in; labels of metrics. */
export type Transport = "http" | "http_stream" | "sse" | "ws" | "batch" | "socketio";

/** Where a voice comes from; a label of metrics. */
export type VoiceKind = "preset" | "uploaded" | "inline" | "none";

/** How chunks grow (speech-api section 5); `auto` is the deploy file's choice. */
export type ChunkPolicyName = "auto" | "fixed" | "ramp" | "adaptive";

/** Everything that shapes the speech of an utterance. Validated and resolved: voices are prompts, formats are numbers. */
export interface SpeechSettings {
  readonly voice: VoicePrompt;
  readonly voiceKind: VoiceKind;
  /** -2^63 to 2^63 - 1; drawn for each utterance if absent. Negative ones are taken modulo 2^64. */
  readonly seed?: bigint | undefined;
  /** What differs from the deploy file's and the model's own sampling. */
  readonly sampling?: Partial<Sampling> | undefined;
  readonly language?: string | undefined;
  readonly granularity?: Granularity | undefined;
  /** False: numbers, markup and abbreviations are left as they are written. */
  readonly normalise?: boolean | undefined;
  /** True: `[pause 0.5s]` in the text is silence of that length, instead of the usual pause; nothing at the text's end. */
  readonly pauseTags?: boolean | undefined;
  /** Cap on the frames of each unit; reaching it is reported as truncation. */
  readonly maxFrames?: number | undefined;
  /** 0.25 to 4, pitch kept. */
  readonly speed: number;
  /** Hz and channels of the audio that leaves the session. */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  readonly chunkPolicy?: ChunkPolicyName | undefined;
  /** Frames of the first chunk; 0 switches the small first chunk off. */
  readonly firstChunkFrames?: number | undefined;
  /** Audio may be this far ahead of the listener before generation pauses; Infinity for files. */
  readonly maxLeadMs: number;
  /** Audio may come as 16-bit integers, since that is what leaves the server; it does where nothing changes the engine's. */
  readonly wantsIntegers?: boolean | undefined;
}

export interface SessionRequest extends SpeechSettings {
  readonly requestId: string;
  readonly transport: Transport;
  /** The model's name as the request wrote it, only as a label of metrics. */
  readonly model?: string | undefined;
  /** Response format, only as a label of metrics. */
  readonly format: string;
  /** Ends the session like `close`. */
  readonly signal?: AbortSignal | undefined;
}

/** What happens in a session, in order. `utterance` counts flushes of input that ended, `unit` its segments. */
export type SpeechEvent =
  | { readonly kind: "queued"; readonly place: number; readonly expectedWaitMs: number }
  | UnitStarted
  | AudioReady
  | UnitEnded
  | Cancelled
  | { readonly kind: "flow"; readonly state: "paused" | "resumed"; readonly leadMs: number }
  | UtteranceEnded;

/** Comes with the unit's first audio, which begins with the pause in front of it, or alone before an `unit-end` that has none. */
export interface UnitStarted {
  readonly kind: "unit";
  readonly utterance: number;
  readonly unit: number;
  /** Counts cancels of the session. */
  readonly generation: number;
  /** What it is spoken with: the object that was given, with what was changed since. */
  readonly settings: SpeechSettings;
  /** The text as it came in, and its place in the utterance's text (UTF-16 units). */
  readonly text: string;
  readonly textStart: number;
  readonly textEnd: number;
}

export interface AudioReady {
  readonly kind: "audio";
  readonly utterance: number;
  readonly unit: number;
  readonly generation: number;
  /** Interleaved, never empty; floats are not clipped. */
  readonly pcm: Samples;
  readonly sampleRate: number;
  readonly channels: number;
  /** Position of the first sample in the utterance's audio. */
  readonly startMs: number;
}

/** Parts of the time from the wish to speak a unit to its first audio, in milliseconds; they add up to it. */
export interface FirstAudioTiming {
  /** In line at the server's door and in the engine's. */
  readonly queueMs: number;
  /** Computing the prompt, as far as no cache held it. */
  readonly prefillMs: number;
  /** Making the frames of the first chunk, waits between them included. */
  readonly firstFrameMs: number;
  readonly codecMs: number;
}

export interface UnitEnded {
  readonly kind: "unit-end";
  readonly utterance: number;
  readonly unit: number;
  readonly generation: number;
  readonly durationMs: number;
  readonly frames: number;
  /** From the session's wish to speak it to its first audio; undefined if there was none. */
  readonly ttfaMs: number | undefined;
  /** What that time was spent on; undefined as well if there was no audio. */
  readonly timing: FirstAudioTiming | undefined;
  /** Computing time over audio time. */
  readonly rtf: number;
  readonly seed: bigint;
  readonly truncated: boolean;
  readonly cancelled: boolean;
  /** Set when the unit failed; what had been sent of it is to be discarded. */
  readonly error?: Error | undefined;
}

export interface Cancelled {
  readonly kind: "cancelled";
  readonly utterance: number;
  readonly unit: number | undefined;
  readonly generation: number;
  readonly reason: "client_cancel" | "superseded" | "overload";
  /** Audio of the utterance that had left the session. */
  readonly sentMs: number;
  /** Code points of text that will not be spoken. */
  readonly droppedChars: number;
}

export interface UtteranceEnded {
  readonly kind: "utterance-end";
  readonly utterance: number;
  /** Units that ended, well or with an error; cancelled ones do not count. */
  readonly units: number;
  readonly seed: bigint;
  readonly truncated: boolean;
  readonly durationMs: number;
  readonly usage: {
    readonly textTokens: number;
    readonly referenceFrames: number;
    readonly frames: number;
  };
  /** Set when the utterance failed as a whole. */
  readonly error?: Error | undefined;
}

export type CancelScope = "current" | "utterance" | "all";

/**
 * One session. Methods never block and may be called while events are read. Events must be read: their queue is bounded,
 * and a full one pauses generation.
 */
export interface SpeechSession {
  readonly requestId: string;
  readonly events: AsyncIterable<SpeechEvent>;
  /** Appends text to the open utterance. @throws ApiError `input_overflow`; nothing of the text is then taken */
  push(text: string): void;
  /** Speaks what is there; the utterance stays open. @throws ApiError `input_overflow` */
  flush(): void;
  /** Ends the utterance, an empty one if there is none; the next text begins another. @throws ApiError `input_overflow` */
  end(): void;
  /** Stops within one frame; a `cancelled` event follows everything that had been sent. */
  cancel(scope: CancelScope, playedMs?: number): void;
  /** What the listener has heard of an utterance, for flow control. */
  played(utterance: number, playedMs: number): void;
  /**
   * From the next utterance on, or from the next unit. Language, granularity and pause tags of an utterance stay what they
   * were when it began. @throws ApiError `invalid_value` for a rate or speed that cannot be made
   */
  update(settings: Partial<SpeechSettings>, apply: "next" | "now"): void;
  /** Something will still be told without more text: units wait or are being made, or an end has not been read. */
  readonly isBusy: boolean;
  /** An utterance has begun, and its end has not been read. */
  readonly hasUtterance: boolean;
  /** Ends everything; events end after what has been queued. Safe to call twice. */
  close(): Promise<void>;
}

/** Opens sessions and knows how the whole is doing. */
export interface SpeechService {
  readonly model: Model;
  /**
   * @throws ApiError `shutting_down`, `warming_up` or `engine_dead`; `overloaded` when the line is full (`ws` and `socketio`
   * learn that when they speak: their utterance ends with that error); `invalid_value` for a rate or speed that cannot be made
   */
  open(request: SessionRequest): SpeechSession;
  readonly state: {
    readonly stage: "loading" | "warming" | "ready" | "draining" | "failed";
    readonly reason?: string;
  };
  readonly load: {
    readonly active: number;
    readonly waiting: number;
    /** Units that may be spoken at once; 0 until an engine has been loaded. */
    readonly capacity: number;
    readonly expectedWaitMs: number;
  };
  /** No new sessions; resolves when the open ones have ended or the limit is reached. */
  drain(limitMs: number): Promise<void>;
  close(): Promise<void>;
}
