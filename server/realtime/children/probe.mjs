/**
 * Loaded by tests into a server's process before the server itself (`node --import`): tells its parent, when asked, what
 * only the process knows about itself. Keeps nothing alive and changes nothing but the collector's schedule.
 */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds; a timer that fires this often tells how late the event loop runs. */
const RESOLUTION_MS = 1;
const NS_PER_MS = 1e6;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

/** Resident memory in MB once everything that can be freed is. */
async function residentMb() {
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.();
    await sleep(5);
  }
  return process.memoryUsage.rss() / 2 ** 20;
}

/** How late the event loop ran since the last question, in milliseconds. */
function loopDelay() {
  const late = (/** @type {number} */ ns) => Math.max(0, ns / NS_PER_MS - RESOLUTION_MS);
  const figures = {
    p50: late(delay.percentile(50)),
    p99: late(delay.percentile(99)),
    max: late(delay.max),
  };
  delay.reset();
  return figures;
}

/** @type {Record<string, () => unknown>} */
const ANSWERS = {
  residentMb,
  loopDelay,
  handles: () => readdirSync("/proc/self/fd").length,
};

process.on("message", async (question) => {
  const { name, id } = /** @type {{ name: string, id: number }} */ (question);
  process.send?.({ id, value: await ANSWERS[name]?.() });
});
process.channel?.unref();
