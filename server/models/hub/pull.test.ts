/** A whole pull: what is fetched and made of it, what an interruption leaves, and what is refused. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadModel } from "../registry.ts";
import type { WeightTools } from "./assemble.ts";
import type { HubClient } from "./client.ts";
import { MOSS_TTS_NANO } from "./known-models.ts";
import { withFolderLock } from "./lock.ts";
import { findFaults, foreignFiles, readManifest } from "./manifest.ts";
import { openSource } from "./open-source.ts";
import { placesOf, publish } from "./places.ts";
import { checkSpace, isUpToDate, type PullChoices, planPull } from "./plan.ts";
import { type PullHooks, pull } from "./pull.ts";
import { pulledModels } from "./pulled-models.ts";
import type { Source, SourceName } from "./source.ts";
import { status, TestHub, weightsOf } from "./test-hub.ts";
import { putRelease, SHARD } from "./test-release.ts";

const LM = weightsOf(250_000);
const CODEC = weightsOf(90_000);

let parent: string;
let folder: string;
let hub: TestHub;
let client: HubClient;
let source: Source;
let checked: string[];

/** Joins shards as the native side does; the weights of these tests are no tensors. */
const tools: WeightTools = {
  async convert(from, to) {
    copyFileSync(join(from, SHARD), join(to, "model.safetensors"));
  },
  async check(stage) {
    checked.push(stage);
  },
};

function open(name: SourceName): void {
  const environment = { HF_ENDPOINT: hub.url, MODELSCOPE_DOMAIN: hub.url };
  ({ client, source } = openSource(name, environment, 500));
}

beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), "sonant-pull-"));
  folder = join(parent, "moss-tts-nano");
  checked = [];
  hub = await TestHub.start();
  putRelease(hub, { lm: LM, codec: CODEC });
  open("huggingface");
});

afterEach(async () => {
  await client.close();
  await hub.close();
  rmSync(parent, { recursive: true });
});

function choices(extra: Partial<PullChoices> = {}): PullChoices {
  const base = { revisions: {}, withoutVoices: false, allVoices: false };
  return { model: MOSS_TTS_NANO, folder, ...base, ...extra };
}

const noWait = { sleep: async () => {} };

async function pullAll(extra: Partial<PullChoices> = {}, hooks: PullHooks = {}) {
  const plan = await planPull(source, choices(extra), noWait);
  return pull(client, plan, tools, { ...noWait, ...hooks });
}

/** Interrupts a pull within the weights of the language model. */
async function interrupt(): Promise<void> {
  const abort = new AbortController();
  let begin: number | undefined;
  const onBytes = (bytes: number, path: string) => {
    if (path !== "lm/model.safetensors") return;
    begin ??= bytes;
    if (bytes - begin >= 100_000) abort.abort(new Error("interrupted"));
  };
  const pulling = pullAll({}, { onBytes, signal: abort.signal });
  await expect(pulling).rejects.toThrow("interrupted");
}

