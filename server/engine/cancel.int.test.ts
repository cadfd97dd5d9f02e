/**
 * What is cancelled costs nothing more: whenever the cancel comes and whoever speaks beside it, at most the frame in the
 * making is finished. Counted in frames by the engine itself; `npm run bench -- cancel` tells the milliseconds.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { Engine } from "./engine.ts";
import { talk, talkativeModel } from "./test-model.ts";
import type { Finished } from "./types.ts";

const AT_ONCE = 8;
const ROUNDS = 12;

const model = talkativeModel();
let engine: Engine;
beforeAll(async () => {
  engine = await Engine.load({ ...model.options, limits: { maxSequences: AT_ONCE } });
});
afterAll(async () => {
  await engine?.close();
  model.remove();
});

/** Reads some frames and cancels, or cancels unread. The frames read differ from one to the next, so the moments do. */
async function readAndCancel(flavour: number, frames: number): Promise<Finished> {
  const stream = engine.generate({ ...talk(engine.info, 1500, flavour), bufferFrames: 200 });
  for (let read = 0; read < frames; ) read += (await stream.next()).value?.frames ?? 1;
  stream.cancel();
  return stream.finished;
}

it("at most one frame is generated after a cancel, alone or beside others", async () => {
  const before = engine.stats();
  const ends: Finished[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // More than the engine takes at once, so that some are cancelled in line.
    const crowd = Array.from({ length: AT_ONCE + 4 }, (_, i) =>
      readAndCancel(i, i < AT_ONCE ? (round + 3 * i) % 11 : 0),
    );
    ends.push(...(await Promise.all(crowd)));
  }
  expect(ends.every(({ reason }) => reason === "cancelled")).toBe(true);
  expect(Math.max(...ends.map(({ stats }) => stats.lateFrames))).toBeLessThanOrEqual(1);
  expect(ends.every(({ stats }) => stats.cancelMs > 0)).toBe(true);
  const after = engine.stats();
  expect(after).toMatchObject({ live: 0, waiting: 0, sequenceBytes: 0 });
  expect(after.cancelled - before.cancelled).toBe(ROUNDS * (AT_ONCE + 4));
  expect(after.cancelMsMax).toBe(Math.max(...ends.map(({ stats }) => stats.cancelMs)));
});

it("the frames of a generation stand still once its end has been heard", async () => {
  const { stats } = await readAndCancel(0, 5);
  const { frames } = engine.stats();
  // Whoever comes next has the engine to himself: every frame made from now on is his.
  const next = engine.generate(talk(engine.info, 20));
  for await (const _ of next);
  expect(engine.stats().frames - frames).toBe(20);
  expect(stats.frames).toBeGreaterThanOrEqual(5);
});
