/** The manifest of a pulled model: where it came from and the hash of every file. Written last, so without one it is no model. */
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { fileSha256 } from "./digest.ts";
import { HubError } from "./errors.ts";
import { isSafePath } from "./paths.ts";
import { SOURCES } from "./source.ts";

export const MANIFEST_FILE = "manifest.json";

const manifest = z.object({
  version: z.literal(1),
  model: z.string(),
  source: z.enum(SOURCES),
  pulled_at: z.string(),
  repositories: z.array(
    z.object({
      part: z.string(),
      repository: z.string(),
      revision: z.string(),
      commit: z.string(),
      licence: z.string().nullable(),
    }),
  ),
  voices_left_out: z.array(z.string()),
  files: z.array(
    z.object({
      path: z.string().refine(isSafePath, "must be a relative path without '..'"),
      size: z.number().int().nonnegative(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});
export type Manifest = z.infer<typeof manifest>;

/** @returns undefined where there is none; @throws HubError `manifest_invalid` */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new HubError("manifest_invalid", `${path} cannot be read`, { cause: error });
  }
  try {
    return manifest.parse(JSON.parse(text));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const where = issue === undefined ? "no JSON" : `${issue.path.join(".")}: ${issue.message}`;
    throw new HubError("manifest_invalid", `${path} is not a manifest of a model (${where})`);
  }
}

export interface Fault {
  readonly path: string;
  readonly problem: string;
}

/** Faults that a look at names and sizes finds; hashes are not made. */
export async function quickFaults(folder: string, { files }: Manifest): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { path, size } of files) {
    const entry = await lstat(join(folder, path)).catch(() => undefined);
    if (entry === undefined) faults.push({ path, problem: "is missing" });
    else if (!entry.isFile()) faults.push({ path, problem: "is no plain file" });
    else if (entry.size !== size) {
      faults.push({ path, problem: `has ${entry.size} bytes instead of ${size}` });
    }
  }
  return faults;
}

/**
 * Compares every file with its hash.
 * @param onFile told of each file before it is read, with its size in bytes
 */
export async function findFaults(
  folder: string,
  contents: Manifest,
  onFile: (path: string, size: number) => void = () => {},
): Promise<Fault[]> {
  const faults = await quickFaults(folder, contents);
  const known = new Set(faults.map(({ path }) => path));
  for (const { path, size, sha256 } of contents.files) {
    if (known.has(path)) continue;
    onFile(path, size);
    const found = await fileSha256(join(folder, path)).catch(() => undefined);
    if (found === undefined) faults.push({ path, problem: "cannot be read" });
    else if (found !== sha256)
      faults.push({ path, problem: "has another content (SHA-256 differs)" });
  }
  return faults;
}

/** Files that the manifest does not name: somebody's own voices, or something that does not belong there. */
export async function foreignFiles(folder: string, { files }: Manifest): Promise<string[]> {
  const named = new Set([...files.map(({ path }) => path), MANIFEST_FILE]);
  return (await allFiles(folder)).filter((path) => !named.has(path));
}

/** Paths of everything that is no folder, relative, sorted, with slashes. */
export async function allFiles(folder: string, below = ""): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) paths.push(...(await allFiles(folder, path)));
    else paths.push(path);
  }
  return paths.sort();
}
