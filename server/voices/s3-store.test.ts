/**
 * Voices in a real object service. It has no conditional writes, so what they are for is shown by a service in between
 * that adds them.
 */
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ObjectService } from "../cases/object-service.ts";
import { type S3StoreOptions, S3VoiceStore } from "./s3-store.ts";
import { itKeepsVoices, names, type StorePlace } from "./test-store-contract.ts";
import { codesOf, draft, KEY } from "./test-voices.ts";

vi.setConfig({ testTimeout: 60_000 });

let service: ObjectService;
let client: S3Client;
let prefix: string;
let tests = 0;
const logged: string[] = [];

beforeAll(async () => {
  service = await ObjectService.start();
  for (const [name, value] of Object.entries(service.environment)) vi.stubEnv(name, value);
  client = new S3Client({ endpoint: service.endpoint, region: "x", forcePathStyle: true });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  client.destroy();
  await service.close();
});
beforeEach(() => {
  prefix = `test-${tests++}/`;
  logged.length = 0;
});

async function open(options: S3StoreOptions = {}, endpoint = service.endpoint) {
  const address = { bucket: service.bucket, endpoint, region: undefined, forcePathStyle: true };
  const store = S3VoiceStore.open(
    { ...address, prefix },
    { freshMs: 0, log: (line) => logged.push(line), ...options },
  );
  await store.tidied;
  return store;
}

const inBucket = (key = "") => ({ Bucket: service.bucket, Key: key });

/** Keys of all objects of this test, without their prefix. */
async function keys(): Promise<string[]> {
  const wish = { Bucket: service.bucket, Prefix: prefix };
  const { Contents = [] } = await client.send(new ListObjectsV2Command(wish));
  return Contents.map(({ Key = "" }) => Key.slice(prefix.length));
}

async function content(key: string): Promise<Buffer> {
  const { Body: body } = await client.send(new GetObjectCommand(inBucket(prefix + key)));
  return Buffer.from((await body?.transformToByteArray()) ?? []);
}

const put = (key: string, Body: Uint8Array | string) =>
  client.send(new PutObjectCommand({ ...inBucket(prefix + key), Body }));

const place: StorePlace = {
  open,
  async kept() {
    return [...new Set((await keys()).map((key) => /voice_[0-9a-f-]{36}/.exec(key)?.[0] ?? key))];
  },
  async damage(id, file, damaged) {
    const folder = file === "voice.json" ? `details/${id}` : `files/${id}/${file}`;
    const key = (await keys()).find((each) => each.startsWith(folder)) ?? "";
    await put(key, damaged(await content(key)));
  },
};

describe("in a bucket", () => itKeepsVoices(() => place));

describe("a bucket", () => {
  it("holds keys that say nothing of a voice's name", async () => {
    const store = await open();
    for (const name of ["../../outside", "/etc/passwd", "a\0b"]) await store.put(draft(name));
    const entry = /^(details\/voice_[0-9a-f-]{36}\.0\.json|files\/voice_[0-9a-f-]{36}\/[\w.-]+)$/;
    expect((await keys()).filter((key) => !entry.test(key))).toEqual([]);
  });

  it("that is away is said to be, once, and is used again when it is back", async () => {
    const store = await open({ freshMs: 0 });
    const { id } = await store.put(draft("Ada"));
    await service.stop();
    try {
      const away = { code: "voices_unavailable", details: { retryAfterSeconds: 5 } };
      await expect(store.find("Ada")).rejects.toMatchObject(away);
      await expect(store.list()).rejects.toMatchObject(away);
      await expect(store.put(draft("Bea"))).rejects.toMatchObject(away);
      await expect(store.codes(id, KEY)).rejects.toMatchObject(away);
      await expect(store.delete("Ada")).rejects.toMatchObject(away);
      // A server that starts now starts all the same.
      const late = await open();
      await expect(late.find("Ada")).rejects.toMatchObject(away);
    } finally {
      await service.restart();
    }
    expect(await names(store)).toEqual(["Ada"]);
    expect(await store.codes(id, KEY)).toEqual(codesOf(1));
    const away = expect.stringMatching(/^The bucket 'sonant' does not answer: ECONNREFUSED/);
    expect(logged).toEqual([away, away, "The bucket 'sonant' answers again."]);
  });

  it("that does not exist is no empty one", async () => {
    const store = S3VoiceStore.open({
      bucket: "missing",
      endpoint: service.endpoint,
      region: undefined,
      forcePathStyle: true,
      prefix: "",
    });
    await expect(store.find("Ada")).rejects.toMatchObject({ code: "voices_unavailable" });
  });

  it("is cleared of what crashes left, and of nothing else", async () => {
    const store = await open();
    const { id } = await store.put(draft("Ada"));
    const former = await content(`details/${id}.0.json`);
    await store.update(id, { name: "Bea" });
    await put(`details/${id}.0.json`, former);
    const lost = "voice_00000000-0000-4000-8000-000000000000";
    await put(`files/${lost}/sample`, "half");
    await put("files/notes/x", "of somebody else");
    expect(await names(await open())).toEqual(["Bea"]);
    expect(await keys()).toContain(`files/${lost}/sample`);
    await open({ abandonedMs: 0 });
    const left = await keys();
    expect(left).not.toContain(`files/${lost}/sample`);
    expect(left).not.toContain(`details/${id}.0.json`);
    expect(left).toContain("files/notes/x");
    expect(await (await open()).sample(id)).toEqual(draft("Ada").sample);
  });

  it("hides what an upload took the place of until it can be deleted", async () => {
    const store = await open();
    const old = await store.put(draft("Ada"));
    const files = await Promise.all((await keys()).map(async (key) => [key, await content(key)]));
    const voice = await store.put(draft("Ada", 2));
    for (const [key, bytes] of files) await put(String(key), bytes as Buffer);
    const other = S3VoiceStore.open(
      { ...{ bucket: service.bucket, endpoint: service.endpoint }, ...ANYWHERE, prefix },
      { freshMs: 0 },
    );
    expect((await other.find("Ada"))?.id).toBe(voice.id);
    await other.tidied;
    expect(await place.kept()).toEqual([voice.id]);
    await expect(other.sample(old.id)).rejects.toMatchObject({ code: "voice_not_found" });
  });

  it("never shows a voice whose upload was cut off before its last object", async () => {
    const store = await open();
    const { id } = await store.put(draft("Ada"));
    await client.send(new DeleteObjectCommand(inBucket(`${prefix}details/${id}.0.json`)));
    expect(await names(await open())).toEqual([]);
    expect(await store.find("Ada")).toBeUndefined();
    expect(logged).toEqual([]);
  });
});

