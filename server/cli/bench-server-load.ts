/**
 * The two kinds of load: so many requests at once, each followed by the next, and requests that arrive by chance. Both
 * take new requests for a time and then wait for those that are under way.
 */
import type { Outcome } from "./bench-server-figures.ts";

export interface Load {
  /** Speaks the next text; never fails. */
  readonly speak: (signal: AbortSignal) => Promise<Outcome>;
  readonly signal: AbortSignal;
  /** Hears of every request that has ended. */
  readonly ended: (outcome: Outcome) => void;
  /** Milliseconds on a clock that does not jump, and a wait on it; for tests. */
  readonly now?: () => number;
  readonly wait?: (ms: number) => Promise<void>;
}

export interface Loaded {
  readonly outcomes: readonly Outcome[];
  /** From the first request to the last answer, in seconds. */
  readonly seconds: number;
}

/** Who was refused waits before he tries again, so that refusals do not become the load. */
const AFTER_REFUSAL_MS = 100;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** @param concurrency requests at once @param seconds for which new ones are begun; each place begins one at least */
export async function closedLoop(
  load: Load,
  concurrency: number,
  seconds: number,
): Promise<Loaded> {
  const { speak, signal, ended, now = () => performance.now(), wait = sleep } = load;
  const outcomes: Outcome[] = [];
  const from = now();
  const place = async () => {
    do {
      const outcome = await speak(signal);
      if (signal.aborted) return;
      outcomes.push(outcome);
      ended(outcome);
      if (outcome.kind !== "spoken") await wait(AFTER_REFUSAL_MS);
    } while (now() - from < seconds * 1000 && !signal.aborted);
  };
  await Promise.all(Array.from({ length: concurrency }, place));
  return { outcomes, seconds: (now() - from) / 1000 };
}

/** @param times when requests begin, in milliseconds from now, in order */
export async function openLoop(load: Load, times: readonly number[]): Promise<Loaded> {
  const { speak, signal, ended, now = () => performance.now(), wait = sleep } = load;
  const outcomes: Outcome[] = [];
  const from = now();
  const running: Promise<void>[] = [];
  for (const time of times) {
    const left = time - (now() - from);
    if (left > 0) await wait(left);
    if (signal.aborted) break;
    running.push(
      speak(signal).then((outcome) => {
        if (signal.aborted) return;
        outcomes.push(outcome);
        ended(outcome);
      }),
    );
  }
  await Promise.all(running);
  return { outcomes, seconds: (now() - from) / 1000 };
}
