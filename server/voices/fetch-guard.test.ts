import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../protocol/envelope.ts";
import {
  type Address,
  checkUrl,
  FETCH_POLICY,
  type FetchPolicy,
  fetchGuarded,
  type Resolve,
  redirectTarget,
} from "./fetch-guard.ts";

const servers: Server[] = [];

/** A server on this machine; its port and the paths that were asked for. */
async function serve(listener: RequestListener) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.headers.host} ${request.url}`);
    listener(request, response);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, paths };
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const policy = (changes: Partial<FetchPolicy>): FetchPolicy => ({ ...FETCH_POLICY, ...changes });
const local: Resolve = async () => [{ address: "127.0.0.1", family: 4 }];

/** The error that a fetch ends with, and the reason that only the log sees. */
async function refusal(fetching: Promise<unknown>): Promise<{ error: ApiError; reason: string }> {
  const error = await fetching.then(
    () => expect.unreachable("it was fetched"),
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(ApiError);
  return { error, reason: String((error.details.cause as Error).message) };
}

const MESSAGE = /^ref_audio could not be fetched: /;

describe("before anything is sent", () => {
  const never: Resolve = () => expect.unreachable("a name was resolved");

  it.each([
    "http://127.0.0.1/a.wav",
    "http://[::1]/a.wav",
    "http://[::ffff:127.0.0.1]/a.wav",
    "http://169.254.169.254/latest",
    "http://0x7f000001/a.wav",
    "http://2130706433/a.wav",
    "http://0177.1/a.wav",
    "http://10.0.0.1/a.wav",
    "http://100.64.0.1/a.wav",
    "http://0.0.0.0/a.wav",
    "http://user:pw@example.com/a.wav",
    "http://example.com:9/a.wav",
    "ftp://example.com/a.wav",
    "file:///etc/hostname",
    "http://",
  ])("refuses %s with the same words", async (url) => {
    const { error } = await refusal(fetchGuarded(url, FETCH_POLICY, undefined, never));
    expect(error.code).toBe("reference_unreachable");
    expect(error.message).toMatch(MESSAGE);
    expect(error.message).not.toMatch(/\d/);
  });

  it("refuses a name if any of its addresses is inside", async () => {
    const { port, paths } = await serve((_, response) => response.end());
    const mixed: Resolve = async () => [
      { address: "93.184.216.34", family: 4 },
      { address: "::ffff:10.0.0.1", family: 6 },
    ];
    const rules = policy({ extraPorts: [port] });
    for (const resolve of [local, mixed]) {
      const fetching = fetchGuarded(`http://example.com:${port}/`, rules, undefined, resolve);
      expect((await refusal(fetching)).reason).toMatch(/private/);
    }
    expect(paths).toEqual([]);
  });

  it("refuses link-local addresses even where private ones are allowed", async () => {
    const rules = policy({ allowPrivate: true });
    const fetching = fetchGuarded("http://169.254.169.254/", rules, undefined, never);
    expect((await refusal(fetching)).reason).toMatch(/forbidden/);
  });

  it("keeps to the allowed domains", () => {
    const rules = policy({ allowedDomains: ["audio.example.com"] });
    expect(checkUrl("https://AUDIO.example.com./a.wav", rules).pathname).toBe("/a.wav");
    expect(() => checkUrl("https://example.com/a.wav", rules)).toThrow(/allowed domains/);
  });

  it("never goes from https to http", () => {
    const from = new URL("https://example.com/a");
    expect(redirectTarget(from, "/b", FETCH_POLICY).href).toBe("https://example.com/b");
    expect(() => redirectTarget(from, "http://example.com/b", FETCH_POLICY)).toThrow(/https/);
    expect(() => redirectTarget(from, "//u:p@example.com/", FETCH_POLICY)).toThrow(/credentials/);
  });
});