describe("a pull", () => {
  it("makes a model folder of the release, and nothing else", async () => {
    const { manifest, voices } = await pullAll();
    expect(readdirSync(parent)).toEqual(["moss-tts-nano"]);
    expect(manifest.files.map(({ path }) => path)).toEqual([
      "codec/config.json",
      "codec/model.safetensors",
      "lm/config.json",
      "lm/model.safetensors",
      "lm/tokenizer.model",
      "sonant.json",
      "voices/Ava.json",
      "voices/Junhao.json",
    ]);
    expect(readFileSync(join(folder, "lm/model.safetensors")).equals(LM)).toBe(true);
    expect(readFileSync(join(folder, "codec/model.safetensors")).equals(CODEC)).toBe(true);
    expect(checked).toEqual([placesOf(folder).stage]);
    expect(voices.leftOut).toEqual([{ name: "Trump", reason: "it imitates a real person" }]);

    const model = await loadModel(folder);
    expect(model.name).toBe("MOSS-TTS-Nano");
    expect(model.defaultVoice).toBe("Junhao");
    expect(model.presets.get("Ava")).toMatchObject({
      description: "English Female",
      language: "en",
    });
    // As the official runtimes do (spec 5.2).
    expect(model.sampling.audioRepetitionPenalty).toBe(1.2);
    expect(model.capabilities.languages).toHaveLength(19);
  });

  it("says beforehand what it will fetch, from which commits, under which licence", async () => {
    const plan = await planPull(source, choices(), noWait);
    expect(plan.files.map(({ part, file }) => `${part}/${file.path}`)).toEqual([
      "lm/config.json",
      "lm/tokenizer.model",
      "lm/model.safetensors",
      "codec/config.json",
      "codec/model.safetensors.index.json",
      `codec/${SHARD}`,
      "voices/browser_poc_manifest.json",
    ]);
    expect(plan.snapshots.map(({ snapshot }) => snapshot.licence)).toEqual(
      Array(3).fill("apache-2.0"),
    );
    expect(plan.snapshots[0]?.snapshot.commit).toBe(hub.commit);
    expect(plan.totalBytes).toBe(plan.files.reduce((sum, { file }) => sum + file.size, 0));
    expect(hub.fetched).toEqual([]);
  });

  it("knows that it has been done, until the release changes", async () => {
    await pullAll();
    expect(isUpToDate(await planPull(source, choices(), noWait))).toBe(true);
    expect(isUpToDate(await planPull(source, choices({ allVoices: true }), noWait))).toBe(false);
    hub.commit = "1".repeat(40);
    expect(isUpToDate(await planPull(source, choices(), noWait))).toBe(false);
    const next = weightsOf(LM.length);
    putRelease(hub, { lm: next, codec: CODEC });
    await pullAll({ allVoices: true });
    expect(readFileSync(join(folder, "lm/model.safetensors")).equals(next)).toBe(true);
    expect([...(await loadModel(folder)).presets.keys()]).toEqual(["Ava", "Junhao", "Trump"]);
  });

  it("works without voices, and says how where they are missing", async () => {
    hub.remove(MOSS_TTS_NANO.repositories.voices.huggingface);
    await expect(pullAll()).rejects.toThrow(/404 .*with --no-voices the model is pulled without/);
    await pullAll({ withoutVoices: true });
    expect((await loadModel(folder)).presets.size).toBe(0);
  });

  it("takes ModelScope for a source as well", async () => {
    await client.close();
    open("modelscope");
    putRelease(hub, { lm: LM, codec: CODEC }, "modelscope");
    const { manifest } = await pullAll();
    expect(manifest.source).toBe("modelscope");
    expect(manifest.repositories[0]).toMatchObject({
      repository: "openmoss/MOSS-TTS-Nano",
      revision: "master",
      licence: "apache license 2.0",
    });
    expect(await findFaults(folder, manifest)).toEqual([]);
  });
});

describe("an interrupted pull", () => {
  it("leaves no model, and goes on with the missing bytes", async () => {
    await interrupt();
    expect(existsSync(folder)).toBe(false);
    const plan = await planPull(source, choices(), noWait);
    const [config, tokenizer] = plan.files.map(({ file }) => file.size);
    const part = plan.presentBytes - (config ?? 0) - (tokenizer ?? 0);
    expect(part).toBeGreaterThanOrEqual(100_000);
    expect(part).toBeLessThan(LM.length);
    hub.seen.length = 0;
    await pull(client, plan, tools, noWait);
    const [first] = hub.fetched.filter(({ host }) => host === "cdn");
    expect(first?.path).toContain("/model.safetensors");
    expect(first?.range).toBe(`bytes=${part}-`);
    expect((await readManifest(folder))?.files).toHaveLength(8);
  });

  it("leaves the model that stood there as it was", async () => {
    await pullAll();
    hub.commit = "2".repeat(40);
    putRelease(hub, { lm: weightsOf(400_000), codec: CODEC });
    await interrupt();
    expect(readFileSync(join(folder, "lm/model.safetensors")).equals(LM)).toBe(true);
  });

  it("that ended between its last two steps is put right by the next", async () => {
    await pullAll();
    const places = placesOf(folder);
    mkdirSync(places.workspace);
    // What a crash leaves behind: the old model moved aside, the new one not there yet.
    renameSync(folder, places.old);
    expect(isUpToDate(await planPull(source, choices(), noWait))).toBe(true);
    expect(existsSync(join(folder, "lm/model.safetensors"))).toBe(true);
  });

  it("that cannot put the new model in its place leaves the old one there", async () => {
    await pullAll();
    const places = placesOf(folder);
    mkdirSync(places.workspace);
    await expect(publish(places)).rejects.toThrow("ENOENT");
    expect(existsSync(join(folder, "lm/model.safetensors"))).toBe(true);
  });

  it("whose weights turn out not to fit keeps what it fetched", async () => {
    const plan = await planPull(source, choices(), noWait);
    const check = async () => {
      throw new Error("transformer.wte.weight has the wrong shape");
    };
    await expect(pull(client, plan, { ...tools, check }, noWait)).rejects.toThrow(
      "the weights do not fit: transformer.wte.weight has the wrong shape",
    );
    expect(existsSync(folder)).toBe(false);
    const again = await planPull(source, choices(), noWait);
    expect(again.presentBytes).toBe(again.totalBytes);
  });
});

