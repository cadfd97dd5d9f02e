/** Who gets what in a group of engines, and what the group says of itself. */
import { describe, expect, it, vi } from "vitest";
import { EngineGroup, type Member } from "./engine-group.ts";
import type { EngineStream } from "./stream.ts";
import type { EngineInfo, EngineStats, Finished } from "./types.ts";

/** A member whose generations end when the test says so. */
function memberOf(name: string, stats: Partial<EngineStats> = {}) {
  const ends: (() => void)[] = [];
  const close = vi.fn(async () => {});
  const member: Member = {
    info: {
      device: "cuda",
      description: name,
      threads: 1,
      weightBytes: 10,
      limits: { maxSequences: 512, prefillSliceRows: 2048 },
    } as EngineInfo,
    generate: () => {
      const finished = new Promise<Finished>((resolve) => ends.push(() => resolve({} as Finished)));
      return { finished, name } as unknown as EngineStream;
    },
    encode: async () => new Int32Array([name.length]),
    decode: async () => {
      throw new Error("lost");
    },
    stats: () => stats as EngineStats,
    close,
  };
  return { member, ends, close };
}

const speakOn = (group: EngineGroup, prefixKey?: string) => {
  const stream = group.generate({
    textRows: new Int32Array(),
    ...(prefixKey ? { prefixKey } : {}),
  });
  return (stream as unknown as { name: string }).name;
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a group", () => {
  it("gives work to the member with the least of it, whichever end first", async () => {
    const [a, b] = [memberOf("a"), memberOf("b")];
    const group = new EngineGroup([a.member, b.member]);
    expect([1, 2, 3, 4].map(() => speakOn(group))).toEqual(["a", "b", "a", "b"]);
    for (const end of b.ends) end();
    await settled();
    expect([1, 2, 3].map(() => speakOn(group))).toEqual(["b", "b", "a"]);
  });

  it("prefers the member that knows the voice, among those that have equally little to do", async () => {
    const [a, b] = [memberOf("a"), memberOf("b")];
    const group = new EngineGroup([a.member, b.member]);
    expect(speakOn(group, "clara")).toBe("a");
    expect(speakOn(group, "otto")).toBe("b");
    for (const end of [...a.ends, ...b.ends]) end();
    await settled();
    expect(speakOn(group, "otto")).toBe("b");
    expect(speakOn(group, "otto")).toBe("a");
  });

  it("counts recordings as work, and forgets what has failed", async () => {
    const [a, b] = [memberOf("a"), memberOf("bb")];
    const group = new EngineGroup([a.member, b.member]);
    const first = group.encode(new Float32Array(), 1, 48_000);
    const second = group.encode(new Float32Array(), 1, 48_000);
    expect([await first, await second]).toEqual([new Int32Array([1]), new Int32Array([2])]);
    await expect(group.decode(new Int32Array(), 1)).rejects.toThrow("lost");
    expect(speakOn(group)).toBe("a");
  });

  it("adds up what its members say, and tells the worst of times", () => {
    const a = memberOf("H200", { live: 2, frames: 10, stepMsP95: 3, leadMsMin: 400 });
    const b = memberOf("H200", { live: 1, frames: 5, stepMsP95: 4, leadMsMin: 80 });
    const idle = memberOf("L4", { live: 0, frames: 0, stepMsP95: 0, leadMsMin: 0 });
    const group = new EngineGroup([a.member, b.member, idle.member]);
    expect(group.stats()).toEqual({ live: 3, frames: 15, stepMsP95: 4, leadMsMin: 80 });
    expect(group.info).toMatchObject({ description: "2 × H200; L4", threads: 3, weightBytes: 30 });
    expect(group.info.limits).toEqual({ maxSequences: 1536, prefillSliceRows: 2048 });
  });

  it("is loaded as a whole or not at all", async () => {
    const a = memberOf("a");
    const load = EngineGroup.load([
      async () => a.member,
      async () => {
        throw new Error("There is no GPU 1");
      },
    ]);
    await expect(load).rejects.toThrow("There is no GPU 1");
    expect(a.close).toHaveBeenCalledOnce();
    await (await EngineGroup.load([async () => a.member])).close();
    expect(a.close).toHaveBeenCalledTimes(2);
    expect(() => new EngineGroup([])).toThrow("needs an engine");
  });
});
