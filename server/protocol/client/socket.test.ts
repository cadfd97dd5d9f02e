/** The speech socket without a network: what is sent, what becomes of what arrives, and what a lost connection costs. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SpeechSocket } from "./socket.ts";
import { socketUrl } from "./socket-link.ts";
import type { FrameLogEntry, SocketEvent, SpeechSocketOptions } from "./socket-types.ts";
import {
  CREATED,
  doneOf,
  type FakeWebSocket,
  fakeNetwork,
  LIMITS_OF_SESSION,
  startOf,
} from "./test-web-socket.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Stage {
  readonly socket: SpeechSocket;
  readonly made: FakeWebSocket[];
  readonly events: SocketEvent[];
  /** The newest connection. */
  readonly wire: () => FakeWebSocket;
}

function stageOf(options: Partial<SpeechSocketOptions> = {}): Stage {
  const { WebSocket, made } = fakeNetwork();
  const socket = new SpeechSocket({
    baseUrl: "http://house:8091",
    WebSocket,
    random: () => 1,
    reconnect: { attempts: 3, baseMs: 100, maxMs: 1000 },
    ...options,
  });
  const events: SocketEvent[] = [];
  socket.on("*", (event) => events.push(event));
  return { socket, made, events, wire: () => made.at(-1) as FakeWebSocket };
}

/** A session that is open. */
async function openStage(options: Partial<SpeechSocketOptions> = {}): Promise<Stage> {
  const stage = stageOf(options);
  const opened = stage.socket.open({ voice: "clara" });
  stage.wire().open();
  stage.wire().say(CREATED);
  await opened;
  return stage;
}

const typesOf = (events: readonly SocketEvent[]) => events.map(({ type }) => type);
const bytesOf = (events: readonly SocketEvent[]) =>
  events.flatMap((event) => (event.type === "chunk" ? [...event.bytes] : []));
const inputOf = (wire: FakeWebSocket) =>
  wire.sent.filter(({ type }) => type.startsWith("input.")).map(({ type, seq }) => [type, seq]);

/** The newest connection is lost, and the next one is made and opened. */
function comeBack(stage: Stage, fromSeq: number, lost = false): FakeWebSocket {
  stage.wire().end();
  vi.advanceTimersByTime(1000);
  stage.wire().open();
  stage.wire().say({ type: "session.resumed", from_seq: fromSeq, lost });
  return stage.wire();
}

describe("opening", () => {
  it("asks for pcm, headers on audio and a session that can be resumed", async () => {
    const { made, socket } = await openStage({ apiKey: "key" });
    expect(made[0]).toMatchObject({
      url: "ws://house:8091/v1/audio/speech/ws",
      protocols: ["voice-speech.v2"],
      options: { headers: { authorization: "Bearer key" } },
      binaryType: "arraybuffer",
    });
    expect(made[0]?.sent[0]).toEqual({
      type: "session.config",
      response_format: "pcm",
      stream_audio: true,
      resumable: true,
      queue_events: true,
      voice: "clara",
      protocol: 2,
      binary_framing: "tagged",
    });
    expect(socket.session).toMatchObject({ sessionId: "ws_1", isResumable: true });
  });

  it.each([
    ["http://house/", "ws://house/v1/audio/speech/ws"],
    ["https://house:1/prefix/v1", "wss://house:1/prefix/v1/audio/speech/ws"],
  ])("%s is found at %s", (baseUrl, expected) => {
    expect(socketUrl(baseUrl)).toBe(expected);
  });

  it.each([
    ["Unexpected server response: 429", { code: "rate_limited", status: 429 }],
    ["Unexpected server response: 401", { code: "unauthorized", retryable: false }],
    ["Unexpected server response: 503", { code: "unavailable", retryable: true }],
    [undefined, { code: "network", closeCode: 1006 }],
  ])("refused with %j fails at once", async (said, expected) => {
    const { socket, wire, made } = stageOf();
    const opened = socket.open();
    wire().refuse(said);
    await expect(opened).rejects.toMatchObject(expected);
    expect(socket.state).toBe("closed");
    expect(made).toHaveLength(1);
  });

  it("gives the server's word before the close code", async () => {
    const { socket, wire } = stageOf();
    const opened = socket.open();
    wire().open();
    const message = "There is no such voice.";
    wire().say({ type: "error", message, code: "invalid_voice", fatal: true, param: "voice" });
    wire().end(4400);
    await expect(opened).rejects.toMatchObject({ code: "invalid_voice", message, param: "voice" });
  });

  it("can be stopped, and happens once", async () => {
    const stop = new AbortController();
    const { socket, wire } = stageOf();
    const opened = socket.open({}, { signal: stop.signal });
    expect(() => socket.open()).toThrow("once");
    stop.abort();
    await expect(opened).rejects.toMatchObject({ code: "aborted" });
    expect(wire().closedWith).toBe(1000);
    expect(() => socket.sendText("x")).toThrow(expect.objectContaining({ code: "not_open" }));
  });
});

