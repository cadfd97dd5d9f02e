/** The speech socket over tones: how it takes what clients send, how it ends, and what a cancel leaves behind. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TestSocket } from "../cases/test-socket.ts";
import { randomly } from "../speech/test-starter.ts";
import {
  type Changes,
  type Doors,
  engineIdle,
  openDoors,
  openToneHouse,
  type ToneHouse,
  until,
} from "./test-doors.ts";

const CONFIG = { type: "session.config", response_format: "pcm", stream_audio: true, seed: 7 };
const LONG = "one two three four five six seven eight nine ten. ";

let house: ToneHouse;
const doors: Doors[] = [];
beforeEach(async () => {
  house = await openToneHouse();
});
afterEach(async () => {
  for (const { close } of doors.splice(0)) await close();
  await house.close();
});

async function open(changes: Changes = {}, protocols: string[] = []): Promise<TestSocket> {
  const opened = await openDoors(house, changes);
  doors.push(opened);
  const socket = new TestSocket(opened.url, { protocols });
  await socket.opened;
  return socket;
}

async function configured(changes: Changes = {}, config: object = {}): Promise<TestSocket> {
  const socket = await open(changes);
  socket.send({ ...CONFIG, protocol: 2, ...config });
  await socket.until("session.created");
  return socket;
}

/** Speaks a text to its end and returns the messages of its units. */
async function speak(socket: TestSocket, text: string) {
  socket.send({ type: "input.text", text });
  socket.send({ type: "input.done" });
  return socket.until("session.done");
}

describe("closing", () => {
  it.each<[string, object, number, number]>([
    ["a bad configuration", { voice: 5 }, 4400, 1000],
    ["an unknown model", { model: "nope" }, 4404, 1000],
  ])("after %s, with the code of the dialect", async (_, config, second, first) => {
    for (const [protocol, code] of [[2, second] as const, [1, first] as const]) {
      const socket = await open();
      socket.send({ ...CONFIG, protocol, ...config });
      expect(await socket.until("error")).toMatchObject({ fatal: true });
      expect((await socket.closed()).code).toBe(code);
    }
  });

  it("with 4400 where the subprotocol asked for dialect 2", async () => {
    const socket = await open({}, ["voice-speech.v2"]);
    expect(socket.socket.protocol).toBe("voice-speech.v2");
    socket.send({ type: "nonsense" });
    expect((await socket.closed()).code).toBe(4400);
  });

  it("with 1003 after a binary message and 1009 after one that is too large", async () => {
    const binary = await configured();
    binary.socket.send(Buffer.from([0, 1]));
    expect((await binary.closed()).code).toBe(1003);
    const large = await configured({ limits: { ws_frame_bytes: 4096 } });
    large.send({ type: "input.text", text: "x".repeat(5000) });
    expect((await large.closed()).code).toBe(1009);
  });

  it("with 4408 and a reason when nothing is said for too long, counted from the end of the speech", async () => {
    house.native.fate = () => ({
      frames: 8,
      before: () => new Promise((resolve) => setTimeout(resolve, 40)),
    });
    const socket = await configured({ sockets: { idleTimeoutMs: 150 } });
    await speak(socket, "hello there");
    expect(await socket.until("error")).toMatchObject({ code: "idle_timeout", fatal: true });
    expect(await socket.closed()).toMatchObject({
      code: 4408,
      reason: "Idle timeout: no message received",
    });
    await until(() => house.service.openSessions === 0);
  });

  it("with 1000 when the client says so, and 1001 when the server leaves", async () => {
    const done = await configured();
    done.send({ type: "session.close" });
    expect((await done.closed()).code).toBe(1000);
    const left = await configured();
    await doors.pop()?.close();
    expect((await left.closed()).code).toBe(1001);
  });

  it("handles nothing that was sent after a message that ended the connection", async () => {
    const socket = await open();
    socket.send({ type: "input.text", text: "too early" });
    socket.send({ ...CONFIG, protocol: 2 });
    expect((await socket.closed()).code).toBe(1000);
    expect(socket.summary()).toBe("error close");
    expect(house.service.openSessions).toBe(0);
  });

  it("survives bytes that are no frames, and close codes that do not exist", async () => {
    const garbage = await configured();
    const raw = (garbage.socket as unknown as { _socket: { write(bytes: Buffer): void } })._socket;
    raw.write(Buffer.alloc(64, 0xf7));
    expect([1002, 1006, 1007]).toContain((await garbage.closed()).code);
    const other = await configured();
    expect(await speak(other, "still here")).toMatchObject({ total_sentences: 1 });
  });
});

