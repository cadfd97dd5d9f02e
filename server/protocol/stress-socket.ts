/**
 * Events of the load generator's door: the socket.io namespace `/stress` (`STRESS_NAMESPACE`), on the connection that pages have anyway. One
 * run at a time for the whole server; whoever is connected sees it, and who started it may stop it.
 */
import { z } from "zod";
import type { StressPlanInput } from "./stress.ts";
import type { StressReport, StressTick } from "./stress-report.ts";

export const StressStop = z.strictObject({
  id: z.string().min(1).max(64).describe("Id of the run"),
});
export const StressListen = z.strictObject({
  lane: z.int().min(0).nullable().describe("Lane to be heard; null: none"),
});
export const StressAttach = z.strictObject({
  id: z.string().min(1).max(64).describe("Id of a run that this page started before"),
});

/** Schemas of what a page may send, beside `start`, whose plan is a `StressPlan`. */
export const STRESS_EVENTS = {
  stop: StressStop,
  listen: StressListen,
  attach: StressAttach,
} as const;

/** What came of `start` and `attach`. */
export interface StressStarted {
  readonly id: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/**
 * Why something was refused. Codes are those of the registry of errors and of the door itself: `stress_busy` (another run
 * is on), `stress_disabled` (the deploy file says so), `stress_unknown` (no such run, or not of this page).
 */
export interface StressRefusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly retryable: boolean;
}

/** What is heard of a lane. */
export interface StressSoundInfo {
  readonly lane: number;
  /** Hz */
  readonly sampleRate: number;
  readonly channels: number;
  /** The first chunk of a request. */
  readonly first: boolean;
}

/** What the server's generator is and may, sent to each page that connects. */
export interface StressHello {
  readonly enabled: boolean;
  readonly maxStreams: number;
  readonly maxSeconds: number;
  readonly maxProcesses: number;
  /** The run that is on; null if none is. */
  readonly running: (StressStarted & { readonly endsBy: string }) | null;
}

/** socket.io's map of events from the page. */
export interface PageToStress {
  /** Starts a run, which belongs to this connection. */
  start: (plan: StressPlanInput, answer: (info: StressStarted | StressRefusal) => void) => void;
  /** Takes a run over on a new connection, within `STRESS_OWNER_GRACE_MS` after the old one was lost. */
  attach: (
    event: z.input<typeof StressAttach>,
    answer: (info: StressStarted | StressRefusal) => void,
  ) => void;
  /** Ends the run; its report follows as `done`. */
  stop: (event: z.input<typeof StressStop>, answer: (info: StressRefusal | null) => void) => void;
  /** Sends the sound of one lane as `pcm` from now on. */
  listen: (
    event: z.input<typeof StressListen>,
    answer: (info: StressRefusal | null) => void,
  ) => void;
}

/** socket.io's map of events to the page. */
export interface StressToPage {
  hello: (hello: StressHello) => void;
  tick: (id: string, tick: StressTick) => void;
  done: (id: string, report: StressReport) => void;
  /** 16-bit little-endian samples. */
  pcm: (info: StressSoundInfo, audio: Uint8Array) => void;
}
