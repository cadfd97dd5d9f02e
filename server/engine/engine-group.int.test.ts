/** Two real engines as one: the same sound wherever it is made, work for both, and one end for all. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { Engine } from "./engine.ts";
import { EngineGroup } from "./engine-group.ts";
import type { EngineStream } from "./stream.ts";
import { talk, talkativeModel } from "./test-model.ts";

const model = talkativeModel();
let group: EngineGroup;

beforeAll(async () => {
  const load = () => Engine.load(model.options);
  group = await EngineGroup.load([load, load]);
});
afterAll(async () => {
  await group.close();
  model.remove();
});

async function samples(stream: EngineStream): Promise<number[]> {
  const all: number[] = [];
  for await (const { pcm } of stream) all.push(...pcm);
  return all;
}

it("speaks on both what one would have spoken", async () => {
  const requests = Array.from({ length: 6 }, (_, i) => talk(group.info, 12, i));
  const alone = [];
  await using one = await Engine.load(model.options);
  for (const request of requests) alone.push(await samples(one.generate(request)));
  const together = await Promise.all(requests.map((request) => samples(group.generate(request))));
  expect(together).toEqual(alone);
  expect(group.members.map((member) => member.stats().finished)).toEqual([3, 3]);
  expect(group.stats()).toMatchObject({ finished: 6, frames: 72, live: 0 });
});

it("goes on with its places right after a generation that was left", async () => {
  for await (const _ of group.generate(talk(group.info, 1000, 1))) break;
  const codes = await group.encode(new Float32Array(4 * 192), 1, 4800);
  expect(codes).toHaveLength(4 * (group.info.codec?.nCodebooks ?? 0));
  await group.close();
  expect(() => group.generate(talk(group.info, 1, 0))).toThrow(
    expect.objectContaining({ code: "closed" }),
  );
});
