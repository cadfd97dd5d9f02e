/** What makes load when it is told to: one generator in this process, or many in processes of their own. Contracts only. */
import type { LoadWindow } from "./window.ts";

/** What came of the requests before the measurement. */
export interface WarmedUp {
  readonly spoken: number;
  /** The first failure that was no refusal, in a sentence; undefined if there was none. */
  readonly failure: string | undefined;
}

export interface LoadSource {
  /** Speaks the probe alone. @returns what went wrong, in a sentence; undefined if nothing did */
  probeAlone(): Promise<string | undefined>;
  /** Speaks requests that do not count, one after the other. */
  warmUp(requests: number): Promise<WarmedUp>;
  /** Requests begun from now on belong to this step; the probe repeats from the first call on. */
  step(index: number): void;
  /** So many requests at once from now on, over all processes; those under way are spoken to their end. */
  want(concurrency: number): void;
  /** Begins requests by chance from now on, over all processes. */
  arrive(perSecond: number, seconds: number): void;
  /** Begins no more requests; `want` may ask for more later. */
  rest(): void;
  /** Cuts off everything under way. Nothing can be begun afterwards. */
  abort(): void;
  /** What was measured since it was last called. */
  collect(): Promise<LoadWindow>;
  listen(lane: number | null): void;
  /** What happened to the source itself that a reader of the report has to know, in sentences. */
  caveats(): readonly string[];
  /** Ends all of it; waits for what has to end. */
  close(): Promise<void>;
}
