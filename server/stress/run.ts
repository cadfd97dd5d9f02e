/** A load test in this process: a browser's, or that of a tool which needs no more than one. */
import { REAL_CLOCK } from "./clock.ts";
import { Conductor } from "./conductor.ts";
import { LoadGenerator } from "./generator.ts";
import type { StressOptions, StressRun } from "./types.ts";

/** Starts a run. Never fails: what goes wrong is told in the report. */
export function startStress(options: StressOptions): StressRun {
  const { plan, access, onSound, maxStreams, clock = REAL_CLOCK } = options;
  const generator = new LoadGenerator({
    ...{ plan, access, clock, maxStreams, onSound },
    index: 0,
    processes: 1,
  });
  return new Conductor(options, generator);
}
