/**
 * One file from a source to the disk. What has arrived lies beside the target as `.part` until it is whole and its hash is
 * right, and the next attempt, or the next command, asks only for what is missing.
 */
import { constants } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { type Answer, asPassing, type HubClient } from "./client.ts";
import { FileDigest, matches } from "./digest.ts";
import { HubError, PassingError } from "./errors.ts";
import { isPlainFile } from "./paths.ts";
import { type RetryHooks, withRetries } from "./retry.ts";
import type { RemoteFile } from "./source.ts";

export interface DownloadHooks extends RetryHooks {
  /** Told how many bytes of the file are there, after every piece. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** What the part that lies there is a part of. */
const partNote = z.object({
  size: z.number(),
  /** The hash that the source promised. */
  content: z.string(),
  /** Of the host that delivered it; null if it gave none that can be relied on. */
  etag: z.string().nullable(),
});
type PartNote = z.infer<typeof partNote>;

const contentOf = (file: RemoteFile) => file.sha256 ?? file.gitSha1 ?? "";

/** Bytes of a file that need not be asked for any more. */
export async function bytesThere(file: RemoteFile, target: string): Promise<number> {
  const whole = await lstat(target).catch(() => undefined);
  if (whole?.isFile() && whole.size === file.size) return file.size;
  return (await partThere(file, target)).bytes;
}

/**
 * Brings a file to `target`; one that is there and right is left as it is.
 * @returns its SHA-256, in hex
 * @throws HubError `file_wrong` for another size or hash than was promised, `source_unreachable`, or what the client throws
 */
export async function download(
  client: HubClient,
  file: RemoteFile,
  target: string,
  hooks: DownloadHooks = {},
): Promise<string> {
  await mkdir(dirname(target), { recursive: true });
  const there = await digestOf(file, target);
  if (there !== undefined) {
    hooks.onBytes?.(file.size);
    return there;
  }
  let wrong = 0;
  return withRetries(async (progressed) => {
    const digest = await fetchPart(client, file, target, hooks, progressed);
    const found = digest.finish();
    if (matches(found, file)) {
      await rm(noteOf(target), { force: true });
      await rename(partOf(target), target);
      return found.sha256;
    }
    await discard(target);
    const message = `${file.path} arrived with another hash than ${client.endpoint.host} promised`;
    // Once may have been a fault on the way, or a part that was left by something else.
    if (wrong++ > 0) throw new HubError("file_wrong", `${message}, twice; nothing of it was kept`);
    throw new PassingError(message);
  }, hooks);
}

const partOf = (target: string) => `${target}.part`;
const noteOf = (target: string) => `${target}.part.json`;

async function discard(target: string): Promise<void> {
  await rm(partOf(target), { force: true, recursive: true });
  await rm(noteOf(target), { force: true, recursive: true });
}

/** The SHA-256 of a target that is whole and right. */
async function digestOf(file: RemoteFile, target: string): Promise<string | undefined> {
  const entry = await lstat(target).catch(() => undefined);
  if (!entry?.isFile() || entry.size !== file.size) return undefined;
  const digest = new FileDigest(file.size);
  await digest.updateFromFile(target, file.size);
  const found = digest.finish();
  return matches(found, file) ? found.sha256 : undefined;
}

async function partThere(
  file: RemoteFile,
  target: string,
): Promise<{ readonly bytes: number; readonly note: PartNote | undefined }> {
  const nothing = { bytes: 0, note: undefined };
  if (!(await isPlainFile(partOf(target))) || !(await isPlainFile(noteOf(target)))) return nothing;
  try {
    const note = partNote.parse(JSON.parse(await readFile(noteOf(target), "utf8")));
    if (note.size !== file.size || note.content !== contentOf(file)) return nothing;
    const { size } = await lstat(partOf(target));
    return size > file.size ? nothing : { bytes: size, note };
  } catch {
    return nothing;
  }
}

/** Makes the part whole. @returns the digest of all of it */
async function fetchPart(
  client: HubClient,
  file: RemoteFile,
  target: string,
  hooks: DownloadHooks,
  progressed: () => void,
): Promise<FileDigest> {
  const { bytes, note } = await partThere(file, target);
  if (note === undefined) await discard(target);
  let digest = new FileDigest(file.size);
  await digest.updateFromFile(partOf(target), bytes);
  hooks.onBytes?.(bytes);
  if (note !== undefined && bytes === file.size) return digest;

  const answer = await client.get(file.url, rangeHeaders(bytes, note), hooks.signal);
  const resumes = answer.status === 206;
  try {
    await checkAnswer(client, file, answer, bytes, target);
    const etag = answer.headers.etag?.startsWith('"') ? answer.headers.etag : null;
    // The note first: a part without one is thrown away.
    const fresh: PartNote = { size: file.size, content: contentOf(file), etag };
    await writeFile(noteOf(target), JSON.stringify(fresh));
    if (!resumes) digest = new FileDigest(file.size);
    // A link that somebody laid there is not followed.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;
    const part = await open(partOf(target), flags, 0o644);
    try {
      if (!resumes) await part.truncate(0);
      await receive(part, answer, file, digest, hooks, progressed);
      await part.sync();
    } finally {
      await part.close();
    }
  } finally {
    answer.body.destroy();
  }
  return digest;
}

function rangeHeaders(bytes: number, note: PartNote | undefined): Record<string, string> {
  if (note === undefined || bytes === 0) return {};
  const range = { range: `bytes=${bytes}-` };
  // With another file there than the one that was begun, the host sends all of it.
  return note.etag === null ? range : { ...range, "if-range": note.etag };
}

/** Refuses an answer that cannot be the file, before a byte of it is kept. */
async function checkAnswer(
  client: HubClient,
  file: RemoteFile,
  { status, headers, ownHeaders }: Answer,
  bytes: number,
  target: string,
): Promise<void> {
  const fail = (what: string): never => {
    throw new HubError("file_wrong", `${file.path} at ${client.endpoint.host}: ${what}`);
  };
  if (status === 416) {
    await discard(target);
    throw new PassingError(`${file.path}: the host has no such part; it is begun anew`);
  }
  if (status !== 200 && status !== 206) fail(`the host answered ${status}`);
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity") {
    fail(`it came packed (${headers["content-encoding"]}) though that was ruled out`);
  }
  const linked = ownHeaders["x-linked-etag"]?.replaceAll('"', "");
  if (linked !== undefined && /^[0-9a-f]{64}$/.test(linked) && file.sha256 !== undefined) {
    if (linked !== file.sha256) fail("its address leads to another content than the listing has");
  }
  const length = headers["content-length"];
  if (status === 206) {
    const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers["content-range"] ?? "");
    const fits =
      range !== null &&
      Number(range[1]) === bytes &&
      (range[3] === "*" || Number(range[3]) === file.size);
    if (fits) return;
    await discard(target);
    throw new PassingError(`${file.path}: the host sent another part than the one asked for`);
  }
  if (length !== undefined && Number(length) !== file.size) {
    fail(`it has ${length} bytes there and ${file.size} in the listing`);
  }
}

