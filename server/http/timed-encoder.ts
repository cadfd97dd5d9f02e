/** An encoder that is watched: tells once, when it is closed, how long its work took. */
import type { Encoder } from "../audio/encoder.ts";

/**
 * @param report hears the seconds spent encoding; not called for an encoder that did nothing
 * @param now milliseconds on a clock that does not jump
 */
export function timedEncoder(
  encoder: Encoder,
  report: (seconds: number) => void,
  now: () => number = () => performance.now(),
): Encoder {
  let spentMs = 0;
  let isUsed = false;
  const timed = <T>(work: () => T): T => {
    const from = now();
    isUsed = true;
    try {
      return work();
    } finally {
      spentMs += now() - from;
    }
  };
  return {
    contentType: encoder.contentType,
    push: (pcm) => timed(() => encoder.push(pcm)),
    end: () => timed(() => encoder.end()),
    close: () => {
      encoder.close();
      if (isUsed) report(spentMs / 1000);
      isUsed = false;
    },
  };
}
