/** One face for all chunk policies: the caller tells what is pending and learns how much of it leaves now. */
import { AdaptiveController, type AdaptiveOptions } from "./adaptive.ts";
import { rampEmission } from "./ramp.ts";
import { initialThenSteady } from "./steady.ts";

export type ChunkPolicyName = "fixed" | "ramp" | "adaptive";

export interface ChunkPolicyOptions extends AdaptiveOptions {
  readonly policy: ChunkPolicyName;
  /** Frames of the first chunk, as chosen by `firstFrames`. */
  readonly first: number;
  /** Sizes of the first chunks, for `ramp`. */
  readonly ramp: readonly number[];
}

/** Cuts the frames of one request into chunks. */
export interface ChunkPlanner {
  /** Frames that may be held back at most from a listener who is about to run dry. */
  readonly mostHeldFrames: number;
  /** Frames that may come at once at most: sizes that somebody wishes for are kept to the frame. */
  readonly mostAtOnce: number;
  /**
   * Called when frames have come and once when generation has finished.
   * @param frames frames generated so far; @param now seconds on a steady clock
   * @returns frames that leave now; undefined to hold them; 0 if only the end is to be told
   */
  take(frames: number, finished: boolean, now: number): number | undefined;
  /**
   * Asks whether what is held back may leave before its time, for a listener who is about to run dry, and notes it if so.
   * Fixed sizes and ramps are somebody's wish and stay as they are.
   */
  hurry(frames: number, now: number): boolean;
}

/** A planner for one request. */
export function chunkPlanner(options: ChunkPolicyOptions): ChunkPlanner {
  const { policy, first, steady, ramp } = options;
  let taken = 0;
  let chunks = 0;
  const controller = policy === "adaptive" ? new AdaptiveController(first, options) : undefined;

  const ask = (frames: number, finished: boolean, now: number): number | undefined => {
    if (controller !== undefined) return controller.take(frames - taken, finished, now);
    if (policy === "ramp") return rampEmission({ ramp, steady, sent: chunks, frames, finished });
    return initialThenSteady({ steady, first, frames, finished });
  };

  return {
    mostHeldFrames:
      controller === undefined
        ? Math.max(first, steady, ...(policy === "ramp" ? ramp : [])) - 1
        : 0,
    mostAtOnce: controller === undefined ? 1 : Math.max(1, Math.floor(steady / 2)),
    take(frames, finished, now) {
      if (frames === taken) return finished ? 0 : undefined;
      const count = ask(frames, finished, now);
      if (count !== undefined && count > 0) {
        taken += count;
        chunks += 1;
      }
      return count;
    },
    hurry(frames, now) {
      if (controller === undefined || chunks === 0 || frames === taken) return false;
      controller.release(frames - taken, now);
      taken = frames;
      chunks += 1;
      return true;
    },
  };
}
