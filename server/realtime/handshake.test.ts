/** Who may open a socket, and what those hear who may not; and what becomes of connections that nobody answers. */
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ClientOptions } from "ws";
import { TestSocket } from "../cases/test-socket.ts";
import {
  type Changes,
  type Doors,
  openDoors,
  openToneHouse,
  type ToneHouse,
  until,
} from "./test-doors.ts";

let house: ToneHouse;
let doors: Doors;
beforeEach(async () => {
  house = await openToneHouse();
});
afterEach(async () => {
  await doors.close();
  await house.close();
});

interface Refusal {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** Shakes hands and returns the answer of a server that would not. */
function refused(headers: Record<string, string> = {}, path = "/v1/audio/speech/ws") {
  return new Promise<Refusal>((resolve, reject) => {
    const handshake = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": Buffer.alloc(16).toString("base64"),
    };
    request({ port: doors.port, path, headers: { ...handshake, ...headers } })
      .on("upgrade", () => reject(new Error("It was accepted")))
      .on("error", reject)
      .on("response", async (response) => {
        const chunks = await response.toArray();
        const body = JSON.parse(Buffer.concat(chunks).toString()) as unknown;
        resolve({ status: response.statusCode, headers: response.headers, body });
      })
      .end();
  });
}

async function accepted(options: ClientOptions = {}): Promise<TestSocket> {
  const socket = new TestSocket(doors.url, options);
  await socket.opened;
  return socket;
}

const open = async (changes: Changes) => {
  doors = await openDoors(house, changes);
};

describe("a handshake", () => {
  it("needs an origin that is allowed, if it has one", async () => {
    await open({ server: { corsOrigins: ["https://a.example"] } });
    const answer = await refused({ origin: "https://b.example" });
    expect(answer).toMatchObject({ status: 403, body: { error: { reason: "forbidden_origin" } } });
    expect((await refused({ origin: "null" })).status).toBe(403);
    await accepted({ origin: "https://a.example" });
    await accepted({ origin: `http://127.0.0.1:${doors.port}` });
    await accepted();
  });

  it("needs a key where keys are configured", async () => {
    await open({ server: { apiKeys: ["secret"] } });
    const answer = await refused();
    expect(answer).toMatchObject({ status: 401, body: { error: "Unauthorized" } });
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
    expect((await refused({ authorization: "Bearer wrong" })).status).toBe(401);
    await accepted({ headers: { authorization: "Bearer secret" } });
  });

  describe("with a key as a subprotocol, as pages send it", () => {
    const named = (key: string) => `sonant.key.${Buffer.from(key).toString("base64url")}`;
    const offer = (...names: string[]) => ({ "sec-websocket-protocol": names.join(", ") });

    it("is accepted, and the key is not sent back", async () => {
      await open({ server: { apiKeys: ["other", "a/+ü?"] } });
      const protocols = ["voice-speech.v2", named("a/+ü?")];
      const socket = new TestSocket(doors.url, { protocols });
      await socket.opened;
      expect(socket.socket.protocol).toBe("voice-speech.v2");
    });

    it.each([
      ["a wrong key", "voice-speech.v2", named("wrong")],
      ["no key", "voice-speech.v2"],
      ["an empty key", "voice-speech.v2", "sonant.key."],
      ["what is no base64", "voice-speech.v2", "sonant.key.!!!"],
      ["the key without its prefix", "voice-speech.v2", "secret"],
    ])("is refused for %s", async (_, ...names) => {
      await open({ server: { apiKeys: ["secret"] } });
      expect((await refused(offer(...names))).status).toBe(401);
    });

    it("counts less than a header, which decides alone", async () => {
      await open({ server: { apiKeys: ["secret"] } });
      const headers = { ...offer("voice-speech.v2", named("secret")), authorization: "Bearer no" };
      expect((await refused(headers)).status).toBe(401);
    });

    it("counts against the limit of that key, by whichever way it comes", async () => {
      await open({ server: { apiKeys: ["a", "b"], requestsPerMinute: 1 } });
      await accepted({ headers: { authorization: "Bearer a" } });
      expect((await refused(offer("voice-speech.v2", named("a")))).status).toBe(429);
      const other = new TestSocket(doors.url, { protocols: ["voice-speech.v2", named("b")] });
      await other.opened;
    });
  });

  it("is refused on paths that are none of ours", async () => {
    await open({});
    expect((await refused({}, "/v1/nothing")).status).toBe(404);
  });

  it("counts against the limit on requests", async () => {
    await open({ server: { requestsPerMinute: 1 } });
    await accepted();
    const { status, headers } = await refused();
    expect(status).toBe(429);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  });

  it("is refused while the server is shutting down", async () => {
    await open({});
    await house.service.drain(0);
    const { status, headers, body } = await refused();
    expect([status, body]).toMatchObject([503, { error: { reason: "shutting_down" } }]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  });

  it("that is broken off in the middle hurts nobody", async () => {
    await open({ server: { apiKeys: ["secret"] } });
    for (let i = 0; i < 20; i++) {
      const socket = connect(doors.port, "127.0.0.1").on("error", () => {});
      const head = "GET /v1/audio/speech/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n";
      socket.write(`${head}Upgrade: websocket\r\n\r\n`, () => socket.resetAndDestroy());
    }
    await until(() => doors.connections.length === 20);
    await until(() => doors.connections.every(({ destroyed }) => destroyed));
    await accepted({ headers: { authorization: "Bearer secret" } });
  });
});

it("no compression is offered, so that small messages stay small", async () => {
  await open({});
  const socket = await accepted({ perMessageDeflate: true });
  expect(socket.socket.extensions).toBe("");
});

describe("the number of sessions", () => {
  it.each([
    ["of all clients", { maxSessions: 2 }],
    ["of one client", { maxSessionsPerClient: 2 }],
  ])("%s is limited, and a place is free again when one has left", async (_, sockets) => {
    await open({ sockets });
    const first = await accepted();
    await accepted();
    const answer = await refused();
    expect(answer).toMatchObject({ status: 429, body: { error: { reason: "too_many_sessions" } } });
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    first.socket.terminate();
    await until(async () => (await house.metrics.text()).includes("ws_sessions 1"));
    await accepted();
  });

  it("of each client behind a proxy is its own, if the proxy is trusted", async () => {
    await open({ sockets: { maxSessionsPerClient: 1 }, server: { trustProxy: true } });
    await accepted({ headers: { "x-forwarded-for": "192.0.2.1" } });
    await accepted({ headers: { "x-forwarded-for": "192.0.2.2" } });
    expect((await refused({ "x-forwarded-for": "192.0.2.1, 192.0.2.9" })).status).toBe(429);
  });
});

it("a connection that answers no ping is ended, and its session with it", async () => {
  await open({ sockets: { heartbeatMs: 100 } });
  const dead = await accepted({ autoPong: false });
  const alive = await accepted();
  dead.send({ type: "session.config" });
  await until(() => house.service.openSessions === 1);
  expect((await dead.closed()).code).toBe(1006);
  await until(() => house.service.openSessions === 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(alive.summary()).toBe("");
});
