/** What an operator reads about sockets: a line when one opens, a line when it closes, and a line when it may not open. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { RealtimeDeps } from "./deps.ts";
import { type Doors, openDoors, openToneHouse, type ToneHouse, until } from "./test-doors.ts";

type Line = Record<string, unknown> & { message: string };

let house: ToneHouse;
let doors: Doors;
let lines: Line[];
beforeEach(async () => {
  house = await openToneHouse();
  lines = [];
  const info = (fields: object, message: string) => lines.push({ ...fields, message });
  doors = await openDoors(house, { sockets: { maxSessionsPerClient: 1 } }, {
    info,
  } as unknown as RealtimeDeps["logger"]);
});
afterEach(async () => {
  await doors.close();
  await house.close();
});

/** Speaks on a socket and gives the bytes of all that arrived. */
async function spoken(socket: WebSocket): Promise<number> {
  let bytes = 0;
  const done = new Promise<void>((resolve) => {
    socket.on("message", (data: Buffer, isBinary) => {
      bytes += data.length;
      if (!isBinary && String(data).includes('"session.done"')) resolve();
    });
  });
  const config = { type: "session.config", response_format: "pcm", stream_audio: true };
  socket.send(JSON.stringify({ ...config, protocol: 2 }));
  socket.send(JSON.stringify({ type: "input.text", text: "One two three." }));
  socket.send(JSON.stringify({ type: "input.done" }));
  await done;
  return bytes;
}

it("tells id, address, dialect, close code, duration and bytes", async () => {
  const socket = new WebSocket(doors.url, { headers: { "x-request-id": "mine-1" } });
  await new Promise((resolve) => socket.on("open", resolve));
  await until(() => lines.length === 1);
  const opened = { requestId: "mine-1", ip: "127.0.0.1", dialect: 1, message: "socket opened" };
  expect(lines).toEqual([opened]);
  const bytes = await spoken(socket);
  socket.close(4321);
  await until(() => lines.length === 2);
  expect(lines[1]).toEqual({
    requestId: "mine-1",
    ip: "127.0.0.1",
    dialect: 2,
    session: expect.stringMatching(/^ws_/),
    code: 4321,
    ms: expect.any(Number),
    bytes,
    message: "socket closed",
  });
});

it("gives ids to those who bring none, and names the reason of a refusal", async () => {
  const first = new WebSocket(doors.url);
  await new Promise((resolve) => first.on("open", resolve));
  const second = new WebSocket(doors.url);
  await new Promise((resolve) => second.on("error", resolve));
  await until(() => lines.length === 2);
  const id = expect.stringMatching(/^speech-/);
  expect(lines).toMatchObject([
    { requestId: id, message: "socket opened" },
    { requestId: id, ip: "127.0.0.1", reason: "too_many_sessions", message: "socket refused" },
  ]);
  first.terminate();
  await until(() => lines.length === 3);
  expect(lines[2]).toMatchObject({
    requestId: lines[0]?.requestId,
    session: undefined,
    code: 1006,
  });
});
