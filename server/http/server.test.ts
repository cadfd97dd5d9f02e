/** What all routes share: router answers, keys, limits, CORS, ids, bodies; and the small documents. */
import { afterEach, expect, it } from "vitest";
import { type EngineFacts, Version } from "../protocol/documents.ts";
import { ErrorEnvelope } from "../protocol/envelope.ts";
import { LimitsDocument } from "../protocol/limits.ts";
import { Access } from "./access.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { post, startTestServer, type TestOptions, type TestServer } from "./test-server.ts";

const SPEECH = "/v1/audio/speech";
/** Routes for other programs' habits, the documents themselves, and one that only says that it is not there. */
const UNDESCRIBED = ["/ping", "/openapi.json", "/asyncapi.json", "/v1/audio/generate"];
/** Paths of sockets, which are not the router's. */
const SOCKETS = ["/v1/audio/speech/ws", "/v1/audio/speech/stream"];

let server: TestServer | undefined;

afterEach(() => server?.close());

async function start(options: TestOptions = {}): Promise<TestServer> {
  server = await startTestServer(options);
  return server;
}

it("answers unknown paths and wrong methods as a router", async () => {
  const { url } = await start();
  const unknown = await fetch(`${url}/v1/nope`);
  expect([unknown.status, await unknown.json()]).toEqual([404, { detail: "Not Found" }]);
  const wrong = await fetch(url + SPEECH);
  expect([wrong.status, await wrong.json()]).toEqual([405, { detail: "Method Not Allowed" }]);
  expect(wrong.headers.get("allow")).toBe("POST");
  const one = await fetch(`${url}/v1/audio/voices/clara`, { method: "PUT" });
  expect(one.headers.get("allow")).toBe("DELETE, GET, HEAD, PATCH");
});

it("asks for a key where one is configured, and nowhere else", async () => {
  const house = await start({ server: { apiKeys: ["k1", "k2"] } });
  const body = { input: "Hi." };
  const missing = await post(house, SPEECH, body);
  expect([missing.status, await missing.json()]).toEqual([401, { error: "Unauthorized" }]);
  expect(missing.headers.get("www-authenticate")).toBe("Bearer");
  expect(house.rejected).toEqual(["unauthorized"]);
  for (const authorization of ["Bearer k3", "k1", "Basic k1", "Bearer ", "Bearer k1 k2"]) {
    expect((await post(house, SPEECH, body, { headers: { authorization } })).status).toBe(401);
  }
  const right = { headers: { authorization: "Bearer k2" } };
  expect((await post(house, SPEECH, body, right)).status).toBe(200);
  expect((await fetch(`${house.url}/health`)).status).toBe(200);
  expect((await fetch(`${house.url}/%761/models`)).status).toBe(401);
  expect((await fetch(`${house.url}/v1/models`)).status).toBe(401);
});

it("limits the requests of a client and says when to come back", async () => {
  const house = await start({ server: { requestsPerMinute: 2 } });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await fetch(`${house.url}/v1/models`)).status);
  expect(statuses).toEqual([200, 200, 429]);
  const refused = await fetch(`${house.url}/v1/models`);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await refused.json()).error.type).toBe("RateLimitError");
  expect(house.rejected).toEqual(["rate_limited", "rate_limited"]);
  expect((await fetch(`${house.url}/health`)).status).toBe(200);
});

it("counts by key where keys are asked for, and refills with time", async () => {
  let now = 0;
  const access = new Access({ apiKeys: ["a", "b"], requestsPerMinute: 1, now: () => now });
  await access.count("Bearer a", "1.1.1.1");
  await access.count("Bearer b", "1.1.1.1");
  await expect(access.count("Bearer a", "2.2.2.2")).rejects.toThrow("Too many requests");
  now += 60_000;
  await access.count("Bearer a", "2.2.2.2");
});

it("forgets clients that have been away", () => {
  let now = 0;
  const limiter = new RateLimiter(5, 1000, () => now);
  for (let i = 0; i < 10_000; i++) limiter.take(String(i));
  now = 1000;
  limiter.take("new");
  expect(limiter.clients).toBe(1);
});

it("lets browsers in from the origins that are allowed", async () => {
  const house = await start({ server: { corsOrigins: ["https://a.example"], apiKeys: ["k"] } });
  const preflight = (origin: string) =>
    fetch(house.url + SPEECH, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-headers": "x-mine" },
    });
  const allowed = await preflight("https://a.example");
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get("access-control-allow-origin")).toBe("https://a.example");
  expect(allowed.headers.get("access-control-allow-headers")).toBe("x-mine");
  expect(allowed.headers.get("access-control-expose-headers")).toContain("X-Seed");
  expect(allowed.headers.get("access-control-allow-methods")).toContain("PATCH");
  const foreign = await preflight("https://b.example");
  expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
});

it("keeps a client's request id if it is fit for a header, else makes one", async () => {
  const { url } = await start();
  const idOf = async (id: string) =>
    (await fetch(`${url}/health`, { headers: { "x-request-id": id } })).headers.get("x-request-id");
  expect(await idOf("abc-1.2:3")).toBe("abc-1.2:3");
  expect(await idOf("a b")).toMatch(/^speech-[0-9a-f-]{36}$/);
});