describe("what is refused", () => {
  it("a folder that something else lies in", async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, "thesis.txt"), "mine");
    await expect(pullAll()).rejects.toThrow(/was not made by 'pull' .* left alone/);
    expect(readFileSync(join(folder, "thesis.txt"), "utf8")).toBe("mine");
  });

  it("a second pull to the same folder", async () => {
    const plan = await planPull(source, choices(), noWait);
    await withFolderLock(plan.places.lock, async () => {
      const second = pull(client, plan, tools, noWait);
      await expect(second).rejects.toThrow(/another command works on this model \(process \d+/);
    });
    // The lock of a process that is gone is no lock.
    writeFileSync(plan.places.lock, "999999999");
    await pull(client, plan, tools, noWait);
    expect(existsSync(plan.places.lock)).toBe(false);
  });

  it("more than the disk holds", async () => {
    const plan = await planPull(source, choices(), noWait);
    expect(() => checkSpace({ ...plan, freeBytes: 1_000_000 })).toThrow(
      /has 1 MB free and the pull needs up to \d+ MB/,
    );
    await expect(pull(client, { ...plan, freeBytes: 0 }, tools, noWait)).rejects.toThrow("0 MB");
    expect(hub.fetched).toEqual([]);
  });

  it.each(["../evil.json", "/etc/passwd", "lm/../../evil", "a\\..\\b", "", "..", "./x", "a//b"])(
    "a listing with the name %j",
    async (path) => {
      hub.listing = (entries) => [...entries, { type: "file", path, size: 4, oid: "0".repeat(40) }];
      await expect(pullAll()).rejects.toThrow(/only relative paths without '\.\.' are taken/);
      expect(readdirSync(parent)).toEqual([]);
    },
  );

  it.each<[string, () => void, RegExp]>([
    [
      "whose next page lies elsewhere",
      () => {
        hub.nextPageOrigin = "http://127.0.0.1:9";
      },
      /continues at another host \(127\.0\.0\.1:9\)/,
    ],
    [
      "without weights",
      () => {
        hub.listing = (entries) => entries.filter(({ path }) => path !== "model.safetensors");
        hub.pageSize = 100;
      },
      /has no weights; any of model\.safetensors, /,
    ],
    [
      "with a shard too few",
      () => {
        const path = SHARD.replace("of-00001", "of-00002");
        hub.listing = (entries) =>
          entries.map((entry) => (entry.path === SHARD ? { ...entry, path } : entry));
      },
      /has 1 of 2 shards of weights/,
    ],
    [
      "that is none",
      () => {
        hub.hubFaults.push((_, response) => response.end('{"sha": 7}') && true);
      },
      /is not one of Hugging Face \(sha: /,
    ],
    [
      "that is a page for people",
      () => {
        hub.hubFaults.push((_, response) => response.end("<html>") && true);
      },
      /did not answer with JSON/,
    ],
    [
      "that needs a token",
      () => {
        hub.hubFaults.push(status(401));
      },
      /answered 401 .*HF_TOKEN has to be set/,
    ],
  ])("a listing %s", async (_, spoil, message) => {
    spoil();
    await expect(pullAll()).rejects.toThrow(message);
    expect(existsSync(folder)).toBe(false);
  });

  it("weights that are only a promise of the listing", async () => {
    hub.cdnFaults.push(...Array.from({ length: 20 }, () => status(404)));
    await expect(pullAll()).rejects.toThrow(/answered 404 for .*tokenizer\.model/);
    expect(existsSync(folder)).toBe(false);
  });
});

it("a spoilt model is found, and every fault is named", async () => {
  const { manifest } = await pullAll();
  expect(await findFaults(folder, manifest)).toEqual([]);
  const weights = readFileSync(join(folder, "lm/model.safetensors"));
  weights[1000] = (weights[1000] ?? 0) ^ 1;
  writeFileSync(join(folder, "lm/model.safetensors"), weights);
  const { size } = statSync(join(folder, "codec/model.safetensors"));
  truncateSync(join(folder, "codec/model.safetensors"), size - 1);
  rmSync(join(folder, "voices/Ava.json"));
  writeFileSync(join(folder, "voices/mine.json"), "{}");
  expect(await findFaults(folder, manifest)).toEqual([
    { path: "codec/model.safetensors", problem: `has ${size - 1} bytes instead of ${size}` },
    { path: "voices/Ava.json", problem: "is missing" },
    { path: "lm/model.safetensors", problem: "has another content (SHA-256 differs)" },
  ]);
  expect(await foreignFiles(folder, manifest)).toEqual(["voices/mine.json"]);
});

it("a pulled model is found where it lies in its usual place, once it is there as a whole", async () => {
  expect(await pulledModels(parent)).toEqual([]);
  const target = join(parent, "native/models/moss-tts-nano");
  await pullAll({ folder: target });
  expect((await pulledModels(parent)).map(({ id }) => id)).toEqual(["moss-tts-nano"]);
  rmSync(join(target, "manifest.json"));
  expect(await pulledModels(parent)).toEqual([]);
});
