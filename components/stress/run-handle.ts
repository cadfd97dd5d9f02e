/** What the page can do with a run, wherever its load is made, and what it hears of it. Contracts only. */
import type { StressReport, StressSoundInfo, StressTick } from "../../server/stress/types.ts";
import type { Trouble } from "../api/trouble.ts";

export interface RunHandle {
  stop(): void;
  /** Has the sound of a lane sent from now on; null: of none. */
  listen(lane: number | null): void;
  /** Writes something into the report that its reader has to know; only runs of this browser keep it. */
  caveat(sentence: string): void;
}

export interface RunListener {
  started(handle: RunHandle, startedAt: string): void;
  tick(tick: StressTick): void;
  sound(info: StressSoundInfo, pcm: Uint8Array): void;
  /** Whether what the run tells still comes through. */
  reachable(isReachable: boolean): void;
  ended(report: StressReport): void;
  /** It never began, or there will be no report. */
  failed(trouble: Trouble): void;
}
