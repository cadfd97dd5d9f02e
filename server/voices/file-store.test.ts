import { mkdir, readdir, readFile, rename, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FileStoreOptions, FileVoiceStore } from "./file-store.ts";
import { codesOf, draft, KEY, type TemporaryFolder, temporaryFolder } from "./test-voices.ts";

// Each voice is forced to the disk, which takes its time where many others write.
vi.setConfig({ testTimeout: 60_000 });

let folder: TemporaryFolder;
const logged: string[] = [];
beforeEach(async () => {
  folder = await temporaryFolder();
  logged.length = 0;
});
afterEach(() => folder[Symbol.asyncDispose]());

const open = (options: FileStoreOptions = {}) =>
  FileVoiceStore.open(folder.path, { freshMs: 0, log: (line) => logged.push(line), ...options });

const names = async (store: FileVoiceStore) => (await store.list()).map(({ name }) => name);
const withPath = async (id: string) => {
  const entry = (await readdir(folder.path)).find((name) => name.startsWith(id));
  return (file: string) => join(folder.path, entry ?? "", file);
};

describe("a voice", () => {
  it("is kept with everything that is known of it, under a name of any case", async () => {
    const store = await open();
    const voice = await store.put({ ...draft("Zoë"), refText: "Hello." });
    expect(voice).toMatchObject({ name: "Zoë", consent: "yes", refText: "Hello.", fileSize: 3000 });
    const again = await open();
    for (const name of ["zoë", "ZOE\u0308", " Zoë ", voice.id]) {
      expect(await again.find(name)).toEqual(voice);
    }
    expect(await again.sample(voice.id)).toEqual(draft("Zoë").sample);
    expect(await again.codes(voice.id, KEY)).toEqual(codesOf(1));
    expect(await again.find("zoe")).toBeUndefined();
  });

  it("is replaced by an upload of the same name, which is newer", async () => {
    const store = await open();
    const old = await store.put(draft("Ada", 1));
    const other = await store.put(draft("Bea", 2));
    const voice = await store.put(draft("ADA", 3));
    expect(old.createdAt).toBeLessThan(other.createdAt);
    expect(other.createdAt).toBeLessThan(voice.createdAt);
    expect(await names(store)).toEqual(["Bea", "ADA"]);
    expect(await store.find(old.id)).toBeUndefined();
    expect(await readdir(folder.path)).toHaveLength(2);
  });

  it("is one of the uploads when several of a name arrive at once", async () => {
    const store = await open();
    const voices = await Promise.all(
      [1, 2, 3, 4].map((flavour) => store.put(draft("Ada", flavour))),
    );
    expect(new Set(voices.map(({ createdAt }) => createdAt)).size).toBe(4);
    expect(await store.list()).toEqual([voices[3]]);
    expect(await readdir(folder.path)).toHaveLength(1);
  });

  it("keeps its age and sound when it is renamed", async () => {
    const store = await open();
    const voice = await store.put(draft("Ada"));
    await store.put(draft("Bea", 2));
    const change = (nameOrId: string, name: string) => store.update(nameOrId, { name });
    await expect(change("ada", "bea")).rejects.toMatchObject({ code: "voice_name_taken" });
    await expect(change("Cleo", "Dora")).rejects.toMatchObject({ code: "voice_not_found" });
    expect(await change("ada", "Älva")).toEqual({ ...voice, name: "Älva" });
    expect(await change("älva", "ÄLVA")).toMatchObject({ id: voice.id, name: "ÄLVA" });
    expect(await names(await open())).toEqual(["ÄLVA", "Bea"]);
    expect(await store.codes(voice.id, KEY)).toEqual(codesOf(1));
  });

  it("is described anew, in one step and for good, whoever else changes it", async () => {
    const store = await open();
    const voice = await store.put({ ...draft("Ada"), speakerDescription: "calm", language: "en" });
    const changed = await store.update("ada", { name: "Bea", speakerDescription: "lively" });
    expect(changed).toEqual({ ...voice, name: "Bea", speakerDescription: "lively" });
    const other = await open();
    expect(await other.find("bea")).toEqual(changed);
    await Promise.all([
      store.update(voice.id, { speakerDescription: "loud" }),
      store.update(voice.id, { language: "zh" }),
      store.update(voice.id, { name: "Cleo" }),
    ]);
    await other.update(voice.id, { language: undefined });
    const { language: _, ...rest } = { ...voice, name: "Cleo", speakerDescription: "loud" };
    expect(await (await open()).find(voice.id)).toEqual(rest);
    expect(await store.sample(voice.id)).toHaveLength(3000);
    expect(await readdir(folder.path)).toHaveLength(1);
  });

  it("keeps its name when two others want it at once", async () => {
    const store = await open();
    const voices = await Promise.all(["Ada", "Bea"].map((name) => store.put(draft(name))));
    const renaming = voices.map(({ id }) => store.update(id, { name: "Cleo" }));
    const results = await Promise.allSettled(renaming);
    const refused = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused).toMatchObject([{ code: "voice_name_taken" }]);
    expect(await names(await open())).toHaveLength(2);
  });

  it("whose change a crash interrupted is the new one", async () => {
    const store = await open();
    const { id } = await store.put(draft("Ada"));
    const path = (await withPath(id))("voice.json");
    await store.update(id, { name: "Bea" });
    const changed = await readFile(join(folder.path, `${id}.1`, "voice.json"));
    await rename(join(folder.path, `${id}.1`), join(folder.path, `${id}.0`));
    expect(await readFile(path)).toEqual(changed);
    const again = await open();
    expect(await names(again)).toEqual(["Bea"]);
    expect(await again.update(id, { name: "Cleo" })).toMatchObject({ id, name: "Cleo" });
  });

  it("is gone after its deletion, also by id, and its name is free", async () => {
    const store = await open();
    await store.put(draft("Ada"));
    expect(await store.delete("ADA")).toMatchObject({ name: "Ada" });
    expect(await store.delete("ADA")).toBeUndefined();
    const { id } = await store.put(draft("Ada", 2));
    expect(await store.delete(id)).toMatchObject({ id });
    expect(await readdir(folder.path)).toEqual([]);
    await expect(store.sample(id)).rejects.toMatchObject({ code: "voice_not_found" });
    expect(await store.codes(id, KEY)).toBeUndefined();
    await store.putCodes(id, KEY, codesOf(1));
    expect(await readdir(folder.path)).toEqual([]);
  });

  it("keeps codes for each model", async () => {
    const store = await open();
    const { id } = await store.put(draft("Ada"));
    const other = { ...KEY, codec: "another" };
    expect(await store.codes(id, other)).toBeUndefined();
    await store.putCodes(id, other, codesOf(7));
    expect(await store.codes(id, other)).toEqual(codesOf(7));
    expect(await store.codes(id, KEY)).toEqual(codesOf(1));
  });

  it("never has a part in a path, whatever its name is", async () => {
    const store = await open();
    for (const name of ["../../outside", "/etc/passwd", "a\0b"]) {
      await store.put(draft(name));
      expect(await store.find(`${name}/x`)).toBeUndefined();
    }
    const entries = await readdir(folder.path);
    expect(entries.every((entry) => /^voice_[0-9a-f-]{36}\.0$/.test(entry))).toBe(true);
  });
});

