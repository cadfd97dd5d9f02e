/** One file: whole, in pieces, through redirects, and from servers that break off, lie, refuse or fall silent. */
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HubClient } from "./client.ts";
import { type DownloadHooks, download } from "./download.ts";
import { openSource } from "./open-source.ts";
import type { RemoteFile, Source } from "./source.ts";
import { breakAfter, status, TestHub, weightsOf } from "./test-hub.ts";

const REPOSITORY = "maker/model";
const CONTENT = weightsOf(300_000);
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");

let folder: string;
let hub: TestHub;
let client: HubClient;
let source: Source;
let target: string;
let pauses: number[];

const hooks: DownloadHooks = {
  sleep: async (ms) => {
    pauses.push(ms);
  },
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sonant-hub-"));
  target = join(folder, "model.safetensors");
  pauses = [];
  hub = await TestHub.start();
  hub.put(REPOSITORY, "model.safetensors", CONTENT, true);
  hub.put(REPOSITORY, "config.json", '{"small": true}');
  ({ client, source } = openSource(
    "huggingface",
    { HF_ENDPOINT: hub.url, HF_TOKEN: "hf_secret" },
    400,
  ));
});

afterEach(async () => {
  await client.close();
  await hub.close();
  rmSync(folder, { recursive: true });
});

async function listed(path: string): Promise<RemoteFile> {
  const { files } = await source.snapshot(REPOSITORY);
  const file = files.find((candidate) => candidate.path === path);
  if (file === undefined) throw new Error(`${path} is not listed`);
  return file;
}

const fetchWeights = async (extra: DownloadHooks = {}) =>
  download(client, await listed("model.safetensors"), target, { ...hooks, ...extra });

const ranges = () =>
  hub.seen.filter(({ host }) => host === "cdn").map(({ range }) => range ?? "whole");

describe("a file", () => {
  it("arrives through a redirect, and the token stays with the host it is for", async () => {
    expect(await fetchWeights()).toBe(SHA256);
    expect(readFileSync(target).equals(CONTENT)).toBe(true);
    expect(readdirSync(folder)).toEqual(["model.safetensors"]);
    for (const { host, authorization } of hub.seen) {
      expect(authorization).toBe(host === "hub" ? "Bearer hf_secret" : undefined);
    }
  });

  it("that is small is checked by Git's own hash", async () => {
    const small = await listed("config.json");
    await download(client, small, join(folder, "config.json"), hooks);
    const wrong = { ...small, gitSha1: "0".repeat(40) };
    await expect(download(client, wrong, join(folder, "other.json"), hooks)).rejects.toThrow(
      /config\.json arrived with another hash .* promised, twice; nothing of it was kept/,
    );
    expect(readdirSync(folder)).toEqual(["config.json"]);
  });

  it("that is there and right is not asked for again", async () => {
    await fetchWeights();
    const before = hub.fetched.length;
    await fetchWeights();
    expect(hub.fetched.length).toBe(before);
  });

  it("is fetched again where other bytes of the same length lie there", async () => {
    writeFileSync(target, weightsOf(CONTENT.length));
    expect(await fetchWeights()).toBe(SHA256);
  });
});

describe("after an interruption", () => {
  /** Leaves the first part of the file, as a command that was ended does. */
  async function interrupted(): Promise<number> {
    const abort = new AbortController();
    hub.cdnFaults.push((request, response, content) => {
      response.writeHead(200, { etag: etagOf(), "content-length": content.length });
      response.write(content.subarray(0, 100_000));
      return request && true;
    });
    const onBytes = (bytes: number) => {
      if (bytes === 100_000) abort.abort(new Error("ended"));
    };
    await expect(fetchWeights({ signal: abort.signal, onBytes })).rejects.toThrow("ended");
    return readFileSync(`${target}.part`).length;
  }
  const etagOf = () => `"${SHA256.slice(0, 32)}"`;

  it("only the missing bytes are asked for", async () => {
    expect(await interrupted()).toBe(100_000);
    expect(readdirSync(folder)).toEqual(["model.safetensors.part", "model.safetensors.part.json"]);
    expect(await fetchWeights()).toBe(SHA256);
    expect(ranges()).toEqual(["whole", "bytes=100000-"]);
    expect(hub.seen.at(-1)?.ifRange).toBe(etagOf());
    expect(readFileSync(target).equals(CONTENT)).toBe(true);
  });

  it("another version on the host is fetched from its beginning", async () => {
    await interrupted();
    const note = JSON.parse(readFileSync(`${target}.part.json`, "utf8"));
    writeFileSync(`${target}.part.json`, JSON.stringify({ ...note, etag: '"older"' }));
    expect(await fetchWeights()).toBe(SHA256);
  });

  it("a part that was spoilt is found by the hash and fetched anew", async () => {
    await interrupted();
    writeFileSync(`${target}.part`, Buffer.alloc(100_000));
    expect(await fetchWeights()).toBe(SHA256);
    expect(ranges()).toEqual(["whole", "bytes=100000-", "whole"]);
  });

  it("a part of something else is thrown away", async () => {
    await interrupted();
    const note = JSON.parse(readFileSync(`${target}.part.json`, "utf8"));
    writeFileSync(`${target}.part.json`, JSON.stringify({ ...note, content: "other" }));
    expect(await fetchWeights()).toBe(SHA256);
    expect(ranges()).toEqual(["whole", "whole"]);
  });

  it("a link that lies in the part's place is not written through", async () => {
    const victim = join(folder, "victim");
    mkdirSync(join(folder, "elsewhere"));
    writeFileSync(victim, "untouched");
    symlinkSync(victim, `${target}.part`);
    expect(await fetchWeights()).toBe(SHA256);
    expect(readFileSync(victim, "utf8")).toBe("untouched");
  });
});

