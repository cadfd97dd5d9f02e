/**
 * nginx with the configuration of deploy/, in front of servers that do one thing each: what an operator's proxy must not
 * do to speech. Envoy cannot be run here; its file is compared with nginx's.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
} from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { ROOT } from "./lib/root.mjs";
import { serverFacts } from "./lib/server-facts.mjs";
import { which } from "./lib/tools.mjs";
import { readYaml } from "./lib/yaml-files.mjs";

const CONFIGURATION = readFileSync(join(ROOT, "deploy/nginx/sonant.conf"), "utf8");
const NAMES = ["sonant-1", "sonant-2", "sonant-3"];
const STARTER = "deploy/starter.yaml";
const starter = serverFacts([STARTER]).files[STARTER];

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

async function readable(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((done) => {
      socket.on("connect", () => done(true)).on("error", () => done(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(25);
  }
  throw new Error("nginx does not answer");
}

describe.skipIf(which("nginx") === undefined)("nginx (Debian: nginx-light)", () => {
  let folder: string;
  let port: number;
  let nginx: ChildProcess;
  const servers: Server[] = [];
  /** What the servers do with a request, by their number; how many came, and the last one. */
  let answer: (at: number) => RequestListener;
  let asked: number[];
  let last: IncomingMessage | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sonant-nginx-"));
    port = await freePort();
    let site = CONFIGURATION.replace("listen 8080;", `listen 127.0.0.1:${port};`);
    for (const [at, name] of NAMES.entries()) {
      const server = createServer((incoming, outgoing) => {
        asked.push(at);
        last = incoming;
        answer(at)(incoming, outgoing);
      });
      const sockets = new WebSocketServer({ noServer: true });
      server.on("upgrade", (incoming, socket, head) => {
        last = incoming;
        sockets.handleUpgrade(incoming, socket, head, (accepted) => {
          accepted.on("message", (data, isBinary) => accepted.send(data, { binary: isBinary }));
        });
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      servers.push(server);
      const { port: own } = server.address() as AddressInfo;
      site = site.replaceAll(`${name}:8091`, `127.0.0.1:${own}`);
    }
    writeFileSync(join(folder, "site.conf"), site);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => {
      mkdirSync(join(folder, kind));
      return `${kind}_temp_path ${join(folder, kind)};`;
    });
    const main = [
      `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;`,
      "events { }",
      `http { access_log off; ${temporary.join(" ")} include ${folder}/site.conf; }`,
    ];
    writeFileSync(join(folder, "nginx.conf"), main.join("\n"));
    nginx = spawn("nginx", ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    await readable(port);
  });

  afterAll(async () => {
    if (nginx !== undefined && nginx.exitCode === null) {
      nginx.kill("SIGTERM");
      await once(nginx, "exit");
    }
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true });
  });

  beforeEach(() => {
    asked = [];
    last = undefined;
    answer = () => (_incoming, outgoing) => outgoing.end("fine");
  });

  const send = async (path: string, body?: string, headers = {}) => {
    const method = body === undefined ? "GET" : "POST";
    const outgoing = request({ host: "127.0.0.1", port, path, method, headers, agent: false });
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    return incoming;
  };
  const text = async (incoming: IncomingMessage) =>
    (await incoming.setEncoding("utf8").toArray()).join("");

  it("lets sound through while more of it is being made", async () => {
    let finish = () => {};
    answer = () => (_incoming, outgoing) => {
      outgoing.write("first");
      finish = () => outgoing.end("last");
    };
    const incoming = await send("/v1/audio/speech", "{}");
    const [first] = (await once(incoming, "data")) as [Buffer];
    expect(first.toString()).toBe("first");
    finish();
    expect(await text(incoming)).toBe("last");
  });

  it("holds nothing for a reader who does not read", async () => {
    const piece = Buffer.alloc(1 << 20);
    let taken = 0;
    answer = () => async (_incoming, outgoing) => {
      for (; taken < 64 && !outgoing.destroyed; taken += 1) {
        if (!outgoing.write(piece))
          await Promise.race([once(outgoing, "drain"), once(outgoing, "close")]);
      }
    };
    const incoming = await send("/v1/audio/speech", "{}");
    // Long enough for a proxy that keeps everything, which takes all of it in a fraction of this.
    await sleep(400);
    expect(taken).toBeLessThan(64);
    incoming.destroy();
  });

  it("asks the next server where one refuses to speak, with the same words", async () => {
    answer = (at) => async (incoming, outgoing) => {
      const body = await text(incoming);
      outgoing.statusCode = at === 2 ? 200 : 503;
      outgoing.end(at === 2 ? body : "full");
    };
    const incoming = await send("/v1/audio/speech", '{"input": "Hello."}');
    expect([incoming.statusCode, await text(incoming)]).toEqual([200, '{"input": "Hello."}']);
  });

  it("hands on the refusal where all are full, with the time to wait", async () => {
    answer = () => (_incoming, outgoing) =>
      outgoing.writeHead(503, { "retry-after": "3" }).end("full");
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const incoming = await send("/v1/audio/speech", "{}");
      expect([incoming.statusCode, incoming.headers["retry-after"]]).toEqual([503, "3"]);
      expect(await text(incoming)).toBe("full");
    }
    expect(asked).toHaveLength(9);
  });

  it("stores a voice at most once, whatever becomes of the server", async () => {
    answer = () => (incoming) => incoming.socket.destroy();
    const incoming = await send("/v1/audio/voices", "a recording");
    expect(incoming.statusCode).toBe(502);
    expect(asked).toHaveLength(1);
    await text(incoming);
  });

  it("neither repeats nor mends speech that broke off", async () => {
    answer = () => (_incoming, outgoing) => {
      outgoing.write("first", () => setImmediate(() => outgoing.socket?.destroy()));
    };
    const incoming = await send("/v1/audio/speech", "{}");
    await expect(text(incoming)).rejects.toThrow("aborted");
    expect(asked).toHaveLength(1);
  });

  it("carries sockets both ways, and says who is there itself", async () => {
    const headers = { "x-forwarded-for": "203.0.113.9" };
    for (const path of ["/v1/audio/speech/ws", "/v1/audio/speech/stream", "/socket.io/?EIO=4"]) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
      await once(socket, "open");
      socket.send("hello");
      const [echo] = await once(socket, "message");
      expect(String(echo)).toBe("hello");
      expect(last?.headers["x-forwarded-for"]).toBe("127.0.0.1");
      socket.close();
      await once(socket, "close");
    }
    await text(await send("/v1/models", undefined, headers));
    expect(last?.headers["x-forwarded-for"]).toBe("127.0.0.1");
  });

  it("shows nobody the metrics", async () => {
    const incoming = await send("/metrics");
    expect([incoming.statusCode, asked]).toEqual([404, []]);
    await text(incoming);
  });
});

