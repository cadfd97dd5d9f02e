/** Who does not read, or does not send, is let go; who is slow, or waits for an answer, is not. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { afterEach, expect, it } from "vitest";
import { cutOffStalledClients } from "./stalled-clients.ts";

const STALL_MS = 400;
const PIECE = Buffer.alloc(256 * 1024);
let server: Server;

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Serves `pieces` pieces at the pace of the reader, the first after `waitMs`. */
async function serve(pieces: number, waitMs = 0): Promise<{ closed: Promise<unknown> }> {
  let closed: () => void = () => {};
  const closing = new Promise<void>((resolve) => {
    closed = resolve;
  });
  server = createServer((request, response) => {
    request.resume().on("error", () => {});
    response.once("close", closed);
    const body = async function* () {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      for (let i = 0; i < pieces; i++) yield PIECE;
    };
    Readable.from(body(), { highWaterMark: 1 }).pipe(response);
  });
  cutOffStalledClients(server, STALL_MS);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { closed: closing };
}

async function ask(): Promise<IncomingMessage> {
  const asked = request({ port: (server.address() as AddressInfo).port, agent: false }).end();
  asked.on("error", () => {});
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
}

async function bytesOf(answer: IncomingMessage, pauseMs: number): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return bytes;
}

it("lets a client go that has stopped reading", async () => {
  const { closed } = await serve(1000);
  const answer = await ask();
  answer.pause();
  await closed;
  await expect(bytesOf(answer, 0)).rejects.toThrow("aborted");
});

it("lets a client go that stops in the middle of its request, and only that one", async () => {
  const { closed } = await serve(1, 4 * STALL_MS);
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  const head = "POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 20\r\n\r\n";
  const rest = [..."twenty letters are th"].slice(0, 19);
  socket.write(head);
  for (const letter of rest) {
    await new Promise((resolve) => setTimeout(resolve, STALL_MS / 12));
    expect(socket.write(letter)).toBe(true);
  }
  expect(socket.bytesRead).toBe(0); // every letter was in time
  await closed;
});

it("leaves alone who reads slowly, for much longer than the limit", async () => {
  await serve(20);
  expect(await bytesOf(await ask(), STALL_MS / 50)).toBe(20 * PIECE.length);
});

it("leaves alone who waits for an answer that takes its time", async () => {
  await serve(1, 4 * STALL_MS);
  expect(await bytesOf(await ask(), 0)).toBe(PIECE.length);
});
