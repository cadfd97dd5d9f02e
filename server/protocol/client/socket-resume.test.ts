/** What a lost connection costs a speech socket: nothing, as far as the server still has it; and when it is given up. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bytesOf, comeBack, openStage, typesOf } from "./test-stage.ts";
import { doneOf, type FakeWebSocket, startOf } from "./test-web-socket.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTime(ms);

const inputOf = (wire: FakeWebSocket) =>
  wire.sent.filter(({ type }) => type.startsWith("input.")).map(({ type, seq }) => [type, seq]);

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
    pass(99);
    expect(stage.made).toHaveLength(1);
    pass(1);
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
    const second = comeBack(stage, pass, 1);
    second.say(doneOf(0));
    second.say(done);
    second.say(startOf(0, 1));
    expect(typesOf(events).filter((type) => type !== "state")).toEqual(["segment"]);
    // A second loss: the same three come before, since no audio did.
    const third = comeBack(stage, pass, 1);
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
    const second = comeBack(stage, pass, 5, true);
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
      pass(400);
      stage.wire().refuse();
    }
    await expect(failed).rejects.toMatchObject({ code: "network" });
    expect(delays).toEqual([100, 200, 400, undefined]);
    expect(stage.made).toHaveLength(4);
  });

  it("is given up when the server keeps the session no longer", async () => {
    const stage = await openStage();
    stage.wire().end();
    pass(100);
    stage.wire().open();
    const message = "The session cannot be resumed.";
    stage.wire().say({ type: "error", message, code: "resume_unavailable", fatal: true });
    stage.wire().end(4410);
    pass(10_000);
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
    pass(60_000);
    expect(stage.made).toHaveLength(1);
    expect(stage.events.at(-1)).toMatchObject({ state: "closed", error: { code, closeCode } });
  });

  it("is noticed by its silence", async () => {
    const stage = await openStage({ keepAliveMs: 50 });
    pass(50);
    expect(stage.wire().of("ping")).toHaveLength(1);
    stage.wire().say({ type: "pong", t: "beat" });
    pass(50);
    expect(stage.socket.state).toBe("open");
    pass(50);
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
