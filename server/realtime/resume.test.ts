/** Sessions that outlive their connection, over tones: what is sent again, who may have them, and when they end. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TestSocket } from "../cases/test-socket.ts";
import { decodeTagged } from "../protocol/tagged-frame.ts";
import { type Doors, openDoors, openToneHouse, type ToneHouse, until } from "./test-doors.ts";

const CONFIG = {
  type: "session.config",
  protocol: 2,
  response_format: "pcm",
  stream_audio: true,
  binary_framing: "tagged",
  resumable: true,
  seed: 3,
  max_lead_ms: 600_000,
};
const TEXT = "one two three four five six seven eight nine ten. ";

let house: ToneHouse;
let doors: Doors;
beforeEach(async () => {
  house = await openToneHouse();
  house.native.fate = () => ({
    frames: 40,
    before: () => new Promise((resolve) => setTimeout(resolve, 3)),
  });
  doors = await openDoors(house);
});
afterEach(async () => {
  await doors.close();
  await house.close();
});

async function connect(to: Doors = doors): Promise<TestSocket> {
  const socket = new TestSocket(to.url);
  socket.tagged = true;
  await socket.opened;
  return socket;
}

async function begin(to: Doors = doors) {
  const socket = await connect(to);
  socket.send(CONFIG);
  const { session_id, resume_token } = await socket.until("session.created");
  const resume = (last_seq: number) => ({
    type: "session.resume",
    session_id,
    resume_token,
    last_seq,
  });
  return { socket, resume };
}

const tagsOf = (socket: TestSocket) =>
  socket.all.flatMap((item) => (item.kind === "audio" ? [decodeTagged(item.bytes)?.tag] : []));

async function whole(): Promise<Buffer> {
  const { socket } = await begin();
  socket.send({ type: "input.text", text: TEXT });
  socket.send({ type: "input.done" });
  await socket.until("session.done");
  return socket.audio();
}

/** Bytes of audio messages up to a number. */
function heard(socket: TestSocket, lastSeq: number): Buffer {
  const frames = socket.all.flatMap((item) => {
    const frame = item.kind === "audio" ? decodeTagged(item.bytes) : undefined;
    return frame !== undefined && frame.tag.seq <= lastSeq ? [frame.payload] : [];
  });
  return Buffer.concat(frames);
}

describe("a lost connection", () => {
  it("is continued without a gap, and the text after it as well", async () => {
    const expected = await whole();
    const { socket, resume } = await begin();
    socket.send({ type: "input.text", seq: 0, text: TEXT });
    for (let i = 0; i < 3; i++) await socket.untilAudio();
    socket.socket.terminate();
    const next = await connect();
    next.send(resume(1));
    expect(await next.until("session.resumed")).toMatchObject({ from_seq: 2, lost: false });
    next.send({ type: "input.text", seq: 0, text: TEXT });
    next.send({ type: "input.done" });
    expect(await next.until("session.done")).toMatchObject({ total_sentences: 1 });
    const tags = tagsOf(next);
    expect(tags.map((tag) => tag?.seq)).toEqual(tags.map((_, i) => i + 2));
    expect(tags[0]?.replayed).toBe(true);
    expect(tags.at(-1)?.replayed).toBe(false);
    expect(Buffer.concat([heard(socket, 1), next.audio()]).equals(expected)).toBe(true);
    expect(next.broken).toEqual([]);
  });

  it("gets the messages again that came after the audio it has heard", async () => {
    const { socket, resume } = await begin();
    socket.send({ type: "input.text", text: TEXT });
    socket.send({ type: "input.done" });
    await socket.until("session.done");
    const last = tagsOf(socket).at(-1)?.seq ?? 0;
    socket.socket.terminate();
    const next = await connect();
    next.send(resume(last));
    expect(await next.until("session.resumed")).toMatchObject({ from_seq: last + 1, lost: false });
    await next.until("session.done");
    expect(next.summary()).toBe("session.resumed audio.done session.done");
  });

  it("is told when audio is gone for good", async () => {
    const { socket, resume } = await begin();
    house.native.fate = () => ({ frames: 100 });
    socket.send({ type: "input.text", text: TEXT.repeat(8) });
    socket.send({ type: "input.done" });
    await socket.until("session.done");
    socket.socket.terminate();
    const next = await connect();
    next.send(resume(0));
    expect(await next.until("session.resumed")).toMatchObject({ lost: true });
  });

  it("ends the session when nobody comes back in time", async () => {
    const other = await openDoors(house, { sockets: { resumeTtlMs: 100 } });
    const { socket, resume } = await begin(other);
    socket.socket.terminate();
    await until(() => house.service.openSessions === 0);
    const next = await connect(other);
    next.send(resume(-1));
    expect(await next.until("error")).toMatchObject({ code: "resume_unavailable", fatal: true });
    expect((await next.closed()).code).toBe(4410);
    await other.close();
  });
});

