/**
 * What the speech server reports about its requests. Contracts, and the one translation of labels. An utterance is a
 * request; sessions report it, so that no door can forget to.
 */
import type { Transport, VoiceKind } from "./types.ts";

export type Outcome = "stop" | "length" | "cancelled" | "closed" | "error" | "engine_dead";

export interface RequestInfo {
  readonly model: string | undefined;
  readonly voiceKind: "preset" | "uploaded" | "inline";
  readonly transport: "http" | "http_stream" | "sse" | "ws" | "socket_io" | "batch";
  readonly format: string;
  readonly textChars: number;
}

/** The course of one utterance. */
export interface RequestReport {
  textAdded(codePoints: number): void;
  admitted(): void;
  /** `samples` of one channel at the model's own rate. */
  chunk(chunk: { readonly frames: number; readonly samples: number }): void;
  cancelled(latencySeconds: number): void;
  finished(end: {
    readonly outcome: Outcome;
    readonly generationSeconds: number;
    readonly truncated: boolean;
  }): void;
}

export interface SpeechMetrics {
  requestStarted(info: RequestInfo): RequestReport;
  rejected(reason: string): void;
}

export const NO_REPORT: RequestReport = {
  textAdded() {},
  admitted() {},
  chunk() {},
  cancelled() {},
  finished() {},
};

/** For those who do not measure. */
export const NO_METRICS: SpeechMetrics = { requestStarted: () => NO_REPORT, rejected() {} };

/** The label of a transport. */
export function transportLabel(transport: Transport): RequestInfo["transport"] {
  return transport === "socketio" ? "socket_io" : transport;
}

/** The label of a voice; speech without a voice counts with the shipped ones. */
export function voiceLabel(kind: VoiceKind): RequestInfo["voiceKind"] {
  return kind === "none" ? "preset" : kind;
}
