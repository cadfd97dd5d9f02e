/**
 * A place that keeps models, for tests: listings and files as Hugging Face and ModelScope answer, large files behind a
 * redirect to a second host. Keeps a record of every request, and misbehaves as it is told.
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Seen {
  readonly host: "hub" | "cdn";
  readonly path: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly authorization: string | undefined;
}

/** Answers in place of the server; anything but true lets the server answer. */
export type Fault = (
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer,
) => true | undefined;

interface Stored {
  readonly content: Buffer;
  readonly large: boolean;
  readonly sha256: string;
}

const COMMIT = "c0ffee".padEnd(40, "0");
const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const gitName = (content: Buffer) =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");

export class TestHub {
  readonly seen: Seen[] = [];
  /** Faults of the large files' host, taken one a request; an empty place is a good answer. */
  readonly cdnFaults: (Fault | undefined)[] = [];
  readonly hubFaults: (Fault | undefined)[] = [];
  /** Replaces entries of listings. */
  listing: (entries: Record<string, unknown>[]) => Record<string, unknown>[] = (entries) => entries;
  commit = COMMIT;
  pageSize = 2;
  /** Host of the second page; the hub itself if empty. */
  nextPageOrigin = "";
  licence: string | undefined = "apache-2.0";
  readonly #repositories = new Map<string, Map<string, Stored>>();
  readonly #servers: Server[] = [];
  url = "";
  cdnUrl = "";

  static async start(): Promise<TestHub> {
    const hub = new TestHub();
    hub.url = await hub.#listen((request, response) => hub.#answerHub(request, response));
    hub.cdnUrl = await hub.#listen((request, response) => hub.#answerCdn(request, response));
    return hub;
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  }

  /** Puts a file there; large ones are kept at the second host. */
  put(repository: string, path: string, content: Buffer | string, large = false): void {
    const files = this.#repositories.get(repository) ?? new Map<string, Stored>();
    this.#repositories.set(repository, files);
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    files.set(path, { content: bytes, large, sha256: sha256(bytes) });
  }

  remove(repository: string): void {
    this.#repositories.delete(repository);
  }

  /** Requests for the contents of files. */
  get fetched(): readonly Seen[] {
    return this.seen.filter(({ host, path }) => host === "cdn" || path.includes("/resolve/"));
  }

