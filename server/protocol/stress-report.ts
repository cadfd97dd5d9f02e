/**
 * What a load test tells: twice a second while it runs, and when it has ended. Types only. Every value is plain JSON: null
 * stands for what could not be measured.
 */
import type { StressPlan } from "./stress.ts";

/** Values at shares of a distribution; null of no values. */
export interface StressPercentiles {
  readonly count: number;
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p75: number | null;
  readonly p90: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  /** 99.9 % */
  readonly p999: number | null;
  readonly max: number | null;
}

/** Names of everything that is kept as a distribution. */
export const STRESS_MEASURES = ["ttfpMs", "ttfpCorrectedMs", "totalMs", "rtf", "gapMs"] as const;
/**
 * `ttfpMs`: from the request to the first sound; in an open loop from the moment at which the request was due, so that a
 * generator or a server that falls behind is not left out. `ttfpCorrectedMs`: of closed loops, with the requests that a
 * stalled stream would have made meanwhile (coordinated omission); equal to `ttfpMs` in open loops. `totalMs`: from the same
 * moment to the last byte. `rtf`: time to the last byte over the length of the sound. `gapMs`: between one chunk and the
 * next.
 */
export type StressMeasure = (typeof STRESS_MEASURES)[number];

/** A distribution that can be merged with others. */
export interface StressHistogram {
  /** HdrHistogram V2, base64, uncompressed: a form that other HDR tools read; empty if there are no values. */
  readonly data: string;
  /** The integers in it are values times this. */
  readonly scale: number;
}

/** What was counted over a stretch of the run. */
export interface StressCounts {
  /** Requests that were begun. */
  readonly begun: number;
  /** Requests that were spoken to their end. */
  readonly spoken: number;
  /** Requests that the server declined because it had too much to do. Data and no failure. */
  readonly refused: number;
  /** Requests that ended in any other way. */
  readonly failed: number;
  /** Requests under way that were cut off by the end of the run. */
  readonly stopped: number;
  /** How often each refusal and failure was met, by code. */
  readonly codes: Readonly<Record<string, number>>;
  /** Spoken requests without a gap above 100 ms, and without any. */
  readonly continuous: number;
  readonly continuousStrict: number;
  /** Chunks that came after the sound before them had been played. */
  readonly underruns: number;
  /** Largest shortfall of a player without a cushion, in ms. */
  readonly longestShortfallMs: number;
  /** Sound that arrived, in seconds. */
  readonly audioSeconds: number;
}

/** What one stream of the load does at the moment. */
export interface StressLane {
  /** From 0; lanes keep their number while the load grows and shrinks. */
  readonly id: number;
  /** `wait`: between two requests, or until Retry-After is over; `ask`: no sound has come yet. */
  readonly state: "wait" | "ask" | "speak" | "failed" | "refused";
  /** Sound in hand of a player that began with the first chunk; 0: it has run dry. */
  readonly leadMs: number;
}

/** How the generator itself is doing: figures of one that is late are not the server's. */
export interface GeneratorHealth {
  /** Largest lateness of its event loop since the tick before, in ms. */
  readonly lagMs: number;
  /** Largest lateness at which a request was begun since the tick before, in ms. */
  readonly behindMs: number;
  /** Processes that make load at the moment. */
  readonly processes: number;
}

/** The server as it tells of itself. */
export interface StressServerFigures {
  readonly active: number;
  readonly queue: number;
  readonly capacity: number;
  /** Cores that its process keeps busy; null until two readings are there. */
  readonly cores: number | null;
  readonly residentMb: number | null;
}

/** The state of a run, two a second. Percentiles and shares are those of the time since the tick before. */
export interface StressTick {
  /** Seconds since the run began. */
  readonly at: number;
  /** Which step it belongs to, from 0. */
  readonly step: number;
  /** `probe`: the seeded request is spoken alone; `warmup`; `load`; `drain`: no new requests. */
  readonly phase: "probe" | "warmup" | "load" | "drain";
  /** Requests at once that the plan wants; of `poisson` the requests a second. */
  readonly wanted: number;
  /** Requests under way. */
  readonly active: number;
  readonly ttfpMs: StressPercentiles;
  readonly rtf: StressPercentiles;
  /** Seconds of sound that arrived in a second. */
  readonly timesRealTime: number;
  /** Share of the streams that ended without a gap above 100 ms, and without any; null if none ended. */
  readonly continuity: number | null;
  readonly continuityStrict: number | null;
  readonly refused: number;
  readonly failed: number;
  readonly codes: Readonly<Record<string, number>>;
  /** Since the run began, without the warm-up. */
  readonly totals: StressCounts;
  /** At most `MAX_TICK_LANES`, by number. */
  readonly lanes: readonly StressLane[];
  /** Lanes that are left out of the list. */
  readonly lanesLeftOut: number;
  readonly generator: GeneratorHealth;
  /** Null if the server does not tell. */
  readonly server: StressServerFigures | null;
  /** The probe so far; null if the plan has none. */
  readonly probe: StressProbe | null;
}

