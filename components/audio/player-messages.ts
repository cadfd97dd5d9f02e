/** What the page and the audio thread say to each other about playing; the other end is public/worklets/player.js. */

export interface OpenMessage {
  readonly type: "open";
  readonly stream: number;
  readonly channels: 1 | 2;
  readonly sampleRate: number;
  /** Frame at which playing starts. */
  readonly from: number;
  readonly gain: number;
  readonly paused: boolean;
  readonly cushionSeconds: number;
  readonly expectedSeconds: number | undefined;
  /** The same take goes on elsewhere. */
  readonly continues: boolean;
}

export type ToWorklet =
  | OpenMessage
  | {
      readonly type: "data";
      readonly stream: number;
      readonly samples: Int16Array | Float32Array;
      /** Whether it has only just arrived. */
      readonly live: boolean;
    }
  | { readonly type: "finish"; readonly stream: number; readonly frames: number }
  | { readonly type: "pause" | "resume" | "stop"; readonly stream: number }
  | { readonly type: "tap"; readonly on: boolean };

/** Something happened at frame `at` of the output, before frame `position` of the stream. */
export interface PlayoutEvent {
  readonly type: "first" | "playing" | "waiting" | "underrun" | "paused" | "drained" | "stopped";
  readonly stream: number;
  readonly at: number;
  readonly position: number;
  /** Of an underrun: output frames of silence. */
  readonly frames?: number;
  /** Of waiting: seconds of sound that must be there, and how many come in a second. */
  readonly wanted?: number;
  readonly rate?: number;
  /** Wall clock when it was reported. */
  readonly wallMs: number;
}

export interface Report {
  readonly type: "report";
  readonly stream: number;
  readonly state: "idle" | "filling" | "playing" | "paused" | "drained";
  readonly at: number;
  readonly position: number;
  readonly end: number;
  readonly cushionSeconds: number;
  readonly arrivalRate: number;
  /** Frames of the output that were never asked for, since the context started. */
  readonly skippedFrames: number;
  readonly peak: readonly [number, number];
  readonly rms: readonly [number, number];
}

/** A copy of what left the worklet from output frame `at` on. */
export interface TapBlock {
  readonly type: "tap";
  readonly at: number;
  readonly left: Float32Array;
  readonly right: Float32Array;
}

export type FromWorklet =
  | PlayoutEvent
  | Report
  | TapBlock
  | { readonly type: "overflow"; readonly stream: number };
