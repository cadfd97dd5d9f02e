/** The time to a unit's first audio and its parts, as both socket doors tell it. */
import type { ServerMessageOf } from "../protocol/socket-server.ts";
import type { UnitEnded } from "../speech/types.ts";

/** Fields of `audio.done`; none if there was no audio. Times to a tenth of a millisecond. */
export function firstAudio({
  ttfaMs,
  timing,
}: UnitEnded): Pick<ServerMessageOf<"audio.done">, "ttfa_ms" | "timing"> {
  if (ttfaMs === undefined || timing === undefined) return {};
  return {
    ttfa_ms: tenths(ttfaMs),
    timing: {
      queue_ms: tenths(timing.queueMs),
      prefill_ms: tenths(timing.prefillMs),
      first_frame_ms: tenths(timing.firstFrameMs),
      codec_ms: tenths(timing.codecMs),
    },
  };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
