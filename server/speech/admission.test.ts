/** Who gets in, who waits for whom, and who is refused: as many listeners as can be spoken to in real time. */
import { beforeEach, describe, expect, it } from "vitest";
import { Admission, type AdmissionOptions, type Claim, type Listener } from "./admission.ts";
import { LoadEstimate } from "./load-estimate.ts";
import { realTimeSequences } from "./real-time.ts";
import { settle } from "./test-house.ts";

const FIRST: Claim = { kind: "first" };
const next = (aheadMs: number): Claim => ({ kind: "next", aheadMs });
const NOBODY = Number.POSITIVE_INFINITY;

let now: number;
let granted: string[];
let admission: Admission;

function open(options: Partial<AdmissionOptions> = {}): void {
  const estimate = new LoadEstimate();
  admission = new Admission({ maxWaiting: 8, maxParked: 8, estimate, now: () => now, ...options });
}

function ask(name: string, claim: Claim) {
  const places: number[] = [];
  const ticket = admission.request(claim, (place) => places.push(place));
  void ticket.granted.then((isGranted) => isGranted && granted.push(name));
  return { ...ticket, places };
}

function listener(aheadMs: number, isHearing = true): Listener {
  return { aheadMs: () => aheadMs, isHearing: () => isHearing };
}

beforeEach(() => {
  now = 0;
  granted = [];
  open();
});

describe("newcomers", () => {
  it("are let in up to the capacity, in order, and the rest know their places", async () => {
    admission.resume({ slots: 4, capacity: 2 });
    const a = ask("a", FIRST);
    ask("b", FIRST);
    const c = ask("c", FIRST);
    const d = ask("d", FIRST);
    await settle();
    expect(granted).toEqual(["a", "b"]);
    expect([c.places, d.places]).toEqual([[1], [2]]);
    a.release();
    await settle();
    expect(granted).toEqual(["a", "b", "c"]);
    expect(d.places).toEqual([2, 1]);
    expect(admission).toMatchObject({ active: 2, waiting: 1, capacity: 2 });
  });

  it("wait while a listener is between two units, though there is a slot", async () => {
    admission.resume({ slots: 1, capacity: 1 });
    const a = ask("a", FIRST);
    ask("b", FIRST);
    // As a session does: it asks for its next unit before it gives the slot of the last one back.
    const again = ask("a again", next(8000));
    a.release();
    await settle();
    expect(granted).toEqual(["a", "a again"]);
    again.release();
    await settle();
    expect(granted).toEqual(["a", "a again", "b"]);
  });

  it("find the place of a listener taken who has so much to hear that nothing is made for him", async () => {
    admission.resume({ slots: 4, capacity: 2 });
    const hearing = ask("hearing", FIRST);
    const stuck = ask("stuck", FIRST);
    await settle();
    expect(hearing.park(listener(9000))).toBe(true);
    expect(stuck.park(listener(0, false))).toBe(true);
    ask("b", FIRST);
    ask("c", FIRST);
    await settle();
    // One of the two still listens, the other one hears nothing.
    expect(granted).toEqual(["hearing", "stuck", "b"]);
    expect(admission).toMatchObject({ active: 1, parked: 2, waiting: 1 });
    void hearing.unpark().then(() => granted.push("hearing again"));
    await settle();
    expect(granted.at(-1)).toBe("hearing again");
    expect(admission).toMatchObject({ active: 2, parked: 1, waiting: 1 });
  });

  it("are let in when there is room for more, and no longer when there is room for fewer", async () => {
    admission.resume({ slots: 4, capacity: 1 });
    ask("a", FIRST);
    ask("b", FIRST);
    ask("c", FIRST);
    admission.resume({ slots: 4, capacity: 2 });
    await settle();
    expect(granted).toEqual(["a", "b"]);
    admission.resume({ slots: 4, capacity: 1 });
    await settle();
    expect(admission).toMatchObject({ active: 2, waiting: 1, capacity: 1 });
  });

  it("wait above half of the capacity while somebody who is in is short of sound", async () => {
    admission.resume({ slots: 8, capacity: 4, isStrained: true });
    for (const name of ["a", "b", "c"]) ask(name, FIRST);
    await settle();
    expect(granted).toEqual(["a", "b"]);
    ask("a again", next(10));
    await settle();
    expect(granted).toEqual(["a", "b", "a again"]);
    admission.resume({ slots: 8, capacity: 4, isStrained: false });
    await settle();
    expect(granted).toEqual(["a", "b", "a again", "c"]);
  });

  it("are refused where the line is too long, or too slow", () => {
    const estimate = new LoadEstimate();
    estimate.note(50, 4000);
    open({ maxWaiting: 2, estimate });
    admission.resume({ slots: 1, capacity: 1 });
    for (const name of ["a", "b", "c"]) ask(name, FIRST);
    expect(admission.isFull).toBe(true);
    expect(() => ask("d", FIRST)).toThrow(expect.objectContaining({ code: "overloaded" }));
    expect(() => ask("a again", next(100))).not.toThrow();

    open({ maxWaiting: 100, maxWaitMs: 10_000, estimate });
    admission.resume({ slots: 1, capacity: 1 });
    let entered = 0;
    while (!admission.isFull) ask(String(entered++), FIRST);
    const { retryAfterSeconds } = admission.refusal().details;
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(10);
    // One is served, and all who wait have less than ten seconds to wait.
    expect(entered).toBe(1 + Math.floor(10_000 / estimate.unitMs));
  });
});

describe("those who are in", () => {
  it("get slots beyond the capacity, since newcomers alone are held to it", async () => {
    admission.resume({ slots: 2, capacity: 1 });
    ask("a", FIRST);
    ask("b again", next(3000));
    await settle();
    expect(granted).toEqual(["a", "b again"]);
  });

  it("go in the order in which they run dry, before newcomers and before whom nobody hears", async () => {
    admission.resume({ slots: 1, capacity: 1 });
    let last = ask("a", FIRST);
    ask("file", next(NOBODY));
    ask("newcomer", FIRST);
    const tickets = new Map<string, typeof last>();
    tickets.set("plenty", ask("plenty", next(9000)));
    now = 8000;
    tickets.set("soon", ask("soon", next(500)));
    tickets.set("later", ask("later", next(2000)));
    for (const expected of ["soon", "plenty", "later", "file", "newcomer"]) {
      last.release();
      await settle();
      expect(granted.at(-1)).toBe(expected);
      last = tickets.get(expected) ?? last;
      if (expected === "file") break;
    }
  });
});

describe("sequences in real time", () => {
  const cost = (tickFixedMs: number, tickSequenceMs: number, tickPromptMs = 0) => ({
    tickFixedMs,
    tickSequenceMs,
    tickPromptMs,
  });

  it("are as many as fit into the share of a frame", () => {
    expect(realTimeSequences(cost(4, 9), 80, 0.9)).toBe(7); // 4 + 7 * 9 = 67 of 72 ms
    expect(realTimeSequences(cost(4, 9, 2), 80, 0.9)).toBe(6); // with 2 ms of prompts for each frame
    expect(realTimeSequences(cost(0, 12), 80, 0.9)).toBe(6);
    expect(realTimeSequences(cost(0.6, 0.03), 80, 0.9)).toBe(2380);
  });

  it("are one at least, and without end where nothing is known or company is free", () => {
    expect(realTimeSequences(cost(200, 50), 80, 0.9)).toBe(1);
    expect(realTimeSequences(cost(5, 0), 80, 0.9)).toBe(NOBODY);
  });
});
