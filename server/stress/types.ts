/**
 * Contracts of the load generator, in one place: the plan, what is told of a run, and how one is started in the process
 * that imports this (a browser or Node). The wire's own schemas are in server/protocol/stress*.ts. Types and fixed numbers only. Beside it, for pages and tools alike:
 *
 * - run.ts: `startStress(options: StressOptions): StressRun`
 * - compare.ts: `compareReports(a, b): StressComparison`
 * - distribution.ts: `distributionOf(histogram): DistributionPoint[]`
 * - output.ts: `reportMarkdown(report)`, `reportCsv(report)`, `reportJson(report)`, and `parseReport(text)`
 * - command-line.ts: `repeatCommand(plan, baseUrl)`: the line that runs a plan again from a terminal
 * - texts.ts: `TEXT_SETS`: sets of texts by name
 */
import type { WebSocketConstructor } from "../protocol/client/index.ts";
import type { StressPlan } from "../protocol/stress.ts";
import type {
  StressGeneratorFacts,
  StressReport,
  StressServerFigures,
  StressTick,
} from "../protocol/stress-report.ts";
import type { StressSoundInfo } from "../protocol/stress-socket.ts";

export type * from "../protocol/stress.ts";
export * from "../protocol/stress-bounds.ts";
export * from "../protocol/stress-report.ts";
export type * from "../protocol/stress-socket.ts";

/** Where the load goes. */
export interface StressAccess {
  /** As for SpeechClient: http or https; empty for the page's own origin. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Used instead of the platform's own; Node 20 has none, so pass that of the `ws` package. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Milliseconds on a clock that does not jump, and a wait on it that an abort ends early (it then resolves). */
export interface StressClock {
  readonly now: () => number;
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** What a run in this process is given; `startStress(options)` of run.ts takes it. */
export interface StressOptions {
  /** As it comes out of the schema `StressPlan`, defaults filled in. */
  readonly plan: StressPlan;
  readonly access: StressAccess;
  readonly generator: StressGeneratorFacts;
  /** Hears two ticks a second. */
  readonly onTick?: ((tick: StressTick) => void) | undefined;
  /** Hears the sound of the lane that is listened to: 16-bit little-endian samples. */
  readonly onSound?: ((info: StressSoundInfo, pcm: Uint8Array) => void) | undefined;
  /** Ends the run; its report then holds what was measured. The reason, if it is a string, becomes the report's. */
  readonly signal?: AbortSignal | undefined;
  /** The server's figures, where the caller has them already; without it they are read over HTTP, once a second. */
  readonly serverFigures?: (() => StressServerFigures | null) | undefined;
  /** Requests under way that the run may have at most; arrivals by chance beyond it fail with `generator_full`. */
  readonly maxStreams?: number | undefined;
  /** For tests. */
  readonly clock?: StressClock | undefined;
}

/** A run in this process. */
export interface StressRun {
  readonly id: string;
  /** Never fails: what goes wrong is the report's `end`. */
  readonly report: Promise<StressReport>;
  /** Ends the run; what was measured is kept. @param reason a sentence for the report */
  stop(reason?: string): void;
  /** Sends the sound of a lane to `onSound` from now on; null: of none. */
  listen(lane: number | null): void;
  /** Says something that a reader of the report has to know, such as that the page was in the background. Once each. */
  caveat(sentence: string): void;
}

/** One figure of two reports side by side. */
export interface StressComparisonRow {
  /** Such as `TTFP p95`. */
  readonly name: string;
  readonly unit: "ms" | "s" | "×" | "%" | "1/s" | "";
  readonly a: number | null;
  readonly b: number | null;
  /** b − a, and that over a; null where one of the two is missing or a is 0. */
  readonly difference: number | null;
  readonly relative: number | null;
  /** Which of the two is better; null if they are equal, if one is missing or where neither direction is better. */
  readonly better: "a" | "b" | null;
}

/** Two runs side by side. */
export interface StressComparison {
  readonly rows: readonly StressComparisonRow[];
  /** What differs in plan, server and generator, in sentences: a comparison is worth what they leave of it. */
  readonly differences: readonly string[];
}

/** A point of a distribution for a chart. */
export interface DistributionPoint {
  /** 0 to 1 */
  readonly share: number;
  readonly value: number;
}
