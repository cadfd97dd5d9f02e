/** The speech socket without a network: how it opens, what becomes of what is said and heard, and how it closes. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { socketUrl } from "./socket-link.ts";
import type { FrameLogEntry } from "./socket-types.ts";
import { bytesOf, comeBack, openStage, stageOf, typesOf } from "./test-stage.ts";
import {
  CREATED,
  doneOf,
  type FakeWebSocket,
  LIMITS_OF_SESSION,
  startOf,
} from "./test-web-socket.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTime(ms);

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

  it("does not hold up what is said meanwhile, and sends it once", async () => {
    const { socket, wire } = stageOf();
    const opened = socket.open();
    expect(socket.sendText("Early. ")).toBe(0);
    expect(wire().sent).toEqual([]);
    wire().open();
    socket.sendText("Before the answer.");
    socket.end();
    expect(wire().sent.map(({ type, seq }) => [type, seq])).toEqual([
      ["session.config", undefined],
      ["input.text", 0],
      ["input.text", 1],
      ["input.done", 2],
    ]);
    wire().say(CREATED);
    await opened;
    expect(wire().sent.slice(4)).toEqual([{ type: "ping", t: "heard:2" }]);
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
    pass(60_000);
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
    pass(250);
    expect(wire().of("playback.ack")).toMatchObject([{ utterance_index: 0, played_ms: 0 }]);
    await reader.next();
    await reader.next();
    pass(250);
    expect(wire().of("playback.ack").at(-1)).toMatchObject({ played_ms: 2 });
    await reader.next();
    pass(2000);
    expect(wire().of("playback.ack").at(-1)).toMatchObject({ played_ms: 3 });
    const { length } = wire().of("playback.ack");
    pass(2000);
    expect(wire().of("playback.ack")).toHaveLength(length);
  });

  it("leaves that to a player who wants to tell it himself", async () => {
    const { socket, wire } = await openStage({ acks: "manual" });
    socket.events();
    wire().audio({ seq: 0 }, [1, 2]);
    pass(2000);
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

  it("is told to the server on the next connection if this one is lost", async () => {
    const stage = await openStage();
    const closed = stage.socket.close();
    const second = comeBack(stage, pass, 0);
    expect(second.sent.map(({ type }) => type)).toEqual(["session.resume", "session.close"]);
    second.end(1000);
    await closed;
    expect(stage.events.at(-1)).toMatchObject({ state: "closed", error: undefined });
  });

  it("does not wait for ever: not for a server that is silent, nor for one that is away", async () => {
    const silent = await openStage();
    const closed = silent.socket.close();
    pass(2000);
    await closed;
    const lost = await openStage();
    lost.wire().end();
    const gone = lost.socket.close();
    pass(2000);
    await gone;
    const { length } = lost.made;
    pass(60_000);
    expect(lost.made).toHaveLength(length);
    const idle = stageOf();
    await idle.socket.close();
    expect(idle.socket.state).toBe("closed");
  });
});