it("whatever is numbered is heeded once, texts and all else", async () => {
  const { socket } = await begin();
  socket.send({ type: "input.text", seq: 0, text: "One two three four. " });
  socket.send({ type: "input.done", seq: 1 });
  socket.send({ type: "input.done", seq: 1 });
  socket.send({ type: "input.text", seq: 2, text: "Five six seven eight. " });
  socket.send({ type: "input.flush", seq: 1 });
  socket.send({ type: "input.cancel", seq: 2 });
  socket.send({ type: "session.update", seq: 0, speed: 99 });
  socket.send({ type: "input.commit", seq: 3 });
  await socket.until("session.done");
  expect(await socket.until("session.done")).toMatchObject({ utterance_index: 1 });
  socket.send({ type: "ping", t: 1 });
  await socket.until("pong");
  expect(socket.messages("session.done")).toHaveLength(2);
  expect(socket.messages("audio.start")).toHaveLength(2);
  expect(socket.messages("audio.cancelled")).toEqual([]);
});

it("only so many sessions wait for their clients, and the oldest makes room", async () => {
  const other = await openDoors(house, { sockets: { maxSessions: 2 } });
  const lost = [];
  for (let i = 0; i < 3; i++) {
    const { socket, resume } = await begin(other);
    lost.push(resume);
    socket.socket.terminate();
    await until(async () => (await house.metrics.text()).includes("tts_ws_sessions 0"));
  }
  await until(() => house.service.openSessions === 2);
  const answers = [];
  for (const resume of lost) {
    const next = await connect(other);
    next.send(resume(-1));
    const answer = await next.next();
    answers.push(answer?.kind === "message" ? answer.message.type : undefined);
    next.send({ type: "session.close" });
    await next.closed();
  }
  expect(answers).toEqual(["error", "session.resumed", "session.resumed"]);
  await other.close();
});

describe("taking over", () => {
  it("closes the older connection with 4409", async () => {
    const { socket, resume } = await begin();
    socket.send({ type: "input.text", text: TEXT });
    await socket.untilAudio();
    const next = await connect();
    next.send(resume(-1));
    await next.until("session.resumed");
    expect(await socket.until("error")).toMatchObject({ code: "taken_over", fatal: true });
    expect((await socket.closed()).code).toBe(4409);
    next.send({ type: "input.done" });
    expect(await next.until("session.done")).toMatchObject({ total_sentences: 1 });
    expect(house.service.openSessions).toBe(1);
    expect(await house.metrics.text()).toMatch(/resumes?_total\{result="taken_over"\} 1/);
  });

  it("needs the session's own token", async () => {
    const { socket, resume } = await begin();
    const next = await connect();
    next.send({ ...resume(-1), resume_token: "x".repeat(32) });
    expect((await next.closed()).code).toBe(4410);
    socket.send({ type: "ping", t: 1 });
    await socket.until("pong");
  });
});

describe("a connection that was ended", () => {
  it.each([
    ["by the client", (socket: TestSocket) => socket.send({ type: "session.close" })],
    ["by a close frame", (socket: TestSocket) => socket.socket.close(1000)],
    ["for a fault of the client", (socket: TestSocket) => socket.socket.send(Buffer.from([1]))],
  ])("%s leaves nothing to be resumed", async (_, end) => {
    const { socket, resume } = await begin();
    end(socket);
    await socket.closed();
    await until(() => house.service.openSessions === 0);
    const next = await connect();
    next.send(resume(-1));
    expect((await next.closed()).code).toBe(4410);
  });
});
