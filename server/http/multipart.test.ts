/** Forms and bodies that no browser sends: the answer names what was wrong, and reaches the client. */
import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "./test-server.ts";

const VOICES = "/v1/audio/voices";
const MEBIBYTE = 2 ** 20;

let server: TestServer | undefined;

afterEach(() => server?.close());

async function start(): Promise<TestServer> {
  server = await startTestServer();
  return server;
}

async function reasonOf(answer: Response): Promise<unknown> {
  const { error } = await answer.json();
  return [answer.status, error.reason, error.message];
}

it("has no more parts than the server accepts, and no names that could harm it", async () => {
  const house = await start();
  const many = new FormData();
  for (let i = 0; i < 2000; i += 1) many.append(`f${i}`, new Blob(["x"]), "a.wav");
  const answer = await fetch(house.url + VOICES, { method: "POST", body: many });
  const sentence = "The form has more parts than this server accepts.";
  expect(await reasonOf(answer)).toEqual([400, "invalid_value", sentence]);

  const harmful = new FormData();
  harmful.set("__proto__", "x");
  const refused = await fetch(house.url + VOICES, { method: "POST", body: harmful });
  const allowed = "A field of the form has a name that is not allowed.";
  expect(await reasonOf(refused)).toEqual([400, "invalid_value", allowed]);
});

it.each([
  ["that ends in the middle", '--x\r\ncontent-disposition: form-data; name="name"\r\n\r\nabc'],
  ["that has no lines of its own", "nothing of a form"],
])("is a request that can be corrected: %s", async (_, body) => {
  const house = await start();
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const answer = await fetch(house.url + VOICES, { method: "POST", body, headers });
  expect(answer.status).toBe(400);
});

/** Writes a request in one piece and gives what came back before the connection ended or the answer was whole. */
function rudely(url: string, head: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (text.includes("}}")) socket.end();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
    socket.write(head);
    socket.write(body);
  });
}

it("is answered while it is still being sent, also where the client wants to be disconnected", async () => {
  const house = await start();
  const body = Buffer.alloc(60 * MEBIBYTE, "A");
  const head = [
    "POST /v1/audio/speech HTTP/1.1",
    "host: test",
    "content-type: application/json",
    "connection: close",
    `content-length: ${body.length}`,
  ].join("\r\n");
  const answer = await rudely(house.url, `${head}\r\n\r\n`, body);
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(answer).toContain("larger than the 16 MiB");
});