describe("every proxy", () => {
  const [envoy] = readYaml("deploy/envoy/envoy.yaml");
  const [manager] = envoy.static_resources.listeners[0].filter_chains[0].filters;
  const [{ routes }] = manager.typed_config.route_config.virtual_hosts;
  const seconds = (value: string | undefined) => Number.parseInt(value ?? "", 10);

  it("waits longer than the server, and takes larger bodies, so that the server's own words are heard", () => {
    const longest = starter?.requestSeconds ?? Number.POSITIVE_INFINITY;
    expect(seconds(/proxy_read_timeout (\d+)s;/.exec(CONFIGURATION)?.[1])).toBeGreaterThan(longest);
    expect(seconds(manager.typed_config.stream_idle_timeout)).toBeGreaterThan(longest);
    const size = seconds(/client_max_body_size (\d+)m;/.exec(CONFIGURATION)?.[1]) * 1024 * 1024;
    expect(size).toBeGreaterThan(starter?.bodyBytes ?? Number.POSITIVE_INFINITY);
    for (const file of ["base/ingress.yaml", "overlays/replicas/sockets.yaml"]) {
      const ingresses = readYaml(`deploy/kubernetes/${file}`).filter(
        ({ kind }) => kind === "Ingress",
      );
      for (const { metadata } of ingresses.filter(
        ({ metadata: { name } }) => name !== "sonant-metrics",
      )) {
        const of = (name: string) => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
        expect(seconds(of("proxy-read-timeout"))).toBeGreaterThan(longest);
        expect(of("proxy-buffering")).toBe("off");
        if (file.startsWith("base")) expect(of("proxy-body-size")).toBe("20m");
      }
    }
  });

  it("knows the same servers and treats the same paths alike", () => {
    const { clusters } = envoy.static_resources;
    for (const { load_assignment: assignment } of clusters) {
      const names = assignment.endpoints[0].lb_endpoints.map(
        ({ endpoint }: { endpoint: { address: { socket_address: { address: string } } } }) =>
          endpoint.address.socket_address.address,
      );
      expect(names).toEqual(NAMES);
    }
    for (const name of NAMES) expect(CONFIGURATION.split(`server ${name}:8091`)).toHaveLength(3);
    const known = clusters.map(({ name }: { name: string }) => name);
    for (const { route, direct_response: direct } of routes) {
      if (direct === undefined) expect(known).toContain(route.cluster);
      else expect(direct.status).toBe(404);
    }
    expect(routes.map(({ match }: { match: object }) => match)).toEqual([
      { path: "/metrics" },
      { safe_regex: { regex: "/v1/audio/speech/(ws|stream)" } },
      { prefix: "/socket.io/" },
      { path: "/v1/audio/speech" },
      { prefix: "/" },
    ]);
  });
});
