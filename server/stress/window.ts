/** What a generator has measured since it was last asked, and how that of several processes becomes one. */
import { type PackedSums, Sums } from "./sums.ts";
import { MAX_TICK_LANES, type StressLane, type StressProbe } from "./types.ts";

export interface LoadWindow {
  /** By the step in which requests were begun. */
  readonly steps: ReadonlyMap<number, Sums>;
  /** Seconds of sound that arrived, whenever it was asked for. */
  readonly audioSeconds: number;
  /** Requests under way. */
  readonly active: number;
  /** The first of them, by number. */
  readonly lanes: readonly StressLane[];
  readonly lanesLeftOut: number;
  readonly lagMs: number;
  readonly behindMs: number;
  /** Processes that answered. */
  readonly processes: number;
  /** Of the process that makes the probe; null elsewhere. */
  readonly probe: StressProbe | null;
  /** All requests of these processes' parts have been begun that the plan allows. */
  readonly isSpent: boolean;
}

/** A window as it travels between processes. */
export interface PackedWindow extends Omit<LoadWindow, "steps"> {
  readonly steps: readonly (readonly [number, PackedSums])[];
}

export function packWindow({ steps, ...rest }: LoadWindow): PackedWindow {
  return { ...rest, steps: [...steps].map(([step, sums]) => [step, sums.pack()] as const) };
}

/** @throws Error if it is damaged */
export function unpackWindow({ steps, ...rest }: PackedWindow): LoadWindow {
  return { ...rest, steps: new Map(steps.map(([step, sums]) => [step, Sums.unpack(sums)])) };
}

/** Windows of the same stretch of time as one. Of none: nothing was measured. */
export function mergeWindows(windows: readonly LoadWindow[]): LoadWindow {
  const steps = new Map<number, Sums>();
  for (const window of windows) {
    for (const [step, sums] of window.steps) {
      const own = steps.get(step) ?? new Sums();
      own.merge(sums);
      steps.set(step, own);
    }
  }
  const sum = (of: (window: LoadWindow) => number) =>
    windows.reduce((total, window) => total + of(window), 0);
  const most = (of: (window: LoadWindow) => number) => Math.max(0, ...windows.map(of));
  const lanes = windows.flatMap((window) => window.lanes).sort((a, b) => a.id - b.id);
  return {
    steps,
    audioSeconds: sum((window) => window.audioSeconds),
    active: sum((window) => window.active),
    lanes: lanes.slice(0, MAX_TICK_LANES),
    lanesLeftOut: sum((window) => window.lanesLeftOut) + Math.max(0, lanes.length - MAX_TICK_LANES),
    lagMs: most((window) => window.lagMs),
    behindMs: most((window) => window.behindMs),
    processes: sum((window) => window.processes),
    probe: windows.find(({ probe }) => probe !== null)?.probe ?? null,
    isSpent: windows.length > 0 && windows.every(({ isSpent }) => isSpent),
  };
}

/** All steps of a window together. */
export function sumsOf({ steps }: LoadWindow): Sums {
  const all = new Sums();
  for (const sums of steps.values()) all.merge(sums);
  return all;
}
