/**
 * Voices in a folder of the file system, one subfolder a voice, named by its id and revision. Survives being killed at
 * any moment, and several processes may share the folder: each looks again before it answers, at most twice a second.
 * Never makes a path from anything a user wrote; never deletes what it cannot read.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { VoiceCodes } from "../models/types.ts";
import { ApiError } from "../protocol/envelope.ts";
import { LIMITS } from "../protocol/limits.ts";
import type { VoiceEdit } from "../protocol/voice-upload.ts";
import { Turns } from "./concurrency.ts";
import {
  discardFolder,
  isMissing,
  publishFile,
  publishFolder,
  renameDurably,
  sweep,
} from "./durable-files.ts";
import { type CodesKey, sha256 } from "./encode-reference.ts";
import { voiceKey } from "./names.ts";
import type { StoredVoice, VoiceDraft, VoiceStore } from "./store.ts";
import {
  codesFile,
  DETAILS_FILE,
  formatCodes,
  formatDetails,
  parseCodes,
  readDetails,
  SAMPLE_FILE,
  type VoiceDetails,
} from "./voice-files.ts";

export interface FileStoreOptions {
  readonly maxVoices?: number;
  /** How old the view of the folder may be when a question is answered, in milliseconds. */
  readonly freshMs?: number;
  /** Takes sentences about entries that cannot be read. */
  readonly log?: (sentence: string) => void;
}

interface Entry extends VoiceDetails {
  readonly key: string;
  /** Grows when the voice is changed, so that a listing of the folder shows it. */
  readonly revision: number;
}

const ENTRY = /^(voice_[0-9a-f-]{36})\.(\d{1,9})$/;
const DEFAULT_FRESH_MS = 500;
/** The turn of everything that changes the index; keys of names never hold a line break. */
const INDEX = "\n";

const folderOf = (entry: Entry) => `${entry.voice.id}.${entry.revision}`;

