/** Shapes of load over time: which steps a plan has, how much is wanted at a moment, and each process's part of it. */
import type { StressPlan, StressShape } from "./types.ts";

/** A stretch of the plan that the report tells apart. */
export interface PlannedStep {
  /** Seconds since the load began. */
  readonly from: number;
  readonly seconds: number;
  /** Requests at once, the largest of the step; of `poisson` the requests a second. */
  readonly wanted: number;
}

const RAMP_PARTS = 10;

/** One process's part of a number; the parts of all of them add up to it. */
export function partOf(whole: number, index: number, processes: number): number {
  return Math.floor(whole / processes) + (index < whole % processes ? 1 : 0);
}

function levelsOf(from: number, to: number, by: number): number[] {
  const levels: number[] = [];
  const sign = to >= from ? 1 : -1;
  for (let level = from; sign * level < sign * to; level += sign * by) levels.push(level);
  return [...levels, to];
}

function stepsOfLevels(levels: readonly number[], seconds: number): PlannedStep[] {
  return levels.map((wanted, i) => ({ from: i * seconds, seconds, wanted }));
}

/** The steps of a plan, in order. A search for the knee makes its own as it goes. */
export function stepsOf({ shape, seconds }: Pick<StressPlan, "shape" | "seconds">): PlannedStep[] {
  switch (shape.kind) {
    case "fixed":
      return [{ from: 0, seconds, wanted: shape.concurrency }];
    case "poisson":
      return [{ from: 0, seconds, wanted: shape.perSecond }];
    case "steps":
      return stepsOfLevels(levelsOf(shape.from, shape.to, shape.by), shape.stepSeconds);
    case "levels":
      return stepsOfLevels(shape.levels, shape.stepSeconds);
    case "ramp":
      return Array.from({ length: RAMP_PARTS }, (_, i) => {
        const part = seconds / RAMP_PARTS;
        const ends = [i * part, (i + 1) * part].map((at) => rampAt(shape, seconds, at));
        return { from: i * part, seconds: part, wanted: Math.max(...ends) };
      });
    case "knee":
      return [];
  }
}

function rampAt({ from, to }: { from: number; to: number }, seconds: number, at: number): number {
  return Math.round(from + (to - from) * Math.min(1, at / seconds));
}

/** @param at seconds since the load began @returns what is wanted then; of `poisson` the requests a second */
export function wantedAt(
  { shape, seconds }: Pick<StressPlan, "shape" | "seconds">,
  step: PlannedStep,
  at: number,
): number {
  return shape.kind === "ramp" ? rampAt(shape, seconds, at) : step.wanted;
}

/** Whether requests come whether or not others have ended. */
export function isOpenLoop(shape: StressShape): boolean {
  return shape.kind === "poisson";
}

/** The most streams that a plan can have at once, as far as it says; undefined for arrivals by chance. */
export function largestOf(shape: StressShape): number | undefined {
  switch (shape.kind) {
    case "fixed":
      return shape.concurrency;
    case "levels":
      return Math.max(...shape.levels);
    case "poisson":
      return undefined;
    default:
      return Math.max(shape.from, shape.to);
  }
}

/** How long a plan takes new requests at most, in seconds, its guard included. */
export function longestOf(plan: StressPlan): number {
  if (plan.shape.kind === "knee") return plan.maxSeconds;
  const last = stepsOf(plan).at(-1);
  return Math.min(plan.maxSeconds, last === undefined ? 0 : last.from + last.seconds);
}
