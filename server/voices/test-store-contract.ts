/**
 * What every store of voices has to do, whatever it keeps them in: tests that the stores share. Several stores over one
 * place stand for several processes.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { StoreOptions } from "./indexed-store.ts";
import type { StoredVoice, VoiceStore } from "./store.ts";
import { codesOf, draft, KEY } from "./test-voices.ts";

/** An empty place for the length of a test. */
export interface StorePlace {
  /** Opens it, as another process would. */
  open(options: StoreOptions): Promise<VoiceStore>;
  /** Uploads that take up room there, by their ids. */
  kept(): Promise<readonly string[]>;
  /** Changes a file of an upload: `voice.json`, `sample`, or `codes` for its only codes. */
  damage(id: string, file: string, damaged: (good: Buffer) => Uint8Array): Promise<void>;
}

export const names = async (store: VoiceStore) => (await store.list()).map(({ name }) => name);

/** Defines the tests; `place` is asked anew in each of them. */
export function itKeepsVoices(place: () => StorePlace): void {
  const logged: string[] = [];
  beforeEach(() => {
    logged.length = 0;
  });
  const open = (options: StoreOptions = {}) =>
    place().open({ freshMs: 0, log: (line) => logged.push(line), ...options });
  const kept = () => place().kept();
  const reasons = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));

  describe("a voice", () => {
    it("is kept with everything that is known of it, under a name of any case", async () => {
      const store = await open();
      const voice = await store.put({ ...draft("Zoë"), refText: "Hello." });
      expect(voice).toMatchObject({
        name: "Zoë",
        consent: "yes",
        refText: "Hello.",
        fileSize: 3000,
      });
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
      expect(await kept()).toHaveLength(2);
    });

    it("is one of the uploads when several of a name arrive at once", async () => {
      const store = await open();
      const voices = await Promise.all(
        [1, 2, 3, 4].map((flavour) => store.put(draft("Ada", flavour))),
      );
      expect(new Set(voices.map(({ createdAt }) => createdAt)).size).toBe(4);
      expect(await store.list()).toEqual([voices[3]]);
      expect(await kept()).toHaveLength(1);
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
      const voice = await store.put({
        ...draft("Ada"),
        speakerDescription: "calm",
        language: "en",
      });
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
      expect(await kept()).toHaveLength(1);
    });

    it("keeps its name when two others want it at once", async () => {
      const store = await open();
      const voices = await Promise.all(["Ada", "Bea"].map((name) => store.put(draft(name))));
      const renaming = voices.map(({ id }) => store.update(id, { name: "Cleo" }));
      const results = await Promise.allSettled(renaming);
      const refused = reasons(results);
      expect(refused).toMatchObject([{ code: "voice_name_taken" }]);
      expect(await names(await open())).toHaveLength(2);
    });

    it("is gone after its deletion, also by id, and its name is free", async () => {
      const store = await open();
      await store.put(draft("Ada"));
      expect(await store.delete("ADA")).toMatchObject({ name: "Ada" });
      expect(await store.delete("ADA")).toBeUndefined();
      const { id } = await store.put(draft("Ada", 2));
      expect(await store.delete(id)).toMatchObject({ id });
      expect(await kept()).toEqual([]);
      await expect(store.sample(id)).rejects.toMatchObject({ code: "voice_not_found" });
      expect(await store.codes(id, KEY)).toBeUndefined();
      await store.putCodes(id, KEY, codesOf(1));
      expect(await kept()).toEqual([]);
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

    it("keeps its name when two processes want it at once", async () => {
      const stores = [await open(), await open()] as const;
      const ids = await Promise.all(
        ["Ada", "Bea"].map(async (name) => (await stores[0].put(draft(name))).id),
      );
      const renaming = stores.map((store, i) => store.update(ids[i] ?? "", { name: "Cleo" }));
      const refused = reasons(await Promise.allSettled(renaming));
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.map(({ code }) => code)).toEqual(refused.map(() => "voice_name_taken"));
      expect(new Set((await stores[0].list()).map(({ id }) => id))).toEqual(new Set(ids));
      expect(await names(stores[1])).toHaveLength(2);
    });

    it("is one whole upload when two processes store its name at once", async () => {
      const stores = [await open(), await open()] as const;
      await Promise.all(stores.map((store, i) => store.put(draft("Ada", i + 1))));
      const found = await Promise.all(stores.map(async (store) => (await store.list())[0]));
      const [voice] = found as StoredVoice[];
      expect(found[1]).toEqual(voice);
      const flavour = voice?.sha256 === draft("Ada", 1).sha256 ? 1 : 2;
      expect(await stores[0].sample(voice?.id ?? "")).toEqual(draft("Ada", flavour).sample);
      expect(await stores[1].codes(voice?.id ?? "", KEY)).toEqual(codesOf(flavour));
      await stores[0].put(draft("Ada", 3));
      expect(await kept()).toHaveLength(1);
    });
  });

  describe("a place", () => {
    it("holds so many names and no more; replacing stays possible", async () => {
      const store = await open({ maxVoices: 2 });
      const putting = ["Ada", "Bea", "Cleo"].map((name) => store.put(draft(name)));
      const results = await Promise.allSettled(putting);
      const refused = reasons(results);
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

    it("looks at a voice once more when another process replaced it meanwhile", async () => {
      const [one, two] = [await open({ freshMs: 1e9 }), await open()];
      const { id } = await two.put(draft("Ada"));
      await one.list();
      const newer = await two.put(draft("Ada", 2));
      expect(await one.find("Ada")).toMatchObject({ id });
      await expect(one.sample(id)).rejects.toMatchObject({ code: "voice_not_found" });
      expect(await one.find("Ada")).toEqual(newer);
    });

    it("answers about one voice from a view that it renews meanwhile", async () => {
      const [one, two] = [await open({ freshMs: 1e9 }), await open()];
      expect(await one.find("Ada")).toBeUndefined();
      await two.put(draft("Ada"));
      expect(await one.find("Ada")).toBeUndefined();
      expect(await names(one)).toEqual(["Ada"]);
      expect(await one.find("Ada")).toBeDefined();
    });

    it("skips what cannot be read, says so once, and deletes nothing", async () => {
      const store = await open();
      const ids: string[] = [];
      for (const name of ["Ada", "Bea", "Cleo", "Dora"]) {
        ids.push((await store.put(draft(name))).id);
      }
      const [ada = "", bea = "", cleo = ""] = ids;
      await place().damage(ada, "sample", (good) => good.subarray(0, 10));
      await place().damage(bea, "voice.json", (good) => good.subarray(0, 10));
      await place().damage(cleo, "voice.json", (good) =>
        Buffer.from(good.toString().replace(cleo, ada)),
      );
      const again = await open();
      expect(await names(again)).toEqual(["Dora"]);
      await again.put(draft("Ada", 2));
      expect(await names(again)).toEqual(["Dora", "Ada"]);
      expect(logged).toHaveLength(3);
      expect(logged.join(" ")).toMatch(/^Skipped the voice in voice_/);
      expect(logged.join(" ")).toMatch(/10 bytes instead of 3000/);
      expect(await kept()).toHaveLength(5);
    });

    it("tells a damaged recording and damaged codes from good ones", async () => {
      const store = await open();
      const { id } = await store.put(draft("Ada"));
      await place().damage(id, "codes", (good) => good.subarray(0, 100));
      expect(await store.codes(id, KEY)).toBeUndefined();
      expect(logged).toEqual([`Voice ${id} is encoded again: its codes are damaged.`]);
      await place().damage(id, "sample", () => Buffer.alloc(3000));
      await expect(store.sample(id)).rejects.toMatchObject({ code: "invalid_voice" });
    });
  });
}