describe("a folder", () => {
  it("holds so many names and no more; replacing stays possible", async () => {
    const store = await open({ maxVoices: 2 });
    const putting = ["Ada", "Bea", "Cleo"].map((name) => store.put(draft(name)));
    const results = await Promise.allSettled(putting);
    const refused = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      "voice_limit_reached: Uploaded voice limit reached (2)",
    ]);
    const [name = ""] = await names(store);
    await store.put(draft(name, 2));
    await store.delete(name);
    await store.put(draft("Dora"));
    expect(await names(store)).toHaveLength(2);
  });

  it("is shared by processes, which see what the others did", async () => {
    const [one, two] = [await open(), await open()];
    const voice = await one.put(draft("Ada"));
    expect(await two.find("ada")).toEqual(voice);
    await two.update("Ada", { name: "Bea" });
    expect(await names(one)).toEqual(["Bea"]);
    expect(await one.codes(voice.id, KEY)).toEqual(codesOf(1));
    const newer = await two.put(draft("Cleo"));
    expect(newer.createdAt).toBeGreaterThan(voice.createdAt);
    await one.delete("Bea");
    expect(await names(two)).toEqual(["Cleo"]);
    expect(logged).toEqual([]);
  });

  it("looks at a voice once more when another process renamed it meanwhile", async () => {
    const [one, two] = [await open({ freshMs: 1e9 }), await open()];
    const { id } = await two.put(draft("Ada"));
    await one.delete("nobody");
    await two.update("Ada", { name: "Bea" });
    expect(await one.sample(id)).toHaveLength(3000);
    expect(await one.find("Bea")).toMatchObject({ id });
  });

  it("skips what cannot be read, says so once, and deletes nothing", async () => {
    const store = await open();
    const ids = ["Ada", "Bea", "Cleo", "Dora"].map(
      async (name) => (await store.put(draft(name))).id,
    );
    const [ada = "", bea = "", cleo = ""] = await Promise.all(ids);
    await truncate((await withPath(ada))("sample"), 10);
    await truncate((await withPath(bea))("voice.json"), 10);
    const details = (await withPath(cleo))("voice.json");
    await writeFile(details, (await readFile(details, "utf8")).replace(cleo, ada));
    await mkdir(join(folder.path, "notes"));
    const again = await open();
    expect(await names(again)).toEqual(["Dora"]);
    await again.put(draft("Ada", 2));
    expect(logged).toHaveLength(3);
    expect(logged.join(" ")).toMatch(/^Skipped the voice in voice_/);
    expect(logged.join(" ")).toMatch(/10 bytes instead of 3000/);
    expect(await readdir(folder.path)).toHaveLength(6);
  });

  it("tells a damaged recording and damaged codes from good ones", async () => {
    const store = await open();
    const { id } = await store.put(draft("Ada"));
    const path = await withPath(id);
    const [codes = ""] = (await readdir(path(""))).filter((name) => name.startsWith("codes-"));
    await truncate(path(codes), 100);
    expect(await store.codes(id, KEY)).toBeUndefined();
    expect(logged).toEqual([`Voice ${id} is encoded again: its codes are damaged.`]);
    await writeFile(path("sample"), Buffer.alloc(3000));
    await expect(store.sample(id)).rejects.toMatchObject({ code: "invalid_voice" });
  });

  it("clears away what dead processes left, and nothing of the living", async () => {
    const store = await open();
    const { id } = await store.put(draft("Ada"));
    const path = await withPath(id);
    const elsewhere = ".tmp-00000000-1-00000000-x";
    await mkdir(join(folder.path, elsewhere));
    await mkdir(join(folder.path, ".tmp-00000000-2-00000000-x"));
    await writeFile(path(elsewhere), "half");
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const file of [join(folder.path, elsewhere), path(elsewhere)]) {
      await utimes(file, longAgo, longAgo);
    }
    await open();
    expect((await readdir(folder.path)).filter((name) => name.startsWith(".tmp"))).toEqual([
      ".tmp-00000000-2-00000000-x",
    ]);
    expect(await readdir(path(""))).toHaveLength(3);
  });

  it("finishes a replacement that a crash interrupted, unless the old voice was renamed", async () => {
    const store = await open();
    const old = await store.put(draft("Ada"));
    const kept = await store.put(draft("Bea"));
    const voice = await store.put(draft("Cleo"));
    const path = (await withPath(voice.id))("voice.json");
    const details = JSON.parse(await readFile(path, "utf8"));
    const changed = { ...details, name: "ada", replaces: [old.id, kept.id] };
    await writeFile(path, JSON.stringify(changed));
    expect(await names(await open())).toEqual(["Bea", "ada"]);
    expect(await readdir(folder.path)).toHaveLength(2);
  });
});
