/** Where the time to the first sound went. Pure. */
import type { TtfpSplit } from "../store/takes.ts";

/** What the server tells of the unit that was spoken first; milliseconds. */
export interface ServerTiming {
  /** In line for a place among those who speak. */
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly firstFrameMs: number;
  readonly codecMs: number;
}

interface Moments {
  /** The first chunk arrived, after the click. */
  readonly arrivedMs: number;
  /** The first sample left the worklet, after the click. */
  readonly heardMs: number;
  readonly server: ServerTiming;
}

/** What the server does not claim of the time until the first chunk was spent between the two. */
export function splitTtfp({ arrivedMs, heardMs, server }: Moments): TtfpSplit {
  const { queueMs, prefillMs, firstFrameMs, codecMs } = server;
  const claimed = queueMs + prefillMs + firstFrameMs + codecMs;
  return {
    network: Math.max(0, arrivedMs - claimed),
    queue: queueMs,
    prefill: prefillMs,
    firstFrame: firstFrameMs,
    codec: codecMs,
    client: Math.max(0, heardMs - arrivedMs),
  };
}
