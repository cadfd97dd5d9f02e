/** One pull or removal at a time in a model folder: a file that names its process and is touched while it is held. */
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { HubError } from "./errors.ts";

const TOUCH_MS = 2000;
/** Without a touch for so long, its holder is gone, wherever it ran. */
const STALE_MS = 30_000;

/**
 * Runs `work` while holding the lock.
 * @throws HubError `folder_busy` if somebody else holds it
 */
export async function withFolderLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  while (!(await take(file))) {
    if (!isStale(file)) {
      throw new HubError(
        "folder_busy",
        `another command works on this model (process ${holder(file) || "unknown"}, ${file})`,
      );
    }
    removeStale(file);
  }
  const touch = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // Somebody removed the file by hand; the work goes on.
    }
  }, TOUCH_MS);
  touch.unref();
  const release = () => rmSync(file, { force: true });
  process.on("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    process.off("exit", release);
    release();
  }
}

async function take(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Two may both have found it stale, so the file is first moved to a private name and looked at again: a lock that somebody
 * took in between is put back.
 */
function removeStale(file: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (!isStale(aside)) linkSync(aside, file);
  } catch {
    // Somebody else moved it, or took the lock again: the loop looks once more.
  }
  rmSync(aside, { force: true });
}

function holder(file: string): number {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0;
  }
}

function isStale(file: string): boolean {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined) return false;
  const pid = holder(file);
  return Date.now() - status.mtimeMs > STALE_MS || (pid > 0 && !isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