describe("what arrives", () => {
  it("becomes events, with lengths and exact seeds", async () => {
    const { wire, events } = await openStage();
    events.length = 0;
    wire().say({ type: "session.queued", place: 2, expected_wait_ms: 300 });
    wire().say(startOf(0));
    wire().audio({ seq: 0, first: true }, [1, 2, 3, 4]);
    wire().audio({ seq: 1, last: true }, []);
    wire().say(doneOf(0));
    wire().say({ type: "flow", state: "paused", lead_ms: 5 });
    wire().say({
      type: "utterance.error",
      utterance_index: 0,
      code: "no_audio",
      message: "m",
      retryable: true,
    });
    wire().say({ type: "session.done", utterance_index: 0, total_sentences: 1 });
    expect(typesOf(events)).toEqual([
      ...["queued", "segment", "chunk", "chunk", "segment_done", "flow", "error", "done"],
    ]);
    expect(events[2]).toMatchObject({ seq: 0, first: true, durationMs: 2, sentence: 0 });
    expect(events[3]).toMatchObject({ last: true, durationMs: 0 });
    expect(events[4]).toMatchObject({ seed: "1152921504606846976" });
    expect(events[6]).toMatchObject({ fatal: false, utterance: 0, error: { code: "no_audio" } });
  });

  it("is logged, in both directions", async () => {
    const log: FrameLogEntry[] = [];
    const { wire, socket } = await openStage({ onFrame: (entry) => log.push(entry), now: () => 7 });
    socket.sendText("Hi.");
    wire().audio({ seq: 0 }, [1, 2]);
    expect(log.map(({ direction, type, seq }) => [direction, type, seq])).toEqual([
      ["out", "session.config", undefined],
      ["in", "session.created", undefined],
      ["out", "input.text", 0],
      ["out", "ping", undefined],
      ["in", "audio", 0],
    ]);
    expect(log.at(-1)).toMatchObject({ bytes: 26, atMs: 0, text: undefined });
  });

  it("is dropped where it belongs to what was cancelled", async () => {
    const { wire, events, socket } = await openStage();
    socket.cancel("utterance", 12);
    expect(wire().of("input.cancel")).toMatchObject([{ scope: "utterance", played_ms: 12 }]);
    wire().say({
      type: "audio.cancelled",
      utterance_index: 0,
      sentence_index: 0,
      reason: "client_cancel",
      sent_bytes: 4,
      sent_ms: 2,
      dropped_chars: 9,
    });
    wire().audio({ seq: 0, generation: 0 }, [1, 2]);
    wire().audio({ seq: 1, generation: 1 }, [3, 4]);
    expect(bytesOf(events)).toEqual([3, 4]);
    expect(events.find(({ type }) => type === "cancelled")).toMatchObject({ droppedChars: 9 });
  });

  it.each([
    ["text that is not JSON", (wire: FakeWebSocket) => wire.sayText("{")],
    ["a message without a type", (wire: FakeWebSocket) => wire.sayText("[1]")],
    ["audio without a header", (wire: FakeWebSocket) => wire.sayBinary(new ArrayBuffer(30))],
    ["a header that is cut off", (wire: FakeWebSocket) => wire.sayBinary(new ArrayBuffer(5))],
  ])("ends the session if it is %s", async (_, harm) => {
    const { wire, socket, events, made } = await openStage();
    harm(wire());
    vi.advanceTimersByTime(60_000);
    expect(socket.state).toBe("closed");
    expect(events.find(({ type }) => type === "error")).toMatchObject({
      fatal: true,
      error: { code: "malformed_answer" },
    });
    expect(made).toHaveLength(1);
  });

  it("tells of pieces that are missing, and hears none twice", async () => {
    const { wire, events } = await openStage();
    wire().audio({ seq: 0 }, [1, 2]);
    wire().audio({ seq: 0 }, [1, 2]);
    wire().audio({ seq: 2 }, [5, 6]);
    wire().audio({ seq: 1 }, [3, 4]);
    expect(bytesOf(events)).toEqual([1, 2, 5, 6]);
    const errors = events.flatMap((event) => (event.type === "error" ? [event.error.code] : []));
    expect(errors).toEqual(["audio_lost"]);
  });
});

