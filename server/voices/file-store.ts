/**
 * Voices in a folder of the file system, one subfolder a voice, named by its id and revision. Survives being killed at
 * any moment, and several processes may share the folder. Never deletes what it cannot read.
 */
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  discardFolder,
  isMissing,
  publishFile,
  publishFolder,
  renameDurably,
  sweep,
} from "./durable-files.ts";
import { IndexedVoiceStore, type StoreOptions } from "./indexed-store.ts";
import { type EntryFiles, type EntryName, idOf, parseEntry, type VoiceMedium } from "./medium.ts";
import { DETAILS_FILE, parseDetails, SAMPLE_FILE, type VoiceDetails } from "./voice-files.ts";

export class FileVoiceStore extends IndexedVoiceStore {
  /** Opens a folder, creating it if need be, and finishes or clears away what a crash interrupted. */
  static async open(root: string, options: StoreOptions = {}): Promise<FileVoiceStore> {
    await mkdir(root, { recursive: true });
    await sweep(root);
    const folder = new VoiceFolder(root);
    const store = new FileVoiceStore(folder, options);
    await store.finishReplacements();
    for (const entry of await folder.list()) await sweep(join(root, entry));
    return store;
  }
}

class VoiceFolder implements VoiceMedium {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async list(): Promise<EntryName[]> {
    const names = await readdir(this.#root);
    return names.flatMap((name) => parseEntry(name)?.entry ?? []);
  }

  async details(entry: EntryName): Promise<VoiceDetails | undefined> {
    const folder = join(this.#root, entry);
    try {
      const text = await readFile(join(folder, DETAILS_FILE), "utf8");
      const { size } = await stat(join(folder, SAMPLE_FILE));
      return parseDetails(text, idOf(entry), size);
    } catch (error) {
      if (await stat(folder).then(() => false, isMissing)) return undefined;
      throw error;
    }
  }

  publish(entry: EntryName, files: EntryFiles): Promise<void> {
    return publishFolder(this.#root, entry, files);
  }

  /** The details are final once they lie there; the folder's name follows. */
  async change(from: EntryName, to: EntryName, details: string): Promise<boolean> {
    try {
      await publishFile(join(this.#root, from), DETAILS_FILE, details);
      await renameDurably(this.#root, from, to);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  discard(entry: EntryName): Promise<void> {
    return discardFolder(this.#root, entry);
  }

  async read(entry: EntryName, file: string): Promise<Buffer | undefined> {
    try {
      return await readFile(join(this.#root, entry, file));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async write(entry: EntryName, file: string, content: string): Promise<void> {
    try {
      await publishFile(join(this.#root, entry), file, content);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}
