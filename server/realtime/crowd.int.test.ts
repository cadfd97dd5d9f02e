/**
 * Two hundred listeners come at once to a real server: nobody fails. Who cannot be spoken to yet is told his place in
 * line, and what he hears in the end is what he would have heard alone. Prints how late the server's event loop ran.
 */
import { loadavg } from "node:os";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestSocket } from "../cases/test-socket.ts";
import { answerOf, LiveServer } from "./test-live-server.ts";

const LISTENERS = 200;
const CAPACITY = 8;
/** One in so many is compared with what is spoken alone. */
const COMPARED = 25;
const VOICES = ["clara", "ryan", "nora", "emma"];
const TEXTS = ["Yes, at noon.", "Thank you, good night.", "The soup is cold.", "Nobody is home."];

let server: LiveServer;
beforeAll(async () => {
  server = await LiveServer.start({
    stage: { max_num_seqs: CAPACITY, max_queue: LISTENERS, max_queue_wait_s: 600 },
    deploy: { ws: { idle_timeout_s: 600 } },
  });
});
afterAll(() => server?.stop());

const wishOf = (i: number) => ({
  voice: VOICES[i % VOICES.length],
  seed: i,
  max_new_tokens: 10,
});
const textOf = (i: number) => TEXTS[i % TEXTS.length] as string;

async function listen(socket: TestSocket, i: number): Promise<void> {
  await socket.until("session.created");
  socket.send({ type: "input.text", text: textOf(i) });
  socket.send({ type: "input.done" });
  await socket.until("session.done");
}

it("two hundred at once are all served to the end, told their place meanwhile, and hear what one alone hears", async () => {
  await answerOf(server.port, "/v1/audio/speech", { input: "Warm up." });
  const sockets = Array.from(
    { length: LISTENERS },
    () => new TestSocket(`ws://127.0.0.1:${server.port}/v1/audio/speech/ws`),
  );
  await Promise.all(sockets.map(({ opened }) => opened));
  await server.loopDelay();
  const from = performance.now();
  for (const [i, socket] of sockets.entries()) {
    const form = { response_format: "pcm", stream_audio: true } as const;
    socket.send({ type: "session.config", protocol: 2, queue_events: true, ...wishOf(i), ...form });
  }
  await Promise.all(sockets.map(listen));
  const seconds = (performance.now() - from) / 1000;
  const { p50, p99, max } = await server.loopDelay();

  expect(sockets.flatMap(({ broken }) => broken)).toEqual([]);
  expect(sockets.flatMap((socket) => socket.messages("error"))).toEqual([]);
  const failed = sockets.flatMap((socket) => socket.messages("audio.done")).filter((d) => d.error);
  expect(failed).toEqual([]);
  expect(sockets.every((socket) => socket.audio().length > 0)).toBe(true);
  // All came within a moment, so nearly everyone found somebody in front of him.
  const told = sockets.filter((socket) => socket.messages("session.queued").length > 0);
  expect(told.length).toBeGreaterThan(LISTENERS / 2);
  for (const socket of told) {
    const places = socket.messages("session.queued").map(({ place }) => Number(place));
    expect(places).toEqual([...places].sort((a, b) => b - a));
    expect(places.at(0)).toBeLessThanOrEqual(LISTENERS - CAPACITY);
  }
  expect(await server.metric("tts_rejected_total")).toBe(0);

  const seconds_of_audio =
    sockets.reduce((sum, socket) => sum + socket.audio().length, 0) / 2 / 48_000;
  for (const socket of sockets) socket.socket.close();
  for (let i = 0; i < LISTENERS; i += COMPARED) {
    const { bytes } = await answerOf(server.port, "/v1/audio/speech", {
      input: textOf(i),
      ...wishOf(i),
      response_format: "pcm",
    });
    expect(bytes.equals(sockets[i]?.audio() ?? Buffer.alloc(0))).toBe(true);
  }
  const ms = (value: number) => value.toFixed(1);
  console.log(
    `${LISTENERS} sockets, ${told.length} told their place, ${seconds_of_audio.toFixed(0)} s of audio in ${seconds.toFixed(1)} s; ` +
      `event loop late by ${ms(p50)} ms (p50), ${ms(p99)} ms (p99), ${ms(max)} ms (max) at load ${loadavg()[0]?.toFixed(1)}`,
  );
}, 600_000);
