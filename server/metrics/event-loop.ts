/** Measures how late the event loop runs: a timer that should fire every few milliseconds tells when it really did. */
import type { RecentValues } from "./observe.ts";

const INTERVAL_MS = 20;

/** Reports each delay in seconds until it is stopped. Does not keep the process alive. */
export function watchEventLoop(
  report: (delaySeconds: number) => void,
  recent: RecentValues,
): { stop(): void } {
  let expected = performance.now() + INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const delay = Math.max(0, now - expected) / 1000;
    expected = now + INTERVAL_MS;
    recent.add(delay);
    report(delay);
  }, INTERVAL_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
