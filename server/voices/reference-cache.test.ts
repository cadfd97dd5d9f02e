import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { SharedCache } from "./reference-cache.ts";

const cache = (entries = 10, bytes = 1000) =>
  new SharedCache<Uint8Array>({ entries, bytes }, ({ length }) => length);

/** Work whose end the test decides. */
function work() {
  const task = {
    calls: 0,
    signals: [] as AbortSignal[],
    finish: (_value: Uint8Array) => {},
    fail: (_error: Error) => {},
    make: (signal: AbortSignal) => {
      task.calls++;
      task.signals.push(signal);
      return new Promise<Uint8Array>((resolve, reject) => {
        task.finish = resolve;
        task.fail = reject;
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  };
  return task;
}

describe("SharedCache", () => {
  it("makes a value once for all who ask at the same time, and keeps it", async () => {
    const shared = cache();
    const task = work();
    const both = [shared.get("a", task.make), shared.get("a", task.make)];
    const value = new Uint8Array(5);
    task.finish(value);
    expect(await Promise.all(both)).toEqual([value, value]);
    expect(await shared.get("a", task.make)).toBe(value);
    expect(task.calls).toBe(1);
    expect(shared.usage).toEqual({ entries: 1, bytes: 5, making: 0 });
  });

  it("lets one caller leave without disturbing the other", async () => {
    const shared = cache();
    const task = work();
    const controller = new AbortController();
    const leaving = shared.get("a", task.make, controller.signal);
    const staying = shared.get("a", task.make);
    controller.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    expect(task.signals[0]?.aborted).toBe(false);
    task.finish(new Uint8Array(1));
    expect(await staying).toHaveLength(1);
  });

  it("stops the work when the last caller has left, and starts anew for the next", async () => {
    const shared = cache();
    const task = work();
    const controllers = [new AbortController(), new AbortController()];
    const leaving = controllers.map(({ signal }) => shared.get("a", task.make, signal));
    for (const controller of controllers) controller.abort(new Error("left"));
    for (const each of leaving) await expect(each).rejects.toThrow("left");
    expect(task.signals[0]?.aborted).toBe(true);
    const next = shared.get("a", task.make);
    task.finish(new Uint8Array(2));
    expect(await next).toHaveLength(2);
    expect(task.calls).toBe(2);
  });

  it("gives failures to all who wait and does not keep them", async () => {
    const shared = cache();
    const task = work();
    const both = [shared.get("a", task.make), shared.get("a", task.make)];
    task.fail(new Error("no"));
    for (const each of both) await expect(each).rejects.toThrow("no");
    await nextTick();
    const again = shared.get("a", task.make);
    task.finish(new Uint8Array(1));
    expect(await again).toHaveLength(1);
  });

  it("stays within its limits and drops what was not used for longest", async () => {
    const shared = cache(3, 100);
    const put = (key: string, length: number) =>
      shared.get(key, async () => new Uint8Array(length));
    for (const key of ["a", "b", "c"]) await put(key, 10);
    await put("a", 99);
    await put("d", 10);
    expect(shared.usage).toEqual({ entries: 3, bytes: 30, making: 0 });
    expect(await put("a", 99)).toHaveLength(10);
    expect(await put("b", 75)).toHaveLength(75);
    expect(shared.usage.bytes).toBeLessThanOrEqual(100);
    expect(await put("huge", 101)).toHaveLength(101);
    expect(await put("b", 1)).toHaveLength(75);
  });
});
