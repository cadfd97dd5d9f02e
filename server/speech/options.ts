/** What the speech server takes from the configuration; the resolved configuration as a whole fits. Contracts only. */
import type { Granularity } from "../text/segment.ts";

export interface SpeechConfig {
  readonly engine: {
    /** Units generated side by side; 0: as many as the engine says of itself. */
    readonly maxSequences: number;
    /** Units that are paused for their readers and give their slots to others meanwhile; none if absent. */
    readonly maxParked?: number;
    /** Utterances that may wait for their first unit. */
    readonly maxQueue: number;
    /** Longest wait with which an utterance is let into that line; no limit if absent. */
    readonly maxQueueWaitMs?: number;
    /** Share of real time that all listeners may need together; 0 or absent: only `maxSequences` counts. */
    readonly realTimeShare?: number;
  };
  /** Sampling of requests that do not say; what is undefined follows the model. */
  readonly sampling: {
    readonly textTemperature: number | undefined;
    readonly textTopP: number | undefined;
    readonly textTopK: number | undefined;
    readonly audioTemperature: number | undefined;
    readonly audioTopP: number | undefined;
    readonly audioTopK: number | undefined;
    readonly audioRepetitionPenalty: number | undefined;
    readonly maxFrames: number | undefined;
    readonly seed: number | undefined;
  };
  readonly chunks: {
    readonly policy: "fixed" | "ramp" | "adaptive";
    readonly steadyFrames: number;
    /** 0: as the load allows. */
    readonly firstFrames: number;
    readonly ramp: readonly number[];
    readonly minFrames: number;
    readonly marginMs: number;
    readonly rampDivisor: number;
    readonly deltaMin: number;
  };
  readonly sockets: { readonly defaultSplit: Granularity };
  readonly voices: { readonly default: string | undefined };
  readonly limits: {
    /** Code points that may wait in a session. */
    readonly ws_buffer_chars: number;
    /** Flushes and utterances that may wait in a session. */
    readonly ws_queued_units: number;
  };
}