describe("a lost connection", () => {
  it("is made again, with what may not have arrived in either direction", async () => {
    const stage = await openStage();
    const { socket, events } = stage;
    const first = stage.wire();
    socket.sendText("One. ");
    const [ping] = first.of("ping");
    first.say({ type: "pong", t: ping?.t });
    socket.sendText("Two. ");
    socket.end();
    first.say(startOf(0));
    first.audio({ seq: 0 }, [1, 2]);
    first.end();
    socket.sendText("Three.");
    expect(events.at(-1)).toMatchObject({ state: "reconnecting", attempt: 1, delayMs: 100 });
    vi.advanceTimersByTime(99);
    expect(stage.made).toHaveLength(1);
    vi.advanceTimersByTime(1);
    const second = stage.wire();
    second.open();
    expect(second.sent).toEqual([
      { type: "session.resume", session_id: "ws_1", resume_token: "secret", last_seq: 0 },
    ]);
    second.say({ type: "session.resumed", from_seq: 1, lost: false });
    expect(socket.state).toBe("open");
    expect(inputOf(second)).toEqual([
      ["input.text", 1],
      ["input.done", 2],
      ["input.text", 3],
    ]);
    second.audio({ seq: 1, replayed: true }, [3, 4]);
    second.audio({ seq: 2 }, [5, 6]);
    expect(bytesOf(events)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events.filter(({ type }) => type === "error")).toEqual([]);
  });

  it("makes the server repeat messages, which are told once", async () => {
    const stage = await openStage();
    const { events } = stage;
    const done = { type: "session.done", utterance_index: 0, total_sentences: 1 } as const;
    stage.wire().say(startOf(0));
    stage.wire().audio({ seq: 0, last: true }, [1, 2]);
    stage.wire().say(doneOf(0));
    stage.wire().say(done);
    events.length = 0;
    // Two of the three came before; the third is news, though it reads like the first of another utterance.
    const second = comeBack(stage, 1);
    second.say(doneOf(0));
    second.say(done);
    second.say(startOf(0, 1));
    expect(typesOf(events).filter((type) => type !== "state")).toEqual(["segment"]);
    // A second loss: the same three come before, since no audio did.
    const third = comeBack(stage, 1);
    third.say(doneOf(0));
    third.say(done);
    third.say(startOf(0, 1));
    third.audio({ seq: 1, utterance: 1 }, [3, 4]);
    third.say(doneOf(0, 1));
    expect(typesOf(events).filter((type) => type !== "state")).toEqual([
      ...["segment", "chunk", "segment_done"],
    ]);
  });

  it("tells when audio is gone for good, and goes on behind it", async () => {
    const stage = await openStage();
    stage.wire().audio({ seq: 0 }, [1, 2]);
    const second = comeBack(stage, 5, true);
    second.audio({ seq: 5, replayed: true }, [9, 9]);
    expect(bytesOf(stage.events)).toEqual([1, 2, 9, 9]);
    const errors = stage.events.filter(({ type }) => type === "error");
    expect(errors).toMatchObject([{ fatal: false, error: { code: "audio_lost" } }]);
  });

  it("is tried so often, at growing distances, and then ends the session", async () => {
    const stage = await openStage();
    const failed = (async () => {
      for await (const _ of stage.socket.events()) {
        // nothing is done with them
      }
    })();
    const delays: unknown[] = [];
    stage.socket.on("state", ({ delayMs }) => delays.push(delayMs));
    stage.wire().end();
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(400);
      stage.wire().refuse();
    }
    await expect(failed).rejects.toMatchObject({ code: "network" });
    expect(delays).toEqual([100, 200, 400, undefined]);
    expect(stage.made).toHaveLength(4);
  });

  it("is given up when the server keeps the session no longer", async () => {
    const stage = await openStage();
    stage.wire().end();
    vi.advanceTimersByTime(100);
    stage.wire().open();
    const message = "The session cannot be resumed.";
    stage.wire().say({ type: "error", message, code: "resume_unavailable", fatal: true });
    stage.wire().end(4410);
    vi.advanceTimersByTime(10_000);
    expect(stage.made).toHaveLength(2);
    expect(stage.events.at(-1)).toMatchObject({
      state: "closed",
      error: { code: "resume_unavailable" },
    });
  });

  it.each([
    [1001, "shutting_down"],
    [1011, "internal"],
    [4409, "taken_over"],
    [1000, "closed"],
  ])("that the server ended with %d is not tried again", async (closeCode, code) => {
    const stage = await openStage();
    stage.wire().end(closeCode);
    vi.advanceTimersByTime(60_000);
    expect(stage.made).toHaveLength(1);
    expect(stage.events.at(-1)).toMatchObject({ state: "closed", error: { code, closeCode } });
  });

  it("is noticed by its silence", async () => {
    const stage = await openStage({ keepAliveMs: 50 });
    vi.advanceTimersByTime(50);
    expect(stage.wire().of("ping")).toHaveLength(1);
    stage.wire().say({ type: "pong", t: "beat" });
    vi.advanceTimersByTime(50);
    expect(stage.socket.state).toBe("open");
    vi.advanceTimersByTime(50);
    expect(stage.socket.state).toBe("reconnecting");
    expect(stage.made[0]?.closedWith).toBe(4000);
  });

  it("fails pings that were on their way", async () => {
    const stage = await openStage();
    const ping = stage.socket.ping();
    stage.wire().end();
    await expect(ping).rejects.toMatchObject({ code: "network" });
    await expect(stage.socket.ping()).rejects.toMatchObject({ code: "not_open" });
  });
});

