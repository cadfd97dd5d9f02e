/**
 * Takes that survive a reload: what is known of them and their sound, in the browser's own database. Failing to store one
 * never breaks the page; it is told through `useHistory`.
 */
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import { create } from "zustand";
import { TakeAudio } from "../audio/take-audio.ts";
import { isFinished, keepSound, soundOf, type Take, useTakes } from "./takes.ts";

interface HistorySchema extends DBSchema {
  takes: { key: string; value: Take };
  /** Interleaved 16-bit PCM, by take. */
  sounds: { key: string; value: ArrayBuffer };
  /** Samples of voices, by a name that changes with whatever could change their sound. */
  samples: { key: string; value: ArrayBuffer };
}

const NAME = "sonant";
const VERSION = 1;
/** Takes without a star beyond these are forgotten, the oldest first. */
const KEPT = 200;

interface HistoryState {
  readonly load: "idle" | "loading" | "ready";
  /** Why takes are not kept: the store is full, or the browser has none. */
  readonly obstacle: "full" | "off" | undefined;
}

export const useHistory = create<HistoryState>()(() => ({ load: "idle", obstacle: undefined }));

let opened: Promise<IDBPDatabase<HistorySchema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<HistorySchema> | undefined> {
  opened ??= openDB<HistorySchema>(NAME, VERSION, {
    upgrade(db) {
      db.createObjectStore("takes", { keyPath: "id" });
      db.createObjectStore("sounds");
      db.createObjectStore("samples");
    },
  }).catch(() => {
    useHistory.setState({ obstacle: "off" });
    return undefined;
  });
  return opened;
}

/** Reads the takes of earlier visits, once; their sound follows when it is asked for. */
export async function loadHistory(): Promise<void> {
  if (useHistory.getState().load !== "idle") return;
  useHistory.setState({ load: "loading" });
  const db = await database();
  const stored = (await db?.getAll("takes").catch(() => [])) ?? [];
  stored.sort((a, b) => b.createdAt - a.createdAt);
  useTakes.setState(({ takes, selected }) => {
    const known = new Set(takes.map(({ id }) => id));
    const all = [...takes, ...stored.filter(({ id }) => !known.has(id))];
    return { takes: all, selected: selected ?? all[0]?.id };
  });
  useHistory.setState({ load: "ready" });
  void forgetOldest(stored);
}

/** Stores a finished take with its sound, or what has changed of it. */
export async function storeTake(take: Take, withSound: boolean): Promise<void> {
  if (!isFinished(take)) return;
  const db = await database();
  if (db === undefined) return;
  try {
    const sound = withSound ? soundOf(take.id) : undefined;
    if (sound !== undefined) {
      const samples = sound.read(0, sound.frames);
      await db.put("sounds", samples.buffer as ArrayBuffer, take.id);
    }
    await db.put("takes", take);
    if (useHistory.getState().obstacle === "full") useHistory.setState({ obstacle: undefined });
  } catch (error) {
    const isFull = error instanceof DOMException && error.name === "QuotaExceededError";
    useHistory.setState({ obstacle: isFull ? "full" : "off" });
  }
}

/** The sound of a take, from memory or from the store; undefined if it was never kept. */
export async function loadSound(take: Take): Promise<TakeAudio | undefined> {
  const known = soundOf(take.id);
  if (known !== undefined) return known;
  const db = await database();
  const stored = await db?.get("sounds", take.id).catch(() => undefined);
  if (stored === undefined) return undefined;
  const sound = TakeAudio.of(new Int16Array(stored), take.sampleRate, take.channels);
  keepSound(take.id, sound);
  return sound;
}

export async function forgetTake(id: string): Promise<void> {
  const db = await database();
  await db?.delete("takes", id).catch(() => {});
  await db?.delete("sounds", id).catch(() => {});
}

async function forgetOldest(stored: readonly Take[]): Promise<void> {
  const plain = stored.filter(({ isStarred, note }) => !isStarred && note === "");
  for (const { id } of plain.slice(KEPT)) await forgetTake(id);
}

/** A stored sample of a voice: 16-bit PCM. */
export async function readSample(key: string): Promise<ArrayBuffer | undefined> {
  const db = await database();
  return db?.get("samples", key).catch(() => undefined);
}

export async function storeSample(key: string, pcm: ArrayBuffer): Promise<void> {
  const db = await database();
  await db?.put("samples", pcm, key).catch(() => {});
}

/** Forgets the samples of a voice, of every version of the server that spoke them. */
export async function forgetSamples(voice: string): Promise<void> {
  const db = await database();
  const keys = (await db?.getAllKeys("samples").catch(() => [])) ?? [];
  for (const key of keys.filter((each) => each.split("|").includes(voice))) {
    await db?.delete("samples", key).catch(() => {});
  }
}
