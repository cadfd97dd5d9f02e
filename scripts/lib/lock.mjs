/**
 * One installation or build at a time in a checkout. The lock is a file that names its process and is touched while
 * it is held; it is taken over when that process is gone or has stopped touching it.
 */
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const TOUCH_MS = 2_000;
const STALE_MS = 30_000;

/**
 * Runs `work` while holding the lock.
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {() => void} [onWait] called once if somebody else holds the lock
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait = () => {}) {
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = false; !tryTake(file); waited = true) {
    if (isStale(file)) {
      removeStale(file);
      continue;
    }
    if (!waited) onWait();
    await sleep(250);
  }
  const release = () => rmSync(file, { force: true });
  const touch = setInterval(() => utimesSync(file, new Date(), new Date()), TOUCH_MS);
  const onSignal = (/** @type {NodeJS.Signals} */ signal) => {
    release();
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  process.on("exit", release);
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    release();
    process.off("exit", release);
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

/** @param {string} file */
function tryTake(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes a stale lock. Two waiters may both have found it stale, so the file is first moved to a private name and looked
 * at again: a lock that somebody took in between is put back.
 * @param {string} file
 */
function removeStale(file) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (!isStale(aside)) linkSync(aside, file);
  } catch {
    // Somebody else moved it, or took the lock again: the loop looks once more.
  }
  rmSync(aside, { force: true });
}

/** @param {string} file */
function isStale(file) {
  try {
    const age = Date.now() - statSync(file).mtimeMs;
    const pid = Number(readFileSync(file, "utf8"));
    return age > STALE_MS || (pid > 0 && !isAlive(pid));
  } catch {
    return false;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
