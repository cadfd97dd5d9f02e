/** A listener who does not read keeps what he has, but not his place: others are spoken meanwhile, and he loses nothing. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  CONFIG,
  type House,
  hashOf,
  openHouse,
  pcmOf,
  REQUEST,
  readUntil,
  settle,
  speak,
} from "./test-house.ts";

/** More frames than the engine makes ahead of a reader. */
const MANY = 300;
const LONG = "A long sentence is spoken here without a stop.";

let house: House;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await house?.service.close();
});

/** A house in which one is spoken at a time, and as many may be parked as it says. */
async function smallHouse(maxParked: number): Promise<void> {
  const engine = { maxSequences: 1, maxQueue: 8, maxParked };
  house = await openHouse({ config: { ...CONFIG, engine } });
  house.native.fate = (_, { textRows }) => ({ frames: textRows.length > 30 ? MANY : 6 });
}

/** A session that nobody reads, paused by the engine. */
async function unread() {
  const session = house.service.open({ ...REQUEST, maxFrames: MANY });
  session.push(LONG);
  session.end();
  await settle(200);
  const generation = house.native.generations.at(-1);
  expect(generation?.made).toBeLessThan(MANY);
  return { session, generation };
}

const load = () => {
  const { active, waiting } = house.service.load;
  return { active, waiting };
};

/** Lets time pass until a pause is no hiccup any more. */
async function patience(): Promise<void> {
  await vi.advanceTimersByTimeAsync(300);
  await settle(200);
}

describe("a reader who is behind", () => {
  it("gives his slot to the next, gets one back, and hears the same as one who reads", async () => {
    await smallHouse(1);
    const whole = hashOf(pcmOf(await speak(house, [LONG], { maxFrames: MANY })));
    const { session, generation } = await unread();
    expect(load()).toEqual({ active: 1, waiting: 0 });
    await patience();
    expect(load()).toEqual({ active: 0, waiting: 0 });
    const other = pcmOf(await speak(house, ["Short."]));
    expect(other.length).toBeGreaterThan(0);

    const made = generation?.made;
    expect(generation?.isCancelled).toBe(false);
    const events = readUntil(session.events, "utterance-end");
    await vi.advanceTimersByTimeAsync(1000);
    expect(hashOf(pcmOf(await events))).toBe(whole);
    expect(made).toBeLessThan(MANY);
    expect(load()).toEqual({ active: 0, waiting: 0 });
  });

  it("goes on only when there is a slot, before newcomers", async () => {
    await smallHouse(1);
    const { session, generation } = await unread();
    await patience();
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    house.native.fate = (_, { textRows }) => ({
      frames: textRows.length > 30 ? MANY : 6,
      before: () => gate,
    });
    const busy = speak(house, ["Short."]);
    const newcomer = speak(house, ["Later."]);
    await settle(50);
    expect(load()).toEqual({ active: 1, waiting: 1 });

    const made = generation?.made;
    const events = readUntil(session.events, "utterance-end");
    await settle(200);
    // He reads what is there, and asks for a slot; the engine makes nothing for him yet.
    expect(load()).toEqual({ active: 1, waiting: 2 });
    expect(generation?.made).toBe(made);
    open();
    await busy;
    await events;
    expect(generation?.made).toBe(MANY);
    await newcomer;
    expect(house.native.mostLive).toBe(2);
    expect(load()).toEqual({ active: 0, waiting: 0 });
  });

  it("keeps his slot where too many are parked, until one of them leaves", async () => {
    await smallHouse(1);
    const first = await unread();
    await patience();
    const second = await unread();
    await patience();
    expect(load()).toEqual({ active: 1, waiting: 0 });
    await first.session.close();
    await patience();
    expect(load()).toEqual({ active: 0, waiting: 0 });
    await second.session.close();
    expect(house.native.live).toBe(0);
  });

  it("keeps it where nobody may be parked", async () => {
    await smallHouse(0);
    const { session } = await unread();
    await patience();
    expect(load()).toEqual({ active: 1, waiting: 0 });
    await session.close();
  });

  it("frees everything when he leaves while parked or while waiting to come back", async () => {
    await smallHouse(1);
    const { session } = await unread();
    await patience();
    await session.close();
    expect(house.native.live).toBe(0);

    const again = await unread();
    await patience();
    const other = await unread();
    const events = again.session.events[Symbol.asyncIterator]();
    for (let i = 0; i < 22; i++) await events.next();
    await settle(50);
    expect(load()).toEqual({ active: 1, waiting: 1 });
    await again.session.close();
    await other.session.close();
    expect(load()).toEqual({ active: 0, waiting: 0 });
    expect(house.native.live).toBe(0);
    expect(house.service.openSessions).toBe(0);
  });
});
