/** Whoever leaves, whenever, however: nothing of him stays. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { type House, openHouse, REQUEST, readAll, settle } from "./test-house.ts";

let house: House;
afterEach(() => house.service.close());

const TEXT = "One bus is late. Two trams are full. Three boats wait. Four doors open.";

/** Numbers that look random and are the same each time. */
function* draws(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe("leaving", () => {
  it("frees everything, 1000 times at random moments", async () => {
    house = await openHouse();
    const random = draws(7);
    const next = (n: number) => Math.floor(random.next().value * n);
    const visit = async () => {
      const abort = new AbortController();
      const session = house.service.open({ ...REQUEST, signal: abort.signal, maxLeadMs: 300 });
      session.push(TEXT.slice(0, 1 + next(TEXT.length)));
      if (next(2) === 0) session.end();
      const reading = next(4) === 0 ? undefined : readAll(session);
      await settle(next(60));
      if (next(5) === 0)
        session.cancel((["current", "utterance", "all"] as const)[next(3)] ?? "all");
      if (next(2) === 0) abort.abort();
      await session.close();
      await reading;
    };
    for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 10 }, visit));
    expect(house.native.live).toBe(0);
    expect(house.service.load).toMatchObject({ active: 0, waiting: 0 });
    expect(house.service.openSessions).toBe(0);
  }, 60_000);

  it("ends the session when its reader leaves the loop", async () => {
    house = await openHouse();
    house.native.fate = () => ({ frames: 90 });
    const session = house.service.open(REQUEST);
    session.push(TEXT);
    for await (const { kind } of session.events) if (kind === "audio") break;
    await settle(5);
    expect(house.native.live).toBe(0);
    expect(house.service.openSessions).toBe(0);
    session.push("Ignored."); // harmless, like everything after the end
    session.end();
    session.cancel("all");
    await session.close();
  });

  it("lets a reader have what was queued", async () => {
    house = await openHouse();
    const session = house.service.open(REQUEST);
    session.push("One is here.");
    session.end();
    await settle();
    await session.close();
    const kinds = (await readAll(session)).map(({ kind }) => kind);
    expect(kinds.at(0)).toBe("unit");
    expect(kinds.at(-1)).toBe("utterance-end");
  });

  it("leaves no listener on the signal", async () => {
    house = await openHouse();
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const session = house.service.open({ ...REQUEST, signal });
    await session.close();
    expect(removed.mock.calls.map(([kind, call]) => [kind, call])).toEqual(
      added.mock.calls.map(([kind, call]) => [kind, call]),
    );
    const gone = house.service.open({ ...REQUEST, signal: AbortSignal.abort() });
    expect(await readAll(gone)).toEqual([]);
    expect(house.service.openSessions).toBe(0);
  });
});
