import { mkdir, readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FileVoiceStore } from "./file-store.ts";
import type { StoreOptions } from "./indexed-store.ts";
import { itKeepsVoices, names, type StorePlace } from "./test-store-contract.ts";
import { draft, type TemporaryFolder, temporaryFolder } from "./test-voices.ts";

// Each voice is forced to the disk, which takes its time where many others write.
vi.setConfig({ testTimeout: 60_000 });

let folder: TemporaryFolder;
const logged: string[] = [];
beforeEach(async () => {
  folder = await temporaryFolder();
  logged.length = 0;
});
afterEach(() => folder[Symbol.asyncDispose]());

const open = (options: StoreOptions = {}) =>
  FileVoiceStore.open(folder.path, { freshMs: 0, log: (line) => logged.push(line), ...options });

const withPath = async (id: string) => {
  const entry = (await readdir(folder.path)).find((name) => name.startsWith(id));
  return (file: string) => join(folder.path, entry ?? "", file);
};

const place: StorePlace = {
  open,
  kept: () => readdir(folder.path),
  async damage(id, file, damaged) {
    const path = await withPath(id);
    const name = (await readdir(path(""))).find((each) => each.startsWith(file)) ?? "";
    await writeFile(path(name), damaged(await readFile(path(name))));
  },
};

describe("in a folder", () => itKeepsVoices(() => place));

describe("a voice in a folder", () => {
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
  it("looks at a voice once more when another process renamed it meanwhile", async () => {
    const [one, two] = [await open({ freshMs: 1e9 }), await open()];
    const { id } = await two.put(draft("Ada"));
    await one.delete("nobody");
    await two.update("Ada", { name: "Bea" });
    expect(await one.sample(id)).toHaveLength(3000);
    expect(await one.find("Bea")).toMatchObject({ id });
  });

  it("leaves alone what is no voice", async () => {
    const store = await open();
    await store.put(draft("Ada"));
    await mkdir(join(folder.path, "notes"));
    expect(await names(await open())).toEqual(["Ada"]);
    expect(await readdir(folder.path)).toHaveLength(2);
    expect(logged).toEqual([]);
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