async function receive(
  part: FileHandle,
  answer: Answer,
  file: RemoteFile,
  digest: FileDigest,
  hooks: DownloadHooks,
  progressed: () => void,
): Promise<void> {
  try {
    for await (const piece of answer.body) {
      if (digest.bytes + piece.length > file.size) {
        throw new HubError("file_wrong", `${file.path} goes on after its ${file.size} bytes`);
      }
      await store(part, piece, digest.bytes, file);
      digest.update(piece);
      progressed();
      hooks.onBytes?.(digest.bytes);
      hooks.signal?.throwIfAborted();
    }
  } catch (error) {
    throw asPassing(error, new URL(file.url), hooks.signal);
  }
  if (digest.bytes < file.size) {
    throw new PassingError(`${file.path} broke off after ${digest.bytes} of ${file.size} bytes`);
  }
}

/** Writing fails for reasons of the disk, which trying again does not mend. */
async function store(
  part: FileHandle,
  piece: Buffer,
  position: number,
  file: RemoteFile,
): Promise<void> {
  try {
    await part.write(piece, 0, piece.length, position);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "ENOSPC" || code === "EDQUOT" ? "the disk is full" : message;
    throw new HubError("disk_full", `${file.path} cannot be written: ${reason}`, { cause: error });
  }
}
