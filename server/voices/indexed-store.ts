/**
 * A store of voices over any medium: an index in memory that is brought up to date with what lies there, so that several
 * processes may share the medium. Owns the order of changes, names and limits; knows nothing of files and services.
 * Never makes a path from anything a user wrote; never deletes what it cannot read.
 *
 * A question about one voice is answered from a view that is at most `freshMs` old. From half that age on the view is
 * renewed behind the answer, so that under steady load no request waits for the medium; lists and changes always look.
 */
import { randomUUID } from "node:crypto";
import type { VoiceCodes } from "../models/types.ts";
import { ApiError } from "../protocol/envelope.ts";
import { LIMITS } from "../protocol/limits.ts";
import type { VoiceEdit } from "../protocol/voice-upload.ts";
import { Gate, Turns } from "./concurrency.ts";
import { type CodesKey, sha256 } from "./encode-reference.ts";
import { type EntryName, entryName, parseEntry, type VoiceMedium } from "./medium.ts";
import { voiceKey } from "./names.ts";
import type { StoredVoice, VoiceDraft, VoiceStore } from "./store.ts";
import {
  codesFile,
  DETAILS_FILE,
  formatCodes,
  formatDetails,
  parseCodes,
  SAMPLE_FILE,
  type VoiceDetails,
} from "./voice-files.ts";

export interface StoreOptions {
  readonly maxVoices?: number;
  /** How old the view may be when a question about one voice is answered, in milliseconds. */
  readonly freshMs?: number;
  /** Takes sentences about entries that cannot be read. */
  readonly log?: (sentence: string) => void;
}

interface Entry extends VoiceDetails {
  readonly name: EntryName;
  readonly key: string;
  /** Grows when the voice is changed, so that a listing shows it. */
  readonly revision: number;
}

const DEFAULT_FRESH_MS = 500;
/** Entries that are read at once. */
const READERS = 16;
/** The turn of everything that changes the index; keys of names never hold a line break. */
const INDEX = "\n";

export class IndexedVoiceStore implements VoiceStore {
  readonly #medium: VoiceMedium;
  readonly #maxVoices: number;
  readonly #freshMs: number;
  readonly #log: (sentence: string) => void;
  readonly #turns = new Turns();
  readonly #readers = new Gate(READERS);
  #entries = new Map<EntryName, Entry>();
  /** The newest entry of each name. */
  #byKey = new Map<string, Entry>();
  /** Entries that were reported as unreadable. */
  #unreadable = new Set<EntryName>();
  /** Keys of new names that are being written. */
  readonly #arriving = new Set<string>();
  #lastCreatedAt = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** A look that has not begun. */
  #coming: Promise<void> | undefined;
  /** The last look that somebody waits for, until it is over. */
  #looking: Promise<void> | undefined;

  constructor(medium: VoiceMedium, options: StoreOptions = {}) {
    this.#medium = medium;
    this.#maxVoices = options.maxVoices ?? LIMITS.max_uploaded_voices;
    this.#freshMs = options.freshMs ?? DEFAULT_FRESH_MS;
    this.#log = options.log ?? (() => {});
  }

