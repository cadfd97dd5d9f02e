/**
 * Names of files as strangers write them: in listings, indexes and manifests. Only plain relative paths pass, so that
 * nothing is ever written or read outside the folder that was meant.
 */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { HubError } from "./errors.ts";

const SEGMENT = /^[\p{L}\p{N}_][\p{L}\p{N}\p{M} ._+@()&,'=~#%!-]*$/u;
const LONGEST_PATH = 512;

/** Whether a path stays below the folder it is joined to, on any system. */
export function isSafePath(path: unknown): path is string {
  if (typeof path !== "string" || path.length === 0 || path.length > LONGEST_PATH) return false;
  const segments = path.split("/");
  // Dot files are allowed (.gitattributes stands in every listing), names of dots alone are not.
  return segments.every((segment) => SEGMENT.test(segment.replace(/^\.(?=[^.])/, "")));
}

/**
 * A path of a stranger below `folder`.
 * @param source who wrote it, for the message
 * @throws HubError `listing_invalid`
 */
export function pathBelow(folder: string, path: unknown, source: string): string {
  if (isSafePath(path)) return join(folder, path);
  const shown = JSON.stringify(path)?.slice(0, 80);
  throw new HubError(
    "listing_invalid",
    `${source} names a file ${shown}; only relative paths without '..' are taken`,
  );
}

/** Whether something is a file of its own: no link, no folder, no device. */
export async function isPlainFile(path: string): Promise<boolean> {
  const entry = await lstat(path).catch(() => undefined);
  return entry?.isFile() ?? false;
}
