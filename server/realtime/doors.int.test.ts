/** The realtime doors over the shipped model: what only a real engine shows about time, sound and what is left behind. */
import { io } from "socket.io-client";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TestSocket } from "../cases/test-socket.ts";
import type { ClientMessageInput } from "../protocol/socket-client.ts";
import { FERRY, randomly } from "../speech/test-starter.ts";
import {
  type Doors,
  engineIdle,
  openDoors,
  openStarterHouse,
  type TestHouse,
  until,
} from "./test-doors.ts";

const CONFIG = {
  type: "session.config",
  protocol: 2,
  voice: "clara",
  response_format: "pcm",
  stream_audio: true,
} as const;
const STORY = "The lamp in the hall was lit. Nobody had come home yet, and the soup was cold.";

let house: TestHouse;
let doors: Doors;
const sockets: TestSocket[] = [];
beforeAll(async () => {
  house = await openStarterHouse();
  doors = await openDoors(house, { sockets: { maxSessionsPerClient: 200 } });
});
afterEach(() => {
  for (const { socket } of sockets.splice(0)) socket.terminate();
});
afterAll(async () => {
  await doors?.close();
  await house?.close();
});

async function open(config: Partial<ClientMessageInput> & object = {}): Promise<TestSocket> {
  const socket = new TestSocket(doors.url);
  sockets.push(socket);
  await socket.opened;
  socket.tagged = "binary_framing" in config;
  socket.send({ ...CONFIG, ...config });
  await socket.until("session.created");
  return socket;
}

const nothingLeft = async () => {
  await until(() => house.service.openSessions === 0);
  await engineIdle(house);
};

describe("text in, audio out", () => {
  it("gives audio before a text that comes letter by letter is finished", async () => {
    const socket = await open();
    const letters = [...STORY];
    let sent = 0;
    while (sent < letters.length && socket.messages("audio.start").length === 0) {
      socket.send({ type: "input.text", text: letters[sent++] as string });
      await new Promise((resolve) => setTimeout(resolve, 15));
      // What is left is held back until the first sentence is heard.
      if (sent === letters.length - 5) await socket.untilAudio();
    }
    expect(sent).toBeLessThan(letters.length);
    for (const text of letters.slice(sent)) socket.send({ type: "input.text", text });
    socket.send({ type: "input.done" });
    expect(await socket.until("session.done")).toMatchObject({ total_sentences: 2 });
    const spoken = socket.messages("audio.start").map(({ sentence_text: text }) => text);
    expect(spoken.join(" ")).toBe(STORY);
    expect(socket.broken).toEqual([]);
  });

  it("speaks around pictures that are cut in halves", async () => {
    const socket = await open();
    const text = "Well done 🎉👩🏽‍🚀🇫🇷 see you 👍🏿.";
    for (let i = 0; i < text.length; i++) socket.send({ type: "input.text", text: text.charAt(i) });
    socket.send({ type: "input.done" });
    await socket.until("session.done");
    expect(socket.messages("audio.done").every(({ error }) => error === false)).toBe(true);
    expect(socket.messages("error")).toEqual([]);
    expect(socket.audio().length).toBeGreaterThan(0);
  });

  it("is the same pcm on the speech socket in both dialects and on the playground's door", async () => {
    const wish = { voice: "clara", seed: 11 };
    const sounds: Buffer[] = [];
    for (const protocol of [2, 1]) {
      const socket = new TestSocket(doors.url);
      sockets.push(socket);
      await socket.opened;
      socket.send({ ...CONFIG, ...wish, protocol });
      socket.send({ type: "input.text", text: STORY });
      socket.send({ type: "input.done" });
      await socket.until("session.done");
      sounds.push(socket.audio());
    }
    const page = io(`http://127.0.0.1:${doors.port}`, { transports: ["websocket"] });
    const chunks: Uint8Array[] = [];
    page.on("chunk", (_, audio: Uint8Array) => chunks.push(audio));
    const done = new Promise((resolve) => page.on("done", resolve));
    await page.emitWithAck("open", { session: "s", ...wish });
    page.emit("text", { session: "s", text: STORY });
    page.emit("end", { session: "s" });
    await done;
    page.disconnect();
    sounds.push(Buffer.concat(chunks));
    const [first] = sounds;
    expect(first?.length).toBeGreaterThan(0);
    expect(sounds.map((sound) => first?.equals(sound))).toEqual([true, true, true]);
  });
});

describe("cancelling", () => {
  it("thirty times in a row leaves the engine free and the session able to speak", async () => {
    const socket = await open({ binary_framing: "tagged" });
    const aborts = house.aborts();
    for (let i = 0; i < 30; i++) {
      socket.send({ type: "input.text", text: FERRY.repeat(8) });
      await socket.untilAudio();
      socket.send({ type: "input.cancel" });
      await socket.until("session.done");
    }
    await engineIdle(house);
    await until(() => house.aborts() - aborts >= 30);
    socket.send({ type: "input.text", text: "Are you well?" });
    socket.send({ type: "input.done" });
    expect(await socket.until("session.done")).toMatchObject({
      utterance_index: 30,
      total_sentences: 1,
    });
    const { duration_ms } = socket.messages("audio.done").at(-1) ?? {};
    expect(duration_ms).toBeGreaterThan(400);
    expect(duration_ms).toBeLessThan(4000);
    expect(socket.broken).toEqual([]);
  });

  it("never lets audio through that belongs to what was cancelled", async () => {
    const socket = await open({ binary_framing: "tagged" });
    socket.send({ type: "input.text", text: FERRY.repeat(6) });
    await socket.untilAudio();
    socket.send({ type: "input.cancel" });
    socket.send({ type: "input.text", text: "New question, please." });
    socket.send({ type: "input.done" });
    await socket.until("audio.cancelled");
    await socket.until("session.done");
    expect(await socket.until("audio.start")).toMatchObject({
      utterance_index: 1,
      generation: 1,
      sentence_text: "New question, please.",
    });
    await socket.until("session.done");
    expect(socket.broken).toEqual([]);
  });
});

describe("leaving", () => {
  it("a hundred times at random moments leaves nothing behind", async () => {
    const random = randomly(4);
    const leave = async () => {
      const socket = new TestSocket(doors.url);
      await socket.opened;
      const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, random() * ms));
      socket.send({ ...CONFIG, protocol: random() < 0.5 ? 1 : 2 });
      if (random() < 0.9) socket.send({ type: "input.text", text: FERRY });
      if (random() < 0.3) socket.send({ type: "input.done" });
      await delay(150);
      if (random() < 0.3) socket.send({ type: "input.text", text: STORY });
      if (random() < 0.5) socket.socket.terminate();
      else socket.socket.close();
      return socket.closed();
    };
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 10 }, leave));
    }
    await nothingLeft();
    // On a busy machine the last of them may be read after he has left.
    const load = expect.poll(() => house.service.load, { timeout: 60_000 });
    await load.toMatchObject({ active: 0, waiting: 0 });
    const socket = await open();
    socket.send({ type: "input.text", text: "Second caller." });
    socket.send({ type: "input.done" });
    expect(await socket.until("session.done")).toMatchObject({ utterance_index: 0 });
    expect(socket.messages("audio.start").map(({ sentence_text: text }) => text)).toEqual([
      "Second caller.",
    ]);
  });
});