const ANYWHERE = { region: undefined, forcePathStyle: true };

/** What stands between a store and the service: it sees all requests, and adds conditional writes as S3 has them. */
interface Between {
  readonly url: string;
  /** Methods and keys of changes, in their order; writes that were refused have a mark. */
  readonly changes: string[];
  readonly server: Server;
}

interface Moods {
  /** So many writes to keys that contain the text arrive before any of them is passed on. */
  readonly meeting?: { readonly at: string; readonly writes: number };
  /** Statuses of the first conditional writes. */
  readonly statuses?: number[];
}

async function stand({ meeting, statuses = [] }: Moods): Promise<Between> {
  const changes: string[] = [];
  /** By path: when an object that is there, or is coming, has come. */
  const taken = new Map<string, Promise<unknown>>();
  const met: Array<() => void> = [];
  const server = createServer((asked, answer) => {
    const { method = "GET", url: path = "/", headers } = asked;
    const key = new URL(path, "http://x").pathname.split("/").slice(3).join("/");
    const isWrite = method === "PUT";
    const pass = () => {
      const isConditional = isWrite && headers["if-none-match"] === "*";
      const status = isConditional ? statuses.shift() : undefined;
      if (status !== undefined) {
        asked.resume();
        answer.writeHead(status).end("<Error><Code>Other</Code></Error>");
        return;
      }
      const there = isConditional ? taken.get(path) : undefined;
      if (method !== "GET" && method !== "HEAD") {
        changes.push(`${method} ${key}${there ? " refused" : ""}`);
      }
      if (there !== undefined) {
        asked.resume();
        const refusal = "<Error><Code>PreconditionFailed</Code></Error>";
        void there.then(() => answer.writeHead(412).end(refusal));
        return;
      }
      if (isWrite) taken.set(path, once(answer, "close"));
      if (method === "DELETE") taken.delete(path);
      const passed = request(service.endpoint + path, { method, headers }, (given) => {
        answer.writeHead(given.statusCode ?? 500, given.headers);
        given.pipe(answer);
      });
      asked.pipe(passed);
    };
    const { at, writes } = meeting ?? { at: "", writes: 0 };
    if (!isWrite || !key.includes(at) || met.length === writes) return pass();
    if (met.push(pass) === writes) for (const go of met) go();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, changes, server };
}

describe("a bucket with conditional writes", () => {
  let between: Between;
  afterEach(() => {
    between.server.closeAllConnections();
    between.server.close();
  });

  it("keeps both of two changes that processes make at once", async () => {
    between = await stand({ meeting: { at: ".1.json", writes: 2 } });
    const [one, two] = [await open({}, between.url), await open({}, between.url)];
    const { id } = await one.put(draft("Ada"));
    await Promise.all([
      one.update(id, { speakerDescription: "calm" }),
      two.update(id, { language: "zh" }),
    ]);
    const both = { id, name: "Ada", speakerDescription: "calm", language: "zh" };
    expect(await one.list()).toMatchObject([both]);
    expect(await two.find("Ada")).toMatchObject(both);
    expect(between.changes.filter((change) => change.includes("details/"))).toEqual([
      `PUT details/${id}.0.json`,
      `PUT details/${id}.1.json`,
      `PUT details/${id}.1.json refused`,
      `DELETE details/${id}.0.json`,
      `PUT details/${id}.2.json`,
      `DELETE details/${id}.1.json`,
    ]);
  });

  it("tries again where it meets others, and does without where there are none", async () => {
    between = await stand({ statuses: [409, 501] });
    const store = await open({}, between.url);
    const { id } = await store.put(draft("Ada"));
    expect(await store.update(id, { name: "Bea" })).toMatchObject({ id, name: "Bea" });
    expect(await names(await open())).toEqual(["Bea"]);
  });

  it("shows a voice last when it is stored, and hides it first when it is deleted", async () => {
    between = await stand({});
    const store = await open({}, between.url);
    const { id } = await store.put(draft("Ada"));
    expect(between.changes.at(-1)).toBe(`PUT details/${id}.0.json`);
    const former = await content(`details/${id}.0.json`);
    await put(`details/${id}.2.json`, former);
    await store.delete("Ada");
    // Former details before newer ones, so that a crash in between brings none of them to light.
    const deletions = between.changes.filter((change) => change.startsWith("DELETE"));
    expect(deletions.slice(0, 2)).toEqual([0, 2].map((n) => `DELETE details/${id}.${n}.json`));
    expect(deletions.slice(2).every((change) => change.includes(`files/${id}/`))).toBe(true);
    expect(await keys()).toEqual([]);
  });
});
