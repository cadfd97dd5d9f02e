/** Tries again what may pass, more and more rarely. Whatever is no PassingError ends it at once. */
import { setTimeout as wait } from "node:timers/promises";
import { HubError, PassingError } from "./errors.ts";

/** Failures in a row, without any progress in between, after which it is given up. */
const MOST_IN_A_ROW = 6;
/** Failures altogether: a server that breaks off after every byte is no server. */
const MOST_ALTOGETHER = 100;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** A server that asks for a longer pause is taken at its word up to here. */
const LONGEST_ASKED_MS = 120_000;

export interface RetryHooks {
  /** Told of each failure that is tried again. */
  readonly onRetry?: ((error: PassingError, pauseMs: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Waits that long; tests bring a shorter one. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<unknown>) | undefined;
}

const sleepFor = (ms: number, signal?: AbortSignal) =>
  wait(ms, undefined, signal === undefined ? {} : { signal });

/**
 * Runs `work` until it succeeds.
 * @param work calls what it is given whenever it has come further, which starts the count of failures anew
 * @throws HubError `source_unreachable` when it is given up, whatever else `work` throws, or the signal's reason
 */
export async function withRetries<T>(
  work: (progressed: () => void) => Promise<T>,
  { onRetry, signal, sleep = sleepFor }: RetryHooks = {},
): Promise<T> {
  let inRow = 0;
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted();
    let progress = false;
    try {
      return await work(() => {
        progress = true;
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof PassingError)) throw error;
      inRow = progress ? 1 : inRow + 1;
      if (inRow >= MOST_IN_A_ROW || failures >= MOST_ALTOGETHER) {
        const message = `${error.message}; given up after ${failures} attempts`;
        throw new HubError("source_unreachable", message, { cause: error });
      }
      const pauseMs = pauseBefore(inRow, error.retryAfterMs);
      onRetry?.(error, pauseMs);
      await sleep(pauseMs, signal);
    }
  }
}

/** Milliseconds; doubled each time, with a little chance so that many do not come back at once. */
function pauseBefore(attempt: number, askedMs = 0): number {
  const grown = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  const own = grown * (0.75 + Math.random() * 0.5);
  return Math.round(Math.max(own, Math.min(askedMs, LONGEST_ASKED_MS)));
}