describe("a fetch", () => {
  it("connects to the address that was checked, under the name that was given", async () => {
    const audio = { "content-type": "audio/wav; x=1" };
    const { port, paths } = await serve((_, response) => {
      response.writeHead(200, audio).end("sound");
    });
    const asked: string[] = [];
    const resolve = async (name: string): Promise<readonly Address[]> => {
      asked.push(name);
      return local(name);
    };
    const rules = policy({ allowPrivate: true, extraPorts: [port] });
    const bytes = await fetchGuarded(`http://voice.test:${port}/a`, rules, undefined, resolve);
    expect(Buffer.from(bytes).toString()).toBe("sound");
    expect(asked).toEqual(["voice.test"]);
    expect(paths).toEqual([`voice.test:${port} /a`]);
  });

  it("follows three redirects and no fourth", async () => {
    const { port, paths } = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.writeHead(200, { "content-type": "audio/wav" }).end("sound");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const rules = policy({ trustedHosts: [`127.0.0.1:${port}`] });
    expect(await fetchGuarded(`http://127.0.0.1:${port}/3`, rules)).toHaveLength(5);
    const { reason } = await refusal(fetchGuarded(`http://127.0.0.1:${port}/4`, rules));
    expect(reason).toMatch(/redirects/);
    expect(paths).toHaveLength(8);
  });

  it("checks where a redirect leads", async () => {
    const inside = await serve((_, response) => response.end("secret"));
    const { port } = await serve((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${inside.port}/metrics` }).end();
    });
    const rules = policy({ trustedHosts: [`127.0.0.1:${port}`], extraPorts: [inside.port] });
    const { reason } = await refusal(fetchGuarded(`http://127.0.0.1:${port}/`, rules));
    expect(reason).toMatch(/private/);
    expect(inside.paths).toEqual([]);
  });

  it.each<[string, RequestListener, RegExp]>([
    ["endless", (_, response) => endless(response), /bytes/],
    ["too large", (_, r) => r.writeHead(200, { "content-length": 2 ** 30 }).write("x"), /bytes/],
    ["refusing", (_, r) => r.writeHead(403).end("no"), /status 403/],
    ["a page", (_, r) => r.writeHead(200, { "content-type": "text/html" }).end("x"), /html/],
    ["packed", (_, r) => r.writeHead(200, { "content-encoding": "gzip" }).end("x"), /encoding/],
    ["cut off", (_, r) => cutOff(r), /abort|closed|hang up/i],
  ])("gives up on an answer that is %s", async (_, listener, expected) => {
    const { port } = await serve(listener);
    const rules = policy({ trustedHosts: [`127.0.0.1:${port}`], maxBytes: 100_000 });
    const { error, reason } = await refusal(fetchGuarded(`http://127.0.0.1:${port}/`, rules));
    expect(reason).toMatch(expected);
    expect(error.message).toMatch(MESSAGE);
    expect(error.message).not.toMatch(/\d/);
  });

  it("gives up on a server that never answers", async () => {
    const { port, paths } = await serve(() => {});
    const rules = policy({ trustedHosts: [`127.0.0.1:${port}`], totalTimeoutMs: 300 });
    const { error } = await refusal(fetchGuarded(`http://127.0.0.1:${port}/`, rules));
    expect(error.message).toMatch(MESSAGE);
    expect(paths.length).toBeLessThanOrEqual(1);
  });

  it("ends at once when its caller goes away", async () => {
    const controller = new AbortController();
    const reason = new Error("gone");
    const { port } = await serve(() => controller.abort(reason));
    const rules = policy({ trustedHosts: [`127.0.0.1:${port}`] });
    const fetching = fetchGuarded(`http://127.0.0.1:${port}/`, rules, controller.signal);
    await expect(fetching).rejects.toBe(reason);
    const again = fetchGuarded(`http://127.0.0.1:${port}/`, rules, controller.signal);
    await expect(again).rejects.toBe(reason);
  });

  it("does not wait for a name server that never answers", async () => {
    const rules = policy({ totalTimeoutMs: 50 });
    const silent: Resolve = () => new Promise(() => {});
    const fetching = fetchGuarded("http://example.com/", rules, undefined, silent);
    expect((await refusal(fetching)).reason).toMatch(/time/);
  });
});

function endless(response: Parameters<RequestListener>[1]): void {
  response.writeHead(200, { "content-type": "audio/wav" });
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(16_384)));
  };
  response.on("drain", more);
  more();
}

function cutOff(response: Parameters<RequestListener>[1]): void {
  response.writeHead(200, { "content-type": "audio/wav", "content-length": 1000 });
  response.write("half", () => response.destroy());
}