describe("cancelling", () => {
  beforeEach(() => {
    house.native.fate = () => ({
      frames: 60,
      before: () => new Promise((resolve) => setTimeout(resolve, 3)),
    });
  });

  it("frees the engine, drops the rest and leaves the session usable", async () => {
    const socket = await configured({}, { binary_framing: "tagged" });
    socket.tagged = true;
    socket.send({ type: "input.text", text: LONG.repeat(3) });
    await socket.untilAudio();
    socket.send({ type: "input.cancel" });
    const cancelled = await socket.until("audio.cancelled");
    expect(cancelled).toMatchObject({ utterance_index: 0, reason: "client_cancel" });
    expect(Number(cancelled.dropped_chars)).toBeGreaterThan(0);
    expect(await socket.until("session.done")).toMatchObject({ total_sentences: 0 });
    await engineIdle(house);
    house.native.fate = () => ({});
    expect(await speak(socket, "and again")).toMatchObject({
      utterance_index: 1,
      total_sentences: 1,
    });
    expect(socket.messages("audio.done").map(({ cancelled: was }) => was)).toEqual([true, false]);
    expect(socket.broken).toEqual([]);
  });

  it("answers with nothing sent when there is nothing to cancel, as often as it is asked", async () => {
    house.native.fate = () => ({});
    const socket = await configured();
    await speak(socket, "all set");
    for (let i = 0; i < 2; i++) {
      socket.send({ type: "input.cancel" });
      expect(await socket.until("audio.cancelled")).toMatchObject({ sent_bytes: 0 });
    }
    expect(socket.messages("session.done")).toHaveLength(1);
    expect(await speak(socket, "once more")).toMatchObject({ total_sentences: 1 });
  });
});

describe("a configuration", () => {
  it("may take longer to be prepared than to arrive, and what follows it waits", async () => {
    const slow = Object.assign(Object.create(house.voices), {
      resolve: async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return house.voices.resolve({});
      },
    });
    const opened = await openDoors(
      { ...house, voices: slow },
      { sockets: { configTimeoutMs: 100 } },
    );
    doors.push(opened);
    const socket = new TestSocket(opened.url);
    await socket.opened;
    socket.send({ ...CONFIG, protocol: 2 });
    for (let i = 0; i < 200; i++) socket.send({ type: "ping", t: i });
    expect(await speak(socket, "at last")).toMatchObject({ total_sentences: 1 });
    const pongs = socket.messages("pong").map(({ t }) => t);
    expect(pongs).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });
});

