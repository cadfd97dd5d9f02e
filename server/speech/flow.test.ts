/** Back-pressure: unread events and a listener who is far behind both stop the engine, and neither loses a sample. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Playback } from "./playback.ts";
import { CONFIG, type House, only, openHouse, REQUEST, readUntil, settle } from "./test-house.ts";
import type { SpeechEvent } from "./types.ts";

let house: House;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(async () => {
  await house?.service.close();
  vi.useRealTimers();
});

const LONG = "A long sentence is spoken here without a stop.";

async function start(maxLeadMs: number, frames = 200) {
  house = await openHouse();
  house.native.fate = () => ({ frames: Math.min(frames, 99) });
  const session = house.service.open({ ...REQUEST, maxLeadMs });
  session.push(LONG);
  session.end();
  const read: SpeechEvent[] = [];
  return {
    session,
    read,
    sentMs: () => only(read, "audio").reduce((ms, { pcm }) => ms + pcm.length / 8, 0),
  };
}

function listen(session: { events: AsyncIterable<SpeechEvent> }, read: SpeechEvent[]) {
  void (async () => {
    for await (const event of session.events) read.push(event);
  })();
}

describe("unread events", () => {
  it("stop the reading of the engine", async () => {
    const { session } = await start(Number.POSITIVE_INFINITY);
    const events = session.events[Symbol.asyncIterator]();
    await settle(300);
    const [generation] = house.native.generations;
    expect(generation?.consumed).toBeLessThan(20);
    const rest = await readUntil(events, "utterance-end");
    expect(only(rest, "audio").reduce((sum, { pcm }) => sum + pcm.length / 640, 0)).toBe(99);
  });
});

describe("a lead", () => {
  it("pauses above its limit, resumes at 80 % of it, and says so", async () => {
    const { session, read, sentMs } = await start(2000);
    listen(session, read);
    await settle(300);
    expect(only(read, "flow")).toMatchObject([{ state: "paused" }]);
    const first = sentMs();
    expect(first).toBeGreaterThan(2000);
    expect(first).toBeLessThanOrEqual(2000 + 320);
    await vi.advanceTimersByTimeAsync(first - 1600 - 10);
    await settle();
    expect(sentMs()).toBe(first);
    await vi.advanceTimersByTimeAsync(20);
    await settle();
    expect(
      only(read, "flow")
        .map(({ state }) => state)
        .slice(0, 2),
    ).toEqual(["paused", "resumed"]);
    expect(sentMs()).toBeGreaterThan(first);
    for (let i = 0; i < 20; i++) {
      await vi.advanceTimersByTimeAsync(1000);
      await settle();
    }
    expect(read.at(-1)?.kind).toBe("utterance-end");
    expect(sentMs()).toBe(99 * 80);
  });

  it("follows what the listener says it has heard", async () => {
    const { session, read, sentMs } = await start(1000);
    listen(session, read);
    await settle(300);
    const first = sentMs();
    session.played(0, first - 100);
    await settle();
    const second = sentMs();
    expect(second).toBeGreaterThan(first + 900);
    session.played(0, first); // he is slower than the clock
    await settle();
    expect(sentMs()).toBe(second);
    session.played(7, 1e9); // an utterance that there is not
    await settle();
    expect(sentMs()).toBe(second);
  });

  it("is over when the utterance is cancelled", async () => {
    const { session, read } = await start(1000);
    listen(session, read);
    await settle(300);
    session.cancel("utterance");
    session.push("Next.");
    session.end();
    await settle(200);
    expect(only(read, "audio").some(({ utterance }) => utterance === 1)).toBe(true);
    expect(house.native.generations.length).toBe(2);
  });
});

describe("playback", () => {
  it("begins with the first audio, waits when it runs dry, and spans utterances", () => {
    let now = 100;
    const playback = new Playback(() => now);
    expect(playback.leadMs).toBe(0);
    playback.sent(0, 500);
    now += 200;
    expect(playback.leadMs).toBe(300);
    now += 1000;
    expect(playback.leadMs).toBe(0);
    playback.sent(0, 500);
    playback.sent(1, 100);
    expect(playback.leadMs).toBe(600);
    playback.played(0, 900);
    expect(playback.leadMs).toBe(200);
    playback.played(1, 50);
    expect(playback.leadMs).toBe(50);
    playback.played(0, 0); // old news
    expect(playback.leadMs).toBe(50);
    playback.stopped();
    expect(playback.leadMs).toBe(0);
  });
});

describe("a chunk that is being gathered", () => {
  it("leaves at once when its listener is about to run dry, and is gathered when he is not", async () => {
    const chunks = { ...CONFIG.chunks, policy: "adaptive", steadyFrames: 8 } as const;
    house = await openHouse({ config: { ...CONFIG, chunks } });
    let frameMs = 100;
    house.native.fate = () => ({
      frames: 40,
      before: () => new Promise((resolve) => setTimeout(resolve, frameMs)),
    });
    const sizes = async (ms: number) => {
      const from = only(read, "audio").length;
      for (let i = 0; i < ms / 20; i++) {
        await vi.advanceTimersByTimeAsync(20);
        await settle(5);
      }
      // Frames of 640 samples, mixed to one channel.
      return only(read, "audio")
        .slice(from)
        .map(({ pcm }) => pcm.length / 640);
    };
    const session = house.service.open(REQUEST);
    session.push(LONG);
    session.end();
    const read: SpeechEvent[] = [];
    listen(session, read);
    // Slower than it is heard: whatever is made is needed.
    const slow = await sizes(1000);
    expect(slow.length).toBeGreaterThan(5);
    expect(Math.max(...slow)).toBe(1);
    // Faster than it is heard: as soon as there is something in hand, the policy rules.
    frameMs = 10;
    const fast = await sizes(600);
    expect(Math.max(...fast)).toBeGreaterThan(2);
    await session.close();
  });
});
