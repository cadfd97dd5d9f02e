/**
 * What a place has to offer so that voices can be kept in it: a folder, or a bucket of an object service. Contracts only;
 * indexed-store.ts makes a store out of it.
 */
import type { VoiceDetails } from "./voice-files.ts";

/** `<id>.<revision>`: one upload, and how often it was changed since. Its content never changes, only its files grow. */
export type EntryName = `${string}.${number}`;

/** Names and contents of what belongs to an upload. */
export type EntryFiles = Readonly<Record<string, Uint8Array | string>>;

/** Everything fails with an ApiError if the place cannot be reached, or with the error of the file system. */
export interface VoiceMedium {
  /** All entries, whether or not they can be read; of each id the newest revision. */
  list(): Promise<readonly EntryName[]>;
  /**
   * What an entry says of its voice; undefined if the entry is gone.
   * @throws Error with a sentence for the log if it cannot be used
   */
  details(entry: EntryName): Promise<VoiceDetails | undefined>;
  /** Makes an entry appear, complete from the first moment on. */
  publish(entry: EntryName, files: EntryFiles): Promise<void>;
  /**
   * Puts new details in the place of old ones, all at once; everything else of the entry stays. False if the old entry is
   * not there any more, or was changed by another process.
   */
  change(from: EntryName, to: EntryName, details: string): Promise<boolean>;
  /** Removes an entry; missing ones are fine. */
  discard(entry: EntryName): Promise<void>;
  /** A file of an entry; undefined if there is none. */
  read(entry: EntryName, file: string): Promise<Buffer | undefined>;
  /** Adds a file to an entry, or replaces it. Without effect if the entry is gone. */
  write(entry: EntryName, file: string, content: string): Promise<void>;
}

const ENTRY = /^(voice_[0-9a-f-]{36})\.(\d{1,9})$/;

/** The parts of an entry's name; undefined for a text that is none. */
export function parseEntry(
  text: string,
): { readonly entry: EntryName; readonly id: string; readonly revision: number } | undefined {
  const [, id, revision] = ENTRY.exec(text) ?? [];
  if (id === undefined) return undefined;
  return { entry: text as EntryName, id, revision: Number(revision) };
}

export function entryName(id: string, revision: number): EntryName {
  return `${id}.${revision}`;
}

/** The id in an entry's name. */
export function idOf(entry: EntryName): string {
  return entry.slice(0, entry.lastIndexOf("."));
}
