/**
 * What each stream did over the last ticks, for the strip of lanes: one small number a lane and tick, since there may be a
 * thousand lanes. Pure.
 */
import type { StressLane } from "../../server/stress/types.ts";

/** What is drawn of a lane; `none`: it was not there. */
export const LANE_LOOKS = ["none", "wait", "ask", "good", "close", "dry", "wrong"] as const;
export type LaneLook = (typeof LANE_LOOKS)[number];

/** Sound in hand below which a lane is close to running dry, in milliseconds. */
export const CLOSE_MS = 300;

/** Ticks that the strip shows: a minute. */
export const SHOWN_TICKS = 120;

export function lookOf({ state, leadMs }: StressLane): LaneLook {
  switch (state) {
    case "wait":
    case "ask":
      return state;
    case "failed":
    case "refused":
      return "wrong";
    case "speak":
      if (leadMs <= 0) return "dry";
      return leadMs < CLOSE_MS ? "close" : "good";
  }
}

export interface LaneCounts {
  readonly speaking: number;
  readonly dry: number;
  readonly asking: number;
  readonly wrong: number;
}

export function countLooks(lanes: readonly StressLane[]): LaneCounts {
  const looks = lanes.map(lookOf);
  const count = (...wanted: LaneLook[]) => looks.filter((look) => wanted.includes(look)).length;
  return {
    speaking: count("good", "close", "dry"),
    dry: count("dry"),
    asking: count("ask"),
    wrong: count("wrong"),
  };
}

export class LaneHistory {
  /** Oldest first; places in `LANE_LOOKS` by number of the lane. */
  #columns: Uint8Array[] = [];

  /** Columns that are there, `SHOWN_TICKS` at most. */
  get length(): number {
    return this.#columns.length;
  }

  /** One more than the largest number of a lane. */
  get lanes(): number {
    return this.#columns.reduce((most, { length }) => Math.max(most, length), 0);
  }

  add(lanes: readonly StressLane[]): void {
    const size = lanes.reduce((most, { id }) => Math.max(most, id + 1), 0);
    const column = new Uint8Array(size);
    for (const lane of lanes) column[lane.id] = LANE_LOOKS.indexOf(lookOf(lane));
    this.#columns = [...this.#columns.slice(1 - SHOWN_TICKS), column];
  }

  /** @param column from 0, the oldest */
  at(column: number, lane: number): LaneLook {
    return LANE_LOOKS[this.#columns[column]?.[lane] ?? 0] ?? "none";
  }

  clear(): void {
    this.#columns = [];
  }
}
