/**
 * Run by tests in a process or a worker thread of its own: loads the addon and leaves in some untidy way.
 * Its plan comes as JSON in the first argument, or as the worker's data.
 */
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

/**
 * @typedef {{
 *   addon: string,
 *   load: import("../types.ts").LoadOptions,
 *   rows: { prefix: number[], text: number[] },
 *   leave: "exit" | "exit-while-loading" | "end" | "throw" | "close-and-exit" | "wait",
 *   waitMs: number,
 * }} Plan
 */

/** @type {Plan} */
const plan = isMainThread ? JSON.parse(process.argv[2] ?? "{}") : workerData;
/** @type {import("../native.ts").Addon} */
const addon = createRequire(import.meta.url)(plan.addon);

const loading = addon.Engine.load(plan.load);
if (plan.leave === "exit-while-loading") {
  await sleep(plan.waitMs);
  process.exit(7);
}
const engine = await loading;
process.once("uncaughtException", ({ message }) => {
  process.exitCode = message === "from a listener" ? 7 : 1;
});
const staysToTheEnd = plan.leave === "end" || plan.leave === "throw";
const request = {
  prefixKey: "voice",
  prefixRows: Int32Array.from(plan.rows.prefix),
  textRows: Int32Array.from(plan.rows.text),
  maxFrames: staysToTheEnd ? 60 : 1500,
  bufferFrames: 1500,
};
let frames = 0;
for (let seed = 0; seed < 4; seed++) {
  engine.generate({ ...request, sampling: { seed } }, (event) => {
    if (event.kind === "chunk") frames += event.frames;
    if (event.kind === "chunk" && frames === 1) parentPort?.postMessage("speaking");
    if (plan.leave === "throw" && frames === 1) throw new Error("from a listener");
  });
}
switch (plan.leave) {
  case "exit":
    await sleep(plan.waitMs);
    process.exit(7);
    break;
  case "close-and-exit":
    void engine.close();
    await sleep(plan.waitMs);
    process.exit(7);
    break;
  case "throw":
    break; // the listener's error is the process's; the other streams go on to their ends
  case "end":
    // Nothing holds the process once the last frame has been delivered.
    process.exitCode = 7;
    break;
  default:
    await sleep(60_000);
}