  /** Finishes replacements that a crash interrupted. */
  async finishReplacements(): Promise<void> {
    await this.#look();
    const entries = [...this.#entries.values()];
    for (const old of entries) {
      // A voice that was renamed in the meantime is not in the way any more.
      const isReplaced = entries.some(
        ({ key, replaces }) => key === old.key && replaces.includes(old.voice.id),
      );
      if (isReplaced) await this.#discard(old);
    }
  }

  async list(): Promise<readonly StoredVoice[]> {
    await this.#look();
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
        // What it took the place of would come to light under the name that it gives up.
        if (key !== old.key) await this.#discardOlder(old);
        return this.#turns.run(INDEX, () => this.#change(old.voice.id, edit));
      });
      if (changed !== undefined) {
        if (key !== old.key) await this.#yieldToRival(old, key);
        return changed;
      }
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
      const same = this.#ofKey(found.key);
      for (const entry of same) await this.#discard(entry);
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
    await this.#medium.write(entry.name, codesFile(key), formatCodes(key, codes));
  }

  #entry(nameOrId: string): Entry | undefined {
    return this.#byKey.get(voiceKey(nameOrId)) ?? this.#byId(nameOrId);
  }

  #byId(id: string): Entry | undefined {
    return [...this.#entries.values()].find(({ voice }) => voice.id === id);
  }

  /** All entries of a name, the oldest first. */
  #ofKey(key: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.key === key).sort(byAge);
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
    const replaces = this.#ofKey(key).map((entry) => entry.voice.id);
    const entry: Entry = { voice, replaces, key, revision: 0, name: entryName(id, 0) };
    await this.#medium.publish(entry.name, {
      [DETAILS_FILE]: formatDetails(entry),
      [SAMPLE_FILE]: sample,
      [codesFile(codesKey)]: formatCodes(codesKey, codes),
    });
    await this.#turns.run(INDEX, async () => {
      this.#entries.set(entry.name, entry);
      this.#index();
    });
    // The new voice speaks already, whatever becomes of those that it hides.
    await this.#discardOlder(entry).catch((error: Error) => {
      this.#log(`What voice ${id} took the place of could not be deleted: ${error.message}`);
    });
    return voice;
  }

  /** Undefined if the voice is not where it was. */
  async #change(id: string, edit: VoiceEdit): Promise<StoredVoice | undefined> {
    const old = this.#byId(id);
    if (old === undefined) return undefined;
    const voice = { ...old.voice, ...edit };
    const key = voiceKey(voice.name);
    if (this.#byKey.has(key) && key !== old.key) throw nameTaken(voice.name);
    const revision = old.revision + 1;
    const entry: Entry = { ...old, voice, key, revision, name: entryName(id, revision) };
    if (!(await this.#medium.change(old.name, entry.name, formatDetails(entry)))) return undefined;
    this.#entries.delete(old.name);
    this.#entries.set(entry.name, entry);
    this.#index();
    return voice;
  }

  /**
   * Looks whether another process gave the name to another voice in the same moment. The later of the two sees the earlier
   * one and takes its old name again, since two voices of one name would be one voice too few.
   */
  async #yieldToRival({ voice, key: oldKey }: Entry, key: string): Promise<void> {
    await this.#look();
    const sharers = this.#ofKey(key);
    if (sharers.length < 2 || !sharers.some((entry) => entry.voice.id === voice.id)) return;
    const { name } = sharers[0]?.voice ?? voice;
    await this.#turns.run(oldKey, () =>
      this.#turns.run(INDEX, () => this.#change(voice.id, { name: voice.name })),
    );
    throw nameTaken(name);
  }

  async #discardOlder({ key, voice }: Entry): Promise<void> {
    const entries = this.#ofKey(key);
    const at = entries.findIndex((entry) => entry.voice.id === voice.id);
    for (const older of entries.slice(0, Math.max(0, at))) await this.#discard(older);
  }

  async #discard(entry: Entry): Promise<void> {
    await this.#turns.run(INDEX, async () => {
      await this.#medium.discard(entry.name);
      this.#entries.delete(entry.name);
      this.#index();
    });
  }

  /** A file of a voice; undefined if there is none. The entry may have been changed meanwhile: then once more. */
  async #read(id: string, file: string): Promise<Buffer | undefined> {
    for (let entry = this.#byId(id); entry !== undefined; ) {
      const { name } = entry;
      const bytes = await this.#medium.read(name, file);
      if (bytes !== undefined) return bytes;
      await this.#look();
      entry = this.#byId(id);
      if (entry?.name === name) return undefined;
    }
    return undefined;
  }

  async #refresh(): Promise<void> {
    const ageMs = performance.now() - this.#lookedAt;
    if (ageMs < this.#freshMs / 2) return;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    // Who is answered from the view that there is hears of a failure when it has grown too old.
    if (ageMs < this.#freshMs) this.#looking.catch(() => {});
    else await this.#looking;
  }

  /** Brings the index up to date with the medium. Those who ask before a look has begun share it. */
  #look(): Promise<void> {
    this.#coming ??= this.#turns.run(INDEX, async () => {
      this.#coming = undefined;
      const lookedAt = performance.now();
      const unreadable = new Set<EntryName>();
      const reading = (await this.#medium.list()).map(async (name) => {
        const known =
          this.#entries.get(name) ?? (await this.#readers.run(() => this.#load(name, unreadable)));
        return known === undefined ? [] : [[name, known] as const];
      });
      this.#entries = new Map((await Promise.all(reading)).flat());
      this.#unreadable = unreadable;
      this.#index();
      this.#lookedAt = lookedAt;
    });
    return this.#coming;
  }

  /** Reads an entry; one that cannot be read is tried again with every look, and reported once. */
  async #load(name: EntryName, unreadable: Set<EntryName>): Promise<Entry | undefined> {
    try {
      const details = await this.#medium.details(name);
      const revision = parseEntry(name)?.revision ?? 0;
      return details && { ...details, name, key: voiceKey(details.voice.name), revision };
    } catch (error) {
      // A medium that is away says nothing about its entries.
      if (error instanceof ApiError) throw error;
      unreadable.add(name);
      if (!this.#unreadable.has(name)) {
        this.#log(`Skipped the voice in ${name}: ${(error as Error).message}.`);
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

function nameTaken(name: string): ApiError {
  const message = `Invalid voice name: '${name}' is the name of another voice`;
  return new ApiError("voice_name_taken", message, { param: "name" });
}