  async #listen(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<string> {
    const server = createServer(answer);
    this.#servers.push(server);
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  #note(host: Seen["host"], request: IncomingMessage): string {
    const path = decodeURIComponent(request.url ?? "");
    const { range, authorization } = request.headers;
    const ifRange = request.headers["if-range"] as string | undefined;
    this.seen.push({ host, path, range, ifRange, authorization });
    return path;
  }

  #answerHub(request: IncomingMessage, response: ServerResponse): void {
    const path = this.#note("hub", request);
    if (this.hubFaults.shift()?.(request, response, Buffer.alloc(0))) return;
    const [, scope, repository = "", rest = ""] =
      /^(\/api\/v1\/models|\/api\/models|)\/([^/]+\/[^/?]+)(.*)$/.exec(path) ?? [];
    const files = this.#repositories.get(repository);
    if (files === undefined) {
      response.writeHead(404).end();
    } else if (scope === "/api/models") {
      this.#describe(request, response, repository, files, rest);
    } else if (scope === "/api/v1/models") {
      this.#modelScope(request, response, files, rest);
    } else this.#resolve(request, response, repository, files, rest);
  }

  #describe(
    request: IncomingMessage,
    response: ServerResponse,
    repository: string,
    files: ReadonlyMap<string, Stored>,
    rest: string,
  ): void {
    if (rest.startsWith("/revision/")) {
      const cardData = this.licence === undefined ? null : { license: this.licence };
      json(response, { sha: this.commit, cardData, tags: [] });
      return;
    }
    const all = this.listing(
      [...files].map(([path, { content, large, sha256: oid }]) => ({
        type: "file",
        path,
        oid: large ? gitName(Buffer.from("pointer")) : gitName(content),
        size: content.length,
        ...(large ? { lfs: { oid, size: content.length, pointerSize: 134 } } : {}),
      })),
    );
    const url = new URL(request.url ?? "", this.url);
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const next = from + this.pageSize;
    const query = `?recursive=true&cursor=${next}`;
    const origin = this.nextPageOrigin || this.url;
    const link = `<${origin}/api/models/${repository}/tree/${this.commit}${query}>; rel="next"`;
    json(response, all.slice(from, next), next < all.length ? { link } : {});
  }

  #modelScope(
    request: IncomingMessage,
    response: ServerResponse,
    files: ReadonlyMap<string, Stored>,
    rest: string,
  ): void {
    if (rest.startsWith("/repo/files")) {
      const entries = [...files].map(([Path, { content, sha256: Sha256 }]) => ({
        Type: "blob",
        Path,
        Size: content.length,
        Sha256,
      }));
      const tree = { Type: "tree", Path: "assets", Size: 0, Sha256: "" };
      json(response, { Code: 200, Data: { Files: this.listing([tree, ...entries]) } });
    } else if (rest.startsWith("/repo?")) {
      const path = new URL(request.url ?? "", this.url).searchParams.get("FilePath") ?? "";
      deliver(request, response, files.get(path)?.content);
    } else json(response, { Code: 200, Data: { License: "Apache License 2.0" } });
  }

  #resolve(
    request: IncomingMessage,
    response: ServerResponse,
    repository: string,
    files: ReadonlyMap<string, Stored>,
    rest: string,
  ): void {
    const path = rest.replace(/^\/resolve\/[^/]+\//, "");
    const file = files.get(path);
    if (file?.large) {
      const location = `${this.cdnUrl}/${repository}/${path}?signature=secret`;
      response.writeHead(302, { location, "x-linked-etag": `"${file.sha256}"` }).end();
    } else deliver(request, response, file?.content);
  }

  #answerCdn(request: IncomingMessage, response: ServerResponse): void {
    const path = this.#note("cdn", request);
    const [, repository = "", name = ""] = /^\/([^/]+\/[^/]+)\/([^?]+)/.exec(path) ?? [];
    const content = this.#repositories.get(repository)?.get(name)?.content;
    if (this.cdnFaults.shift()?.(request, response, content ?? Buffer.alloc(0))) return;
    deliver(request, response, content);
  }
}

function json(response: ServerResponse, value: unknown, headers: Record<string, string> = {}) {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** A file, or the rest of it from where the range begins, as long as it is still the same file. */
export function deliver(
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer | undefined,
): void {
  if (content === undefined) {
    response.writeHead(404).end();
    return;
  }
  const etag = `"${sha256(content).slice(0, 32)}"`;
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? Number.NaN);
  const ifRange = request.headers["if-range"];
  if (Number.isNaN(from) || (ifRange !== undefined && ifRange !== etag)) {
    response.writeHead(200, { etag, "content-length": content.length }).end(content);
  } else if (from >= content.length) {
    response.writeHead(416, { "content-range": `bytes */${content.length}` }).end();
  } else {
    const range = `bytes ${from}-${content.length - 1}/${content.length}`;
    const length = content.length - from;
    response.writeHead(206, { etag, "content-range": range, "content-length": length });
    response.end(content.subarray(from));
  }
}

/** Sends the first bytes and then breaks the connection. */
export function breakAfter(bytes: number): Fault {
  return (request, response, content) => {
    const end = response.end.bind(response);
    // What `deliver` would send, cut short.
    response.end = ((piece: Buffer) => {
      response.write(piece.subarray(0, bytes), () => setImmediate(() => response.destroy()));
      return response;
    }) as typeof end;
    deliver(request, response, content);
    return true;
  };
}

/** Answers with a status alone. */
export function status(code: number, headers: Record<string, string> = {}): Fault {
  return (_, response) => {
    response.writeHead(code, headers).end();
    return true;
  };
}

/** Bytes that no compression and no chance makes equal. */
export const weightsOf = (bytes: number) => randomBytes(bytes);
