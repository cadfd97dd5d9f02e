/** Who may send next when there is more audio than one thread can send. */
import { beforeEach, expect, it } from "vitest";
import { Turns } from "./turns.ts";

/** More than any turn has room for. */
const MANY = 100;

let next: (() => void)[];
let turns: Turns;
let sent: number[];
let now: number;

beforeEach(() => {
  now = 0;
  next = [];
  sent = [];
  turns = new Turns(
    16,
    () => now,
    (turn) => next.push(turn),
  );
});

/** A session that sends one piece. */
async function send(leadMs: number): Promise<void> {
  await turns.take(leadMs);
  sent.push(leadMs);
}

/** The event loop comes round. */
async function round(): Promise<void> {
  for (const turn of next.splice(0)) turn();
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

it("keeps nobody waiting while there is little to send", async () => {
  for (let i = 0; i < MANY; i++) {
    expect(turns.take(i * 1000)).toBeUndefined();
    await round();
  }
});

it("lets those with little to hear go first once there is too much", async () => {
  let room = 0;
  while (turns.take(0) === undefined) room += 1;
  const leads = Array.from({ length: 2 * room }, (_, i) => ((i * 7) % (2 * room)) + 1);
  for (const lead of leads) void send(lead);
  await round();
  const least = [...leads].sort((a, b) => a - b);
  // One had been refused above and has nothing to hear.
  expect(sent).toEqual(least.slice(0, room - 1));
  // A newcomer passes all who have more.
  void send(0);
  await round();
  expect(sent.slice(room - 1)).toEqual([0, ...least.slice(room - 1, 2 * room - 2)]);
  await round();
  expect(sent).toHaveLength(2 * room + 1);
});

it("lets nobody wait beyond his lead for newcomers who keep coming", async () => {
  while (turns.take(0) === undefined);
  void send(500);
  let rounds = 0;
  while (!sent.includes(500) && rounds < MANY) {
    for (let i = 0; i < MANY; i++) void send(i / MANY);
    await round();
    now += 100;
    rounds += 1;
  }
  expect(rounds).toBeGreaterThan(4);
  expect(rounds).toBeLessThan(MANY);
});

it("hands on what a turn has left", async () => {
  let room = 0;
  while (turns.take(0) === undefined) room += 1;
  await round(); // the one that was refused goes, and others find room beside it
  for (let i = 1; i < room; i++) expect(turns.take(0)).toBeUndefined();
  expect(turns.take(0)).toBeInstanceOf(Promise);
});

it("counts larger work for what it costs", async () => {
  let texts = 0;
  while (turns.take(0, 3) === undefined) texts += 1;
  expect(texts).toBe(6); // 16 pieces: the sixth runs over
  void send(1);
  void send(2);
  await round(); // the text that was refused and both pieces of audio
  expect(sent).toEqual([1, 2]);
  for (let i = 3 + 1 + 1; i < 16; i++) expect(turns.take(0)).toBeUndefined();
  expect(turns.take(0)).toBeInstanceOf(Promise);
});
