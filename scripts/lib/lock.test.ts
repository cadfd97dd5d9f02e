import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withLock } from "./lock.mjs";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sonant-lock-"));
  file = join(folder, "deep/.lock");
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("withLock", () => {
  it("lets one holder work at a time and says once that it waits", async () => {
    let inside = 0;
    let most = 0;
    let waits = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await sleep(20);
      inside--;
    };
    await Promise.all([1, 2, 3].map(() => withLock(file, work, () => waits++)));
    expect(most).toBe(1);
    expect(waits).toBe(2);
    expect(existsSync(file)).toBe(false);
  });

  it("releases the lock when the work throws", async () => {
    const fail = () => Promise.reject(new Error("broken"));
    await expect(withLock(file, fail)).rejects.toThrow("broken");
    expect(existsSync(file)).toBe(false);
  });

  it("takes over from a process that is gone", async () => {
    await withLock(file, async () => {});
    writeFileSync(file, "4194304999");
    expect(await withLock(file, async () => readFileSync(file, "utf8"))).toBe(String(process.pid));
  });

  it("takes over a lock that nobody has touched for long", async () => {
    await withLock(file, async () => {});
    writeFileSync(file, String(process.ppid));
    utimesSync(file, new Date(0), new Date(0));
    expect(await withLock(file, async () => readFileSync(file, "utf8"))).toBe(String(process.pid));
  });
});