export class FileVoiceStore implements VoiceStore {
  readonly #root: string;
  readonly #maxVoices: number;
  readonly #freshMs: number;
  readonly #log: (sentence: string) => void;
  readonly #turns = new Turns();
  /** By name of the subfolder. */
  #entries = new Map<string, Entry>();
  /** The newest entry of each name. */
  #byKey = new Map<string, Entry>();
  /** Subfolders that were reported as unreadable. */
  #unreadable = new Set<string>();
  /** Keys of new names that are being written. */
  readonly #arriving = new Set<string>();
  #lastCreatedAt = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  private constructor(root: string, options: FileStoreOptions) {
    this.#root = root;
    this.#maxVoices = options.maxVoices ?? LIMITS.max_uploaded_voices;
    this.#freshMs = options.freshMs ?? DEFAULT_FRESH_MS;
    this.#log = options.log ?? (() => {});
  }

  /** Opens a folder, creating it if need be, and finishes or clears away what a crash interrupted. */
  static async open(root: string, options: FileStoreOptions = {}): Promise<FileVoiceStore> {
    const store = new FileVoiceStore(root, options);
    await mkdir(root, { recursive: true });
    await sweep(root);
    await store.#look();
    const entries = [...store.#entries.values()];
    for (const old of entries) {
      // A voice that was renamed in the meantime is not in the way any more.
      const isReplaced = entries.some(
        ({ key, replaces }) => key === old.key && replaces.includes(old.voice.id),
      );
      if (isReplaced) await store.#discard(old);
      else await sweep(join(root, folderOf(old)));
    }
    return store;
  }

  async list(): Promise<readonly StoredVoice[]> {
    await this.#refresh();
    return [...this.#byKey.values()].sort(byAge).map(({ voice }) => voice);
  }

  async find(nameOrId: string): Promise<StoredVoice | undefined> {
    await this.#refresh();
    return this.#entry(nameOrId)?.voice;
  }

  put(draft: VoiceDraft): Promise<StoredVoice> {
    const key = voiceKey(draft.name);
    return this.#turns.run(key, async () => {
      await this.#look();
      this.#checkRoom(key);
      this.#arriving.add(key);
      try {
        return await this.#write(draft, key);
      } finally {
        this.#arriving.delete(key);
      }
    });
  }

  async update(nameOrId: string, edit: VoiceEdit): Promise<StoredVoice> {
    await this.#look();
    for (let found = this.#entry(nameOrId); found !== undefined; ) {
      const old = found;
      const key = voiceKey(edit.name ?? old.voice.name);
      const changed = await this.#turns.run(key, async () => {
        await this.#look();
        return this.#turns.run(INDEX, () => this.#change(old.voice.id, edit));
      });
      if (changed !== undefined) return changed;
      // Another process deleted the voice, or changed it at the same moment: then once more.
      await this.#look();
      found = this.#byId(old.voice.id);
      if (found?.revision === old.revision) break;
    }
    throw notFound(nameOrId);
  }

  async delete(nameOrId: string): Promise<StoredVoice | undefined> {
    await this.#look();
    const found = this.#entry(nameOrId);
    if (found === undefined) return undefined;
    return this.#turns.run(found.key, async () => {
      // Older entries of the same name go too, or they would come to light.
      const same = [...this.#entries.values()].filter(({ key }) => key === found.key);
      for (const entry of same.sort(byAge)) await this.#discard(entry);
      return same.length > 0 ? found.voice : undefined;
    });
  }

  async sample(id: string): Promise<Uint8Array> {
    const bytes = await this.#read(id, SAMPLE_FILE);
    const voice = this.#byId(id)?.voice;
    if (bytes === undefined || voice === undefined) throw notFound(id);
    if (sha256(bytes) !== voice.sha256) {
      const message = `Invalid voice: the recording of '${voice.name}' is damaged`;
      throw new ApiError("invalid_voice", message, { param: "voice" });
    }
    return bytes;
  }

  async codes(id: string, key: CodesKey): Promise<VoiceCodes | undefined> {
    const bytes = await this.#read(id, codesFile(key));
    if (bytes === undefined) return undefined;
    try {
      return parseCodes(bytes.toString("utf8"), key);
    } catch (error) {
      this.#log(`Voice ${id} is encoded again: ${(error as Error).message}.`);
      return undefined;
    }
  }

  async putCodes(id: string, key: CodesKey, codes: VoiceCodes): Promise<void> {
    const entry = this.#byId(id);
    if (entry === undefined) return;
    try {
      const folder = join(this.#root, folderOf(entry));
      await publishFile(folder, codesFile(key), formatCodes(key, codes));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  #entry(nameOrId: string): Entry | undefined {
    return this.#byKey.get(voiceKey(nameOrId)) ?? this.#byId(nameOrId);
  }

  #byId(id: string): Entry | undefined {
    return [...this.#entries.values()].find(({ voice }) => voice.id === id);
  }

  #checkRoom(key: string): void {
    if (this.#byKey.has(key)) return;
    const names = new Set([...this.#byKey.keys(), ...this.#arriving]);
    if (names.size < this.#maxVoices) return;
    throw new ApiError("voice_limit_reached", `Uploaded voice limit reached (${this.#maxVoices})`);
  }

  async #write(draft: VoiceDraft, key: string): Promise<StoredVoice> {
    const { sample, codes, codesKey, ...details } = draft;
    const id = `voice_${randomUUID()}`;
    this.#lastCreatedAt = Math.max(Math.floor(Date.now() / 1000), this.#lastCreatedAt + 1);
    const voice = { ...details, id, createdAt: this.#lastCreatedAt, fileSize: sample.length };
    const replaced = [...this.#entries.values()].filter((entry) => entry.key === key);
    const replaces = replaced.map((entry) => entry.voice.id);
    const entry: Entry = { voice, replaces, key, revision: 0 };
    const files = {
      [DETAILS_FILE]: formatDetails(entry),
      [SAMPLE_FILE]: sample,
      [codesFile(codesKey)]: formatCodes(codesKey, codes),
    };
    await publishFolder(this.#root, folderOf(entry), files);
    await this.#turns.run(INDEX, async () => {
      this.#entries.set(folderOf(entry), entry);
      this.#index();
    });
    for (const old of replaced) await this.#discard(old);
    return voice;
  }

  /** Undefined if the voice is not where it was. The details are final once they lie there; the folder's name follows. */
  async #change(id: string, edit: VoiceEdit): Promise<StoredVoice | undefined> {
    const old = this.#byId(id);
    if (old === undefined) return undefined;
    const voice = { ...old.voice, ...edit };
    const key = voiceKey(voice.name);
    const holder = this.#byKey.get(key);
    if (holder !== undefined && key !== old.key) {
      const message = `Invalid voice name: '${voice.name}' is the name of another voice`;
      throw new ApiError("voice_name_taken", message, { param: "name" });
    }
    const entry = { ...old, voice, key, revision: old.revision + 1 };
    try {
      await publishFile(join(this.#root, folderOf(old)), DETAILS_FILE, formatDetails(entry));
      await renameDurably(this.#root, folderOf(old), folderOf(entry));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    this.#entries.delete(folderOf(old));
    this.#entries.set(folderOf(entry), entry);
    this.#index();
    return voice;
  }

  async #discard(entry: Entry): Promise<void> {
    await this.#turns.run(INDEX, async () => {
      await discardFolder(this.#root, folderOf(entry));
      this.#entries.delete(folderOf(entry));
      this.#index();
    });
  }

  /** A file of a voice; undefined if there is none. The folder may have been renamed meanwhile: then once more. */
  async #read(id: string, file: string): Promise<Buffer | undefined> {
    for (let entry = this.#byId(id); entry !== undefined; ) {
      const folder = folderOf(entry);
      try {
        return await readFile(join(this.#root, folder, file));
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      await this.#look();
      entry = this.#byId(id);
      if (entry !== undefined && folderOf(entry) === folder) return undefined;
    }
    return undefined;
  }

  async #refresh(): Promise<void> {
    if (performance.now() - this.#lookedAt < this.#freshMs) return;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** Brings the index up to date with the folder. */
  #look(): Promise<void> {
    return this.#turns.run(INDEX, async () => {
      const lookedAt = performance.now();
      const entries = new Map<string, Entry>();
      const unreadable = new Set<string>();
      for (const folder of await readdir(this.#root)) {
        const [, id, revision] = ENTRY.exec(folder) ?? [];
        if (id === undefined) continue;
        const known = this.#entries.get(folder) ?? (await this.#load(folder, id, Number(revision)));
        if (known !== undefined) entries.set(folder, known);
        else unreadable.add(folder);
      }
      this.#entries = entries;
      this.#unreadable = unreadable;
      this.#index();
      this.#lookedAt = lookedAt;
    });
  }

  /** Reads an entry; one that cannot be read is tried again with every look, and reported once. */
  async #load(folder: string, id: string, revision: number): Promise<Entry | undefined> {
    const path = join(this.#root, folder);
    try {
      const details = await readDetails(path, id);
      return { ...details, key: voiceKey(details.voice.name), revision };
    } catch (error) {
      const isGone = await stat(path).then(() => false, isMissing);
      if (!isGone && !this.#unreadable.has(folder)) {
        this.#log(`Skipped the voice in ${folder}: ${(error as Error).message}.`);
      }
      return undefined;
    }
  }

  #index(): void {
    this.#byKey = new Map();
    for (const entry of [...this.#entries.values()].sort(byAge)) {
      this.#byKey.set(entry.key, entry);
      this.#lastCreatedAt = Math.max(this.#lastCreatedAt, entry.voice.createdAt);
    }
  }
}

/** The oldest first; every process finds the same order. */
function byAge(a: Entry, b: Entry): number {
  return a.voice.createdAt - b.voice.createdAt || (a.voice.id < b.voice.id ? -1 : 1);
}

function notFound(nameOrId: string): ApiError {
  return new ApiError("voice_not_found", `Voice '${nameOrId}' not found`, { param: "voice" });
}