describe("a bad connection", () => {
  it("is taken up where it broke off, as often as it gets further", async () => {
    for (let i = 0; i < 8; i++) hub.cdnFaults.push(breakAfter(30_000));
    expect(await fetchWeights()).toBe(SHA256);
    expect(ranges().length).toBe(9);
    expect(new Set(ranges()).size).toBe(9);
    // Each attempt got further, so none waited longer than the first.
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1250);
  });

  it.each([
    ["429 with a time to wait", status(429, { "retry-after": "7" }), 7000],
    ["503", status(503), 500],
    ["silence", () => true as const, 500],
  ])("%s is waited out", async (_, fault, leastPause) => {
    hub.cdnFaults.push(fault);
    expect(await fetchWeights()).toBe(SHA256);
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(leastPause);
  });

  it("that never gets better is given up, more and more slowly", async () => {
    for (let i = 0; i < 20; i++) hub.cdnFaults.push(status(502));
    await expect(fetchWeights()).rejects.toThrow(/answered 502 .*; given up after 6 attempts$/);
    expect(pauses).toHaveLength(5);
    expect(pauses[4]).toBeGreaterThan((pauses[0] ?? 0) * 4);
  });
});

describe("a host that lies", () => {
  it.each<[string, Parameters<TestHub["cdnFaults"]["push"]>[0], RegExp]>([
    [
      "about the length",
      (_, response) => response.writeHead(200, { "content-length": 9 }).end("not found") && true,
      /it has 9 bytes there and 300000 in the listing/,
    ],
    [
      "by going on",
      (_, response, content) =>
        response.writeHead(200).end(Buffer.concat([content, content])) && true,
      /model\.safetensors goes on after its 300000 bytes/,
    ],
    [
      "by packing",
      (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x") && true,
      /it came packed \(gzip\)/,
    ],
    ["with 204", status(204), /the host answered 204/],
    ["with 403", status(403), /answered 403 .*HF_TOKEN may not read it/],
    ["with 404", status(404), /answered 404/],
    ["with redirects without end", redirectToItself(), /redirects more than 5 times/],
    [
      "with a redirect to another scheme",
      status(302, { location: "file:///etc/passwd" }),
      /redirects to the scheme file:/,
    ],
  ])("%s is refused", async (_, fault, message) => {
    for (let i = 0; i < 8; i++) hub.cdnFaults.push(fault);
    await expect(fetchWeights()).rejects.toThrow(message);
    expect(readdirSync(folder)).not.toContain("model.safetensors");
  });

  it("about the content is tried once more, and then refused", async () => {
    const other = weightsOf(CONTENT.length);
    for (let i = 0; i < 2; i++) {
      hub.cdnFaults.push((_, response) => response.writeHead(200).end(other) && true);
    }
    await expect(fetchWeights()).rejects.toThrow(/another hash .*, twice; nothing of it was kept/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("about the part that it sends is begun anew", async () => {
    hub.cdnFaults.push(breakAfter(50_000), (_, response, content) => {
      const range = `bytes 0-${content.length - 1}/${content.length}`;
      response.writeHead(206, { "content-range": range }).end(content);
      return true;
    });
    expect(await fetchWeights()).toBe(SHA256);
    expect(ranges()).toEqual(["whole", "bytes=50000-", "whole"]);
  });
});

function redirectToItself() {
  return status(302, { location: "?again" });
}