describe("text", () => {
  it("that was refused for want of room may be sent again under its number", async () => {
    const socket = await configured();
    house.native.fate = () => ({ before: () => new Promise(() => {}) });
    socket.send({ type: "input.text", seq: 1, text: "x".repeat(1001) });
    expect(await socket.until("error")).toMatchObject({ code: "input_overflow", fatal: false });
    house.native.fate = () => ({});
    socket.send({ type: "input.text", seq: 1, text: "small enough" });
    socket.send({ type: "input.done" });
    expect(await socket.until("session.done")).toMatchObject({ total_sentences: 1 });
  });

  it("comes back letter by letter in the units, however it was cut into messages", async () => {
    const random = randomly(8);
    const words = ["lamp", "3.14", "Dr. No", "home,", "a@b.example", "stop.", "why?", "naïve!"];
    for (let i = 0; i < 20; i++) {
      const text = Array.from({ length: 40 }, () => words[Math.floor(random() * 8)]).join(" ");
      const socket = await configured();
      for (let at = 0; at < text.length; ) {
        const end = at + 1 + Math.floor(random() * 17);
        socket.send({ type: "input.text", text: text.slice(at, end) });
        at = end;
      }
      socket.send({ type: "input.done" });
      await socket.until("session.done");
      const spoken = socket.messages("audio.start").map((start) => start.sentence_text);
      expect(spoken.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
      socket.socket.terminate();
      await doors.pop()?.close();
    }
  });
});

describe("settings", () => {
  it("changes for the next utterance only, and keeps what is not named", async () => {
    const socket = await configured();
    await speak(socket, "the first");
    socket.send({ type: "input.text", text: "the second. " });
    socket.send({ type: "session.update", response_format: "wav", stream_audio: false });
    socket.send({ type: "input.done" });
    await socket.until("session.done");
    await speak(socket, "the third");
    const starts = socket.messages("audio.start");
    expect(starts.map(({ format }) => format)).toEqual(["pcm", "pcm", "wav"]);
    expect(socket.messages("audio.done").map(({ seed }) => seed)).toEqual([7, 7, 7]);
    expect(socket.broken).toEqual([]);
  });

  it("says what is wrong with a change and goes on with the old settings", async () => {
    const socket = await configured();
    socket.send({ type: "session.update", response_format: "mp3" });
    const error = await socket.until("error");
    expect(error).toMatchObject({ fatal: false, param: "stream_audio" });
    expect(await speak(socket, "as before")).toMatchObject({ total_sentences: 1 });
  });

  it("answers each message that is wrong once, and speaks the right one", async () => {
    const socket = await configured();
    for (const text of ["not json", "[]", "null", '{"type":5}', '{"type":"nope"}']) {
      socket.socket.send(text);
    }
    socket.socket.send('{"type":"input.text","text":42}');
    expect(await speak(socket, "now a good one")).toMatchObject({ total_sentences: 1 });
    expect(socket.messages("error")).toHaveLength(6);
  });
});

describe("a reader that does not read", () => {
  const endless = { max_lead_ms: 600_000 };

  it("pauses the generation, which goes on when it reads again", async () => {
    house.native.fate = () => ({ frames: 100 });
    const socket = await configured({}, endless);
    const [connection] = doors[0]?.connections ?? [];
    connection?.cork();
    for (let i = 0; i < 8; i++) socket.send({ type: "input.text", text: `${LONG}and more. ` });
    socket.send({ type: "input.done" });
    let made = -1;
    const frames = () => house.native.generations.reduce((sum, { made: own }) => sum + own, 0);
    await until(async () => {
      const before = made;
      made = frames();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return made === before && made > 0;
    });
    expect(made).toBeLessThan(1600);
    connection?.uncork();
    await socket.until("session.done");
    expect(frames()).toBe(1600);
    expect(socket.broken).toEqual([]);
  });

  it("is let go after the stall limit, and its session with it", async () => {
    house.native.fate = () => ({ frames: 100 });
    const socket = await configured({ sockets: { stallTimeoutMs: 300 } }, endless);
    const [connection] = doors[0]?.connections ?? [];
    connection?.cork();
    for (let i = 0; i < 8; i++) socket.send({ type: "input.text", text: `${LONG}and more. ` });
    await until(() => house.service.openSessions === 0);
    await engineIdle(house);
    connection?.uncork();
    expect((await socket.closed()).code).toBe(4408);
  });
});

it("counts the time that encoding took, for each unit", async () => {
  const socket = await configured({}, { response_format: "flac", stream_audio: false });
  await speak(socket, LONG);
  socket.send({ type: "input.text", text: LONG });
  await socket.untilAudio();
  expect(await house.metrics.text()).toMatch(/tts_encode_seconds_count\{format="flac"\} [12]\n/);
});

it("tells the place in line to who asks for it, and to nobody else", async () => {
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  house.native.fate = () => ({ frames: 5, before: () => gate });
  const wishes = [{}, {}, {}, {}, { queue_events: true }, {}];
  const sockets: TestSocket[] = [];
  for (const wish of wishes) {
    const socket = await configured({}, wish);
    sockets.push(socket);
    socket.send({ type: "input.text", text: LONG });
    socket.send({ type: "input.done" });
    await until(() => house.service.load.active + house.service.load.waiting === sockets.length);
  }
  expect(await sockets[4]?.until("session.queued")).toMatchObject({ place: 1 });
  goOn();
  for (const socket of sockets) {
    await socket.until("session.done");
    if (socket !== sockets[4]) expect(socket.messages("session.queued")).toEqual([]);
    expect(socket.broken).toEqual([]);
  }
});
