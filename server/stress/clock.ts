/** The clock that a run goes by: monotonic, with waits that end early when they are no longer wanted. */
import type { StressClock } from "./types.ts";

/** The platform's own clock. */
export const REAL_CLOCK: StressClock = {
  now: () => performance.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, ms));
      signal?.addEventListener("abort", done);
    }),
};
