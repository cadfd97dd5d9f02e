/** Where things lie: the model folder, and beside it, on the same disk, the lock and what is being fetched. */
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { HubError } from "./errors.ts";
import { withFolderLock } from "./lock.ts";
import { allFiles, MANIFEST_FILE, type Manifest, readManifest } from "./manifest.ts";

export interface Places {
  /** The model folder. */
  readonly target: string;
  /** Files as they arrive, by part of the model. */
  readonly downloads: string;
  /** The folder that becomes the target when all of it is there. */
  readonly stage: string;
  /** The old target while the new one takes its place. */
  readonly old: string;
  readonly lock: string;
  /** What holds downloads, stage and old. */
  readonly workspace: string;
}

/** The places of a model folder. */
export function placesOf(folder: string): Places {
  const target = resolve(folder);
  const beside = join(dirname(target), `.${basename(target)}`);
  const workspace = `${beside}.pull`;
  return {
    target,
    workspace,
    downloads: join(workspace, "downloads"),
    stage: join(workspace, "stage"),
    old: join(workspace, "old"),
    lock: `${beside}.lock`,
  };
}

/**
 * What stands at the target.
 * @returns the manifest of a pulled model, or undefined where there is nothing
 * @throws HubError `folder_taken` for anything else: it is never replaced or removed
 */
export async function pulledModel(target: string): Promise<Manifest | undefined> {
  const there = await stat(target).catch(() => undefined);
  if (there === undefined) return undefined;
  const found = there.isDirectory() ? await readManifest(target) : undefined;
  if (found !== undefined) return found;
  if (there.isDirectory() && (await readdir(target)).length === 0) return undefined;
  throw new HubError(
    "folder_taken",
    `${target} was not made by 'pull' (it has no ${MANIFEST_FILE}), so it is left alone`,
  );
}

/** Bytes of an interrupted pull that are there already. */
export async function bytesInterrupted({ downloads }: Places): Promise<number> {
  const paths = await allFiles(downloads).catch(() => []);
  const sizes = paths.map(async (path) => {
    if (path.endsWith(".part.json")) return 0;
    return (await stat(join(downloads, path)).catch(() => undefined))?.size ?? 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Lets the stage take the target's place; whoever looks finds the old model or the new one, or none for an instant. */
export async function publish({ stage, target, old }: Places): Promise<void> {
  await rm(old, { recursive: true, force: true });
  await rename(target, old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  try {
    await rename(stage, target);
  } catch (error) {
    await rename(old, target).catch(() => {});
    throw error;
  }
  await rm(old, { recursive: true, force: true });
}

/**
 * Puts the old model back where a crash came between the two steps of `publish`.
 * @throws HubError `folder_busy` if they are being taken right now
 */
export async function recover({ target, old, lock }: Places): Promise<void> {
  const isHalfway = async () => !(await isThere(target)) && (await isThere(old));
  if (!(await isHalfway())) return;
  await withFolderLock(lock, async () => {
    if (await isHalfway()) await rename(old, target);
  });
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