/** A tick as reports keep it. */
export type StressTickRecord = Omit<StressTick, "lanes" | "lanesLeftOut" | "probe">;

/** One stretch of equal load. Requests count where they were begun, sound where it arrived. */
export interface StressStep {
  readonly index: number;
  /** Requests at once; of `poisson` the requests a second; of `ramp`, cut into ten, the largest of the part. */
  readonly wanted: number;
  /** For which new requests were begun. */
  readonly seconds: number;
  readonly counts: StressCounts;
  readonly percentiles: Readonly<Record<StressMeasure, StressPercentiles>>;
  readonly timesRealTime: number;
  readonly requestsPerSecond: number;
  /** Null if no stream ended. */
  readonly continuity: number | null;
  readonly continuityStrict: number | null;
  /** Whether the limits of the plan were met; null if it has none or nothing ended. */
  readonly met: boolean | null;
  /** Which limit was crossed and by how much, in a sentence; empty if none was. */
  readonly verdict: string;
  /** The server at the end of the step; null if it does not tell. */
  readonly server: StressServerFigures | null;
}

/** The largest load that met the limits. */
export interface StressKnee {
  /** Null if not even the smallest one did. */
  readonly concurrency: number | null;
  /** The smallest load that was tried and did not; null if every one did. */
  readonly above: number | null;
  /** In a sentence. */
  readonly reason: string;
}

/** One seeded request, alone and among the load. */
export interface StressProbe {
  /** How often it was spoken among the load to its end, and how many of those were equal to the byte. */
  readonly runs: number;
  readonly equal: number;
  /** Repetitions that were refused or failed, which say nothing of equality. */
  readonly unanswered: number;
  /** Of the samples spoken alone; null if they never came, or where the browser has no hash (pages without TLS). */
  readonly sha256: string | null;
  readonly seed: number;
  readonly text: string;
  readonly voice: string | null;
  /** The first repetition that differed; null if none did. */
  readonly firstDifference: StressDifference | null;
}

export interface StressDifference {
  /** Which repetition, from 1. */
  readonly run: number;
  /** Byte at which the samples part. */
  readonly byte: number;
  /** Bytes of the sound alone, and of this one. */
  readonly expectedBytes: number;
  readonly bytes: number;
  readonly sha256: string | null;
}

export interface StressServerFacts {
  readonly version: string;
  readonly commit: string | null;
  readonly model: string;
  readonly device: string;
  /** Instruction set and threads, or the GPU, for people; null until an engine is loaded. */
  readonly engine: string | null;
  readonly precision: string | null;
  readonly configSha256: string;
}

export interface StressGeneratorFacts {
  /** `server`: processes beside the server, started by it; `command`: processes of the command line. */
  readonly kind: "browser" | "server" | "command";
  readonly processes: number;
  readonly cores: number;
  /** The user agent of a browser, else the processor's name. */
  readonly agent: string;
}

export interface StressEnd {
  /** `finished`: the plan was carried out; `stopped`: by hand; `limit`: a limit or a cost guard ended it; `failed`. */
  readonly kind: "finished" | "stopped" | "limit" | "failed";
  /** In a sentence. */
  readonly reason: string;
}

export const STRESS_REPORT_VERSION = 1;

/** Everything that a run came to. Partial after a stop, and valid all the same. */
export interface StressReport {
  readonly version: typeof STRESS_REPORT_VERSION;
  readonly id: string;
  readonly plan: StressPlan;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Null if the server never answered. */
  readonly server: StressServerFacts | null;
  readonly generator: StressGeneratorFacts;
  readonly end: StressEnd;
  /** From the first request of the load to the last answer. */
  readonly seconds: number;
  readonly totals: StressCounts;
  readonly timesRealTime: number;
  readonly requestsPerSecond: number;
  readonly continuity: number | null;
  readonly continuityStrict: number | null;
  readonly percentiles: Readonly<Record<StressMeasure, StressPercentiles>>;
  readonly histograms: Readonly<Record<StressMeasure, StressHistogram>>;
  readonly steps: readonly StressStep[];
  /** Of searches, and of steps and ramps with limits; null otherwise. */
  readonly knee: StressKnee | null;
  readonly ticks: readonly StressTickRecord[];
  /** Null if the plan has no probe. */
  readonly probe: StressProbe | null;
  /** What a reader has to know before he believes the figures, in sentences. */
  readonly caveats: readonly string[];
}