it("refuses bodies that it cannot read, in the envelope", async () => {
  const house = await start();
  const bodies: [BodyInit | null, Record<string, string>, number, string][] = [
    ["{", { "content-type": "application/json" }, 400, "invalid_json"],
    ["{}", { "content-type": "text/plain" }, 400, "unsupported_media_type"],
    [null, {}, 400, "unsupported_media_type"],
    ["", { "content-type": "application/json" }, 400, "invalid_json"],
    ["[]", { "content-type": "application/json; charset=utf-8" }, 400, "schema_violation"],
    ["x".repeat(17 * 2 ** 20), { "content-type": "application/json" }, 413, "body_too_large"],
  ];
  for (const [body, headers, status, reason] of bodies) {
    const answer = await fetch(house.url + SPEECH, { method: "POST", body, headers });
    const { error } = ErrorEnvelope.parse(await answer.json());
    expect([answer.status, error.code, error.reason]).toEqual([status, status, reason]);
  }
});

it("tells how it is", async () => {
  const house = await start();
  const get = async (path: string) => {
    const answer = await fetch(house.url + path);
    return [answer.status, await answer.json()];
  };
  expect(await get("/health")).toEqual([200, { status: "healthy", device: "cpu" }]);
  expect(await get("/load")).toEqual([200, { server_load: 0 }]);
  house.speech.load = { active: 4, waiting: 32, capacity: 4, expectedWaitMs: 1 };
  expect(await get("/ready")).toMatchObject([503, { ready: false, reason: "overloaded" }]);
  house.speech.state = { stage: "warming" };
  expect(await get("/health")).toEqual([503, { status: "unhealthy", reason: "warming" }]);
  expect(await get("/ready")).toMatchObject([503, { reason: "warming_up" }]);
  expect(await get("/version")).toMatchObject([200, { version: "1.2.3", commit: "abc" }]);
  expect(await get("/v1/models/sonant-starter")).toMatchObject([200, { object: "model" }]);
  expect(await get("/v1/models/tts-1-2025-12-15")).toMatchObject([200, { root: "sonant-starter" }]);
  const [, limits] = await get("/v1/audio/speech/limits");
  expect(LimitsDocument.parse(limits).default_voice).toBe("clara");
  const metrics = await fetch(`${house.url}/metrics`);
  expect(await metrics.text()).toContain("tts_active_requests");
});

it("tells how it is in plain text as well, the verdict first", async () => {
  const house = await start();
  const get = async (path: string) => {
    const answer = await fetch(house.url + path);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    return [answer.status, await answer.text()];
  };
  house.speech.load = { active: 1, waiting: 0, capacity: 4, expectedWaitMs: 0 };
  expect(await get("/healthz")).toEqual([200, "healthy\ndevice cpu\n"]);
  expect(await get("/readyz")).toEqual([200, "ready\nactive 1\nwaiting 0\ncapacity 4\n"]);
  house.speech.state = { stage: "loading" };
  expect(await get("/healthz")).toEqual([503, "unhealthy\nreason loading\n"]);
  const loading = "not ready\nreason warming_up\nactive 1\nwaiting 0\ncapacity 4\n";
  expect(await get("/readyz")).toEqual([503, loading]);
  house.speech.state = { stage: "draining" };
  expect((await get("/healthz"))[0]).toBe(200);
  expect((await get("/readyz"))[0]).toBe(503);
});

it("describes its engine once there is one", async () => {
  let engine: EngineFacts | undefined;
  const { url } = await start({ model: { engine: () => engine } });
  const version = async () => Version.parse(await (await fetch(`${url}/version`)).json());
  expect(await version()).not.toHaveProperty("engine");
  engine = {
    description: "AVX2, 2 threads",
    note: "No driver.",
    precision: "int8",
    threads: 2,
    weight_bytes: 5,
  };
  expect((await version()).engine).toEqual(engine);
});

it("describes its socket, with the same version and need for a key as its routes", async () => {
  const { url } = await start({ server: { apiKeys: ["k"] } });
  const document = await (await fetch(`${url}/asyncapi.json`)).json();
  expect(document).toMatchObject({ asyncapi: "3.0.0", info: { version: "1.2.3" } });
  expect(document.operations.speechSocketHears.security).toHaveLength(1);
});

it("keeps a route for sounds that are not speech", async () => {
  const house = await start();
  const answer = await post(house, "/v1/audio/generate", {});
  expect([answer.status, (await answer.json()).error.type]).toEqual([404, "NotFoundError"]);
});

it("describes exactly the routes that it has", async () => {
  const { app, url } = await start();
  const document = await (await fetch(`${url}/openapi.json`)).json();
  expect(document.openapi).toBe("3.1.0");
  expect(document.info.version).toBe("1.2.3");
  const described = Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => ["get", "post", "patch", "delete"].includes(key))
      .map((method) => ({ method: method.toUpperCase(), path })),
  );
  const http = described.filter(({ path }) => !SOCKETS.includes(path));
  const patterns = new Set<string>();
  for (const { method, path } of http) {
    // A model's name may have slashes in it, so whatever follows is read by its own route.
    const pattern = path.replace("{name}", ":name").replace(/\{id\}.*/, "*");
    patterns.add(`${method} ${pattern}`);
    expect(app.hasRoute({ method: method as "GET", url: pattern }), `${method} ${path}`).toBe(true);
  }
  const printed = app.printRoutes({ commonPrefix: false });
  const count = [...printed.matchAll(/\(([A-Z, ]+)\)/g)]
    .flatMap(([, methods = ""]) => methods.split(", "))
    .filter((method) => method !== "HEAD" && method !== "OPTIONS").length;
  expect(count).toBe(patterns.size + UNDESCRIBED.length);
  for (const path of UNDESCRIBED) expect(printed).toContain(path.split("/").at(-1));
});
