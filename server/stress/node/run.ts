/** A load test over worker processes, and what it says of the machine that made it. */
import { cpus } from "node:os";
import { Conductor } from "../conductor.ts";
import type { StressGeneratorFacts, StressOptions, StressRun } from "../types.ts";
import { Crew, type CrewOptions } from "./crew.ts";

export type CrewRunOptions = Omit<StressOptions, "access" | "generator"> &
  Pick<CrewOptions, "baseUrl" | "apiKey" | "headers" | "lowPriority"> & {
    readonly kind: Exclude<StressGeneratorFacts["kind"], "browser">;
  };

/** This machine, as reports name it. */
export function machineOf(kind: CrewRunOptions["kind"], processes: number): StressGeneratorFacts {
  const agent = cpus()[0]?.model.trim() ?? "unknown processor";
  return { kind, processes, cores: cpus().length, agent };
}

/**
 * Starts the processes and then the run.
 * @throws Error if the processes cannot be started
 */
export async function startCrewStress(options: CrewRunOptions): Promise<StressRun> {
  const { plan, baseUrl, apiKey, headers, lowPriority, maxStreams, onSound, kind } = options;
  const crew = await Crew.start({
    ...{ plan, baseUrl, apiKey, headers, lowPriority, maxStreams, onSound },
  });
  const generator = machineOf(kind, plan.processes);
  return new Conductor({ ...options, access: { baseUrl, apiKey }, generator }, crew);
}
