/** Cancelling and barge-in: what is stopped, what is told, and that the session goes on. */
import { afterEach, describe, expect, it } from "vitest";
import { type House, openHouse, REQUEST, readUntil, settle, shapeOf } from "./test-house.ts";
import type { SpeechEvent } from "./types.ts";

const TEXT = "One bus is late. Two trams are full. Three boats wait. Four doors open.";

let house: House;
afterEach(() => house.service.close());

async function start(text = TEXT) {
  house = await openHouse();
  house.native.fate = () => ({ frames: 30 });
  const session = house.service.open(REQUEST);
  const events = session.events[Symbol.asyncIterator]();
  session.push(text);
  return { session, events };
}

/** Everything that can be read without waiting. */
async function drain(events: AsyncIterator<SpeechEvent>): Promise<SpeechEvent[]> {
  const read: SpeechEvent[] = [];
  const pump = async () => {
    for (;;) {
      const { value, done } = await events.next();
      if (done) return;
      read.push(value);
    }
  };
  void pump();
  await settle(200);
  return read;
}

describe("an utterance", () => {
  it("stops at once, says what was sent, and is followed by the next", async () => {
    const { session, events } = await start();
    await readUntil(events, "audio");
    await events.next();
    await settle();
    session.cancel("utterance", 100);
    session.push("Fresh start.");
    session.end();
    await settle(2);
    expect(house.native.live).toBeLessThanOrEqual(1);
    const told = await readUntil(events, "utterance-end");
    expect(told).toMatchObject([
      {
        kind: "cancelled",
        utterance: 0,
        unit: 0,
        generation: 1,
        reason: "client_cancel",
        sentMs: 400,
        droppedChars: 55,
      },
      { kind: "unit-end", unit: 0, cancelled: true, durationMs: 400 },
      { kind: "utterance-end", utterance: 0, units: 0, durationMs: 400 },
    ]);
    const next = await readUntil(events, "utterance-end");
    expect(next[0]).toMatchObject({ kind: "unit", utterance: 1, unit: 0, generation: 1 });
    expect(next.every((event) => !("generation" in event) || event.generation === 1)).toBe(true);
    expect(house.native.live).toBe(0);
  });

  it("counts the units that were spoken to their end", async () => {
    const { session, events } = await start();
    await readUntil(events, "unit-end");
    await readUntil(events, "audio");
    session.cancel("utterance");
    const told = await readUntil(events, "utterance-end");
    expect(told.at(0)).toMatchObject({ kind: "cancelled", unit: 1, sentMs: 30 * 80 + 400 + 80 });
    expect(told.at(-1)).toMatchObject({ units: 1 });
  });

  it("is cancelled while it waits for text", async () => {
    const { session, events } = await start("Unfinished text");
    session.cancel("all");
    session.push("New.");
    session.end();
    expect(await readUntil(events, "utterance-end")).toMatchObject([
      { kind: "cancelled", utterance: 0, unit: undefined, sentMs: 0, droppedChars: 15 },
      { kind: "utterance-end", utterance: 0, units: 0 },
    ]);
    expect((await readUntil(events, "utterance-end"))[0]).toMatchObject({
      utterance: 1,
      text: "New.",
    });
  });

  it("leaves later ones alone unless all are meant", async () => {
    for (const scope of ["utterance", "all"] as const) {
      const { session, events } = await start("One is here.");
      session.end();
      session.push("Two is here.");
      session.end();
      await readUntil(events, "audio");
      session.cancel(scope);
      const told = await drain(events);
      expect(told.filter(({ kind }) => kind === "cancelled").length).toBe(1);
      const ends = told.filter((event) => event.kind === "utterance-end");
      expect(ends).toMatchObject([
        { utterance: 0, units: 0 },
        { utterance: 1, units: scope === "all" ? 0 : 1 },
      ]);
      await house.service.close();
    }
  });
});

describe("the unit in progress", () => {
  it("is dropped and the next one spoken", async () => {
    const { session, events } = await start();
    session.end();
    await readUntil(events, "audio");
    session.cancel("current");
    const told = await readUntil(events, "utterance-end");
    expect(shapeOf(told)).toEqual([
      "cancelled 0",
      "unit-end 0",
      ...[1, 2, 3].flatMap((unit) => [`unit ${unit}`, `audio ${unit}`, `unit-end ${unit}`]),
      "utterance-end",
    ]);
    expect(told[0]).toMatchObject({ sentMs: 80, droppedChars: 0 });
    expect(told.at(-1)).toMatchObject({ units: 3 });
  });

  it("is dropped from among unread events of later ones", async () => {
    house = await openHouse();
    house.native.fate = () => ({ frames: 2 });
    const session = house.service.open(REQUEST);
    const events = session.events[Symbol.asyncIterator]();
    session.push(TEXT);
    session.end();
    await readUntil(events, "unit");
    await settle(100);
    session.cancel("current");
    const told = await readUntil(events, "utterance-end");
    expect(shapeOf(told).slice(0, 4)).toEqual(["cancelled 0", "unit-end 0", "unit 1", "audio 1"]);
    expect(told.slice(2).every((event) => !("generation" in event) || event.generation === 1)).toBe(
      true,
    );
    expect(told.at(-1)).toMatchObject({ units: 3 });
  });
});

describe("cancels in a row", () => {
  it("drop one unit each, and pair every unit that was announced", async () => {
    const { session, events } = await start();
    session.end();
    await readUntil(events, "audio");
    session.cancel("current");
    session.cancel("current"); // nothing is in progress yet: the engine has not let go
    const told = await readUntil(events, "utterance-end");
    expect(shapeOf(told).slice(0, 4)).toEqual([
      "cancelled 0",
      "unit-end 0",
      "cancelled undefined",
      "unit 1",
    ]);
    expect(told.at(-1)).toMatchObject({ units: 3 });
  });

  it("do not take back what the first one told", async () => {
    const { session, events } = await start("One is here. Two is here. Three");
    await readUntil(events, "unit-end");
    await readUntil(events, "audio");
    session.cancel("current");
    session.cancel("utterance");
    session.cancel("utterance");
    const told = await drain(events);
    // Equal neighbours count once: two cancels name unit 1, the third found nothing.
    expect(shapeOf(told)).toEqual([
      "cancelled 1",
      "unit-end 1",
      "utterance-end",
      "cancelled undefined",
    ]);
    expect(told.filter(({ kind }) => kind === "cancelled").length).toBe(3);
    expect(told.find(({ kind }) => kind === "utterance-end")).toMatchObject({ units: 1 });
  });
});

describe("nothing", () => {
  it("can be cancelled, any number of times", async () => {
    const { session, events } = await start("All set.");
    session.end();
    await readUntil(events, "utterance-end");
    session.cancel("utterance");
    session.cancel("current");
    session.cancel("all");
    const told = await drain(events);
    expect(told).toMatchObject(
      [1, 2, 3].map((generation) => ({
        kind: "cancelled",
        generation,
        unit: undefined,
        sentMs: 0,
        droppedChars: 0,
      })),
    );
    session.push("Still alive.");
    session.end();
    await settle(300);
    expect(told.at(-1)).toMatchObject({ kind: "utterance-end", utterance: 1, units: 1 });
  });
});