describe("what is said", () => {
  it("is counted, and kept until the server has heard it", async () => {
    const { socket, wire } = await openStage();
    const half = "x".repeat(LIMITS_OF_SESSION.buffer_chars / 2);
    expect([socket.sendText(half), socket.flush(), socket.sendText(half)]).toEqual([0, 1, 2]);
    expect(() => socket.sendText("x")).toThrow(expect.objectContaining({ code: "input_overflow" }));
    wire().say({ type: "pong", t: wire().of("ping")[0]?.t });
    expect(socket.sendText(half)).toBe(3);
    expect(wire().of("ping").length).toBeGreaterThan(1);
  });

  it("may change options, and asks how far away the server is", async () => {
    let now = 0;
    const { socket, wire } = await openStage({ now: () => now });
    socket.update({ voice: "nora" }, "now");
    expect(wire().of("session.update")).toMatchObject([{ voice: "nora", apply: "now", seq: 0 }]);
    const ping = socket.ping();
    now = 12;
    wire().say({ type: "pong", t: wire().sent.at(-1)?.t });
    expect(await ping).toBe(12);
  });
});

describe("events()", () => {
  it("tells the server what was taken, also of one who stands still", async () => {
    const { socket, wire } = await openStage();
    const reader = socket.events();
    wire().say(startOf(0));
    wire().audio({ seq: 0 }, [1, 2, 3, 4]);
    wire().audio({ seq: 1 }, [5, 6]);
    expect(socket.waitingMs).toBe(3);
    vi.advanceTimersByTime(250);
    expect(wire().of("playback.ack")).toMatchObject([{ utterance_index: 0, played_ms: 0 }]);
    await reader.next();
    await reader.next();
    vi.advanceTimersByTime(250);
    expect(wire().of("playback.ack").at(-1)).toMatchObject({ played_ms: 2 });
    await reader.next();
    vi.advanceTimersByTime(2000);
    expect(wire().of("playback.ack").at(-1)).toMatchObject({ played_ms: 3 });
    const { length } = wire().of("playback.ack");
    vi.advanceTimersByTime(2000);
    expect(wire().of("playback.ack")).toHaveLength(length);
  });

  it("leaves that to a player who wants to tell it himself", async () => {
    const { socket, wire } = await openStage({ acks: "manual" });
    socket.events();
    wire().audio({ seq: 0 }, [1, 2]);
    vi.advanceTimersByTime(2000);
    expect(wire().of("playback.ack")).toEqual([]);
    socket.played(0, -1);
    expect(wire().of("playback.ack")).toMatchObject([{ played_ms: 0 }]);
  });

  it("throws away what waits and was cancelled", async () => {
    const { socket, wire } = await openStage();
    const reader = socket.events();
    wire().audio({ seq: 0 }, [1, 2]);
    wire().say({
      type: "audio.cancelled",
      utterance_index: 0,
      sentence_index: 0,
      reason: "client_cancel",
      sent_bytes: 2,
      sent_ms: 1,
      dropped_chars: 0,
    });
    expect((await reader.next()).value).toMatchObject({ type: "cancelled" });
  });

  it("is bounded", async () => {
    const { socket, wire } = await openStage({ maxBufferedBytes: 3 });
    const reader = socket.events();
    wire().audio({ seq: 0 }, [1, 2]);
    wire().audio({ seq: 1 }, [3, 4]);
    expect(wire().closedWith).toBe(1000);
    await reader.next();
    await reader.next();
    expect((await reader.next()).value).toMatchObject({ type: "state", state: "closed" });
    await expect(reader.next()).rejects.toMatchObject({ code: "buffer_full" });
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it("has one reader at a time", async () => {
    const { socket, wire } = await openStage();
    const reader = socket.events();
    expect(() => socket.events()).toThrow("a reader already");
    await reader.return?.();
    const next = socket.events().next();
    wire().say(startOf(0));
    expect((await next).value).toMatchObject({ type: "segment" });
  });
});

describe("closing", () => {
  it("is orderly, and can be asked for twice", async () => {
    const { socket, wire, events } = await openStage();
    const reader = socket.events();
    const closed = Promise.all([socket.close(), socket.close()]);
    expect(wire().of("session.close")).toHaveLength(1);
    wire().end(1000);
    await closed;
    expect(events.at(-1)).toMatchObject({ type: "state", state: "closed", error: undefined });
    expect((await reader.next()).value).toMatchObject({ type: "state" });
    expect((await reader.next()).done).toBe(true);
    await socket.close();
  });

  it("does not wait for a server that is silent, nor for a next attempt", async () => {
    const silent = await openStage();
    const closed = silent.socket.close();
    vi.advanceTimersByTime(2000);
    await closed;
    const lost = await openStage();
    lost.wire().end();
    await lost.socket.close();
    vi.advanceTimersByTime(10_000);
    expect(lost.made).toHaveLength(1);
    const idle = stageOf();
    await idle.socket.close();
    expect(idle.socket.state).toBe("closed");
  });
});
