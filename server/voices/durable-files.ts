/**
 * Writing to a folder so that a crash at any moment leaves the old state or the new one. Things are built under a
 * temporary name, forced to the disk and then renamed. Owns the temporary names and clears away those that dead
 * processes left behind.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** `.tmp-<host>-<process>-<run>-<random>`: says whose it is, so that the living are left alone. */
const TEMPORARY = /^\.tmp-([0-9a-f]{8})-(\d+)-([0-9a-f]{8})-/;
const HOST = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
const RUN = randomUUID().slice(0, 8);
/** Age in milliseconds after which nothing is being written any more, wherever its process runs. */
const ABANDONED_MS = 10 * 60_000;

function temporaryName(): string {
  return `.tmp-${HOST}-${process.pid}-${RUN}-${randomUUID()}`;
}

/** Forces a file or the entries of a folder to the disk. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeSynced(path: string, content: Uint8Array | string): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a folder with files in it appear in `parent` under `name`, complete from the first moment on. */
export async function publishFolder(
  parent: string,
  name: string,
  files: Readonly<Record<string, Uint8Array | string>>,
): Promise<void> {
  const temporary = join(parent, temporaryName());
  try {
    await mkdir(temporary, { mode: 0o700 });
    const writing = Object.entries(files).map(([file, content]) =>
      writeSynced(join(temporary, file), content),
    );
    // Not the first failure at once: nothing may be written any more when the folder is removed.
    for (const result of await Promise.allSettled(writing)) {
      if (result.status === "rejected") throw result.reason;
    }
    await sync(temporary);
    await rename(temporary, join(parent, name));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
  await sync(parent);
}

/** Writes a file of a folder, or replaces it. */
export async function publishFile(
  folder: string,
  name: string,
  content: Uint8Array | string,
): Promise<void> {
  const temporary = join(folder, temporaryName());
  try {
    await writeSynced(temporary, content);
    await rename(temporary, join(folder, name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await sync(folder);
}

/** Renames something in `parent` for good. */
export async function renameDurably(parent: string, from: string, to: string): Promise<void> {
  await rename(join(parent, from), join(parent, to));
  await sync(parent);
}

/** Removes a folder from `parent` in one instant; its content is deleted afterwards. Missing ones are fine. */
export async function discardFolder(parent: string, name: string): Promise<void> {
  const temporary = temporaryName();
  try {
    await renameDurably(parent, name, temporary);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  await rm(join(parent, temporary), { recursive: true, force: true });
}

/** Deletes what dead processes left half-written in a folder. */
export async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (await isAbandoned(folder, name)) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const owner = TEMPORARY.exec(name);
  if (owner === null) return false;
  const [, host, pid, run] = owner;
  if (run === RUN) return false;
  if (host === HOST && !isAlive(Number(pid))) return true;
  const status = await stat(join(folder, name)).catch(() => undefined);
  return status !== undefined && Date.now() - status.mtimeMs > ABANDONED_MS;
}

/** Whether another process of this machine has that id. Our own id under another run is that of a dead one. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Whether an error says that a file or folder is not there. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException)?.code === "ENOENT";
}
