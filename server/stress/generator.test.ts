/** Load of one process on a clock of the test's own: closed and open loops, refusals, guards, voices and the probe. */
import { describe, expect, it } from "vitest";
import { LoadGenerator } from "./generator.ts";
import { TestClock } from "./test-clock.ts";
import { type Fate, overloaded, planWith, TestServer } from "./test-door.ts";
import type { StressPlan } from "./types.ts";
import { sumsOf } from "./window.ts";

interface Setup {
  readonly plan?: Partial<StressPlan>;
  readonly fate?: (number: number, running: number) => Fate;
  readonly index?: number;
  readonly processes?: number;
  readonly maxStreams?: number;
}

function generatorOf({ plan, fate, index = 0, processes = 1, maxStreams }: Setup = {}) {
  const clock = new TestClock();
  const server = new TestServer(clock, fate);
  const heard: { lane: number; first: boolean }[] = [];
  const generator = new LoadGenerator({
    plan: planWith(plan),
    access: { baseUrl: "" },
    clock,
    index,
    processes,
    maxStreams,
    onSound: ({ lane, first }) => void heard.push({ lane, first }),
    openDoor: server.open,
  });
  /** Lets it work for a time, and then until everything has ended. */
  const work = (ms: number) =>
    clock.run(
      (async () => {
        await clock.wait(ms);
        generator.rest();
        for (;;) {
          const window = await generator.collect();
          Object.assign(seen, { last: window });
          all.push(sumsOf(window));
          if (window.active === 0) break;
          await clock.wait(10);
        }
        await generator.close();
        const sums = all[0];
        for (const more of all.slice(1)) sums?.merge(more);
        if (sums === undefined) throw new Error("Nothing was collected.");
        return sums;
      })(),
    );
  const all: ReturnType<typeof sumsOf>[] = [];
  const seen: { last?: Awaited<ReturnType<typeof generator.collect>> } = {};
  return { generator, clock, server, heard, work, seen };
}

const begun = (server: TestServer) => server.begun.map(({ atMs }) => atMs);

describe("a closed loop", () => {
  it("keeps so many requests under way, each followed by the next", async () => {
    const { generator, server, work } = generatorOf();
    generator.want(3);
    const { counts } = await work(250);
    expect(server.most).toBe(3);
    expect(begun(server)).toEqual([0, 0, 0, 100, 100, 100, 200, 200, 200]);
    expect(counts).toMatchObject({ begun: 9, spoken: 9, continuous: 9, audioSeconds: 9 });
  });

  it("grows and shrinks, and what is under way is spoken to its end", async () => {
    const { generator, clock, server, work } = generatorOf();
    generator.want(1);
    clock.at(150, () => generator.want(3));
    clock.at(350, () => generator.want(1));
    const { counts } = await work(550);
    expect(begun(server)).toEqual([0, 100, 150, 150, 200, 250, 250, 300, 400, 500]);
    expect(counts.stopped).toBe(0);
  });

  it("waits as long as Retry-After says, and a little where nothing is said", async () => {
    const { generator, server, work } = generatorOf({
      fate: (number) => ({ ttfpMs: 0, error: overloaded(number === 0 ? 3000 : undefined) }),
    });
    generator.want(1);
    const { counts } = await work(3250);
    expect(begun(server)).toEqual([0, 3000, 3100, 3200]);
    expect(counts).toMatchObject({ refused: 4, failed: 0, codes: { overloaded: 4 } });
  });

  it("keeps to its part of the requests that the plan allows", async () => {
    const { generator, work, seen } = generatorOf({
      plan: { maxRequests: 7 },
      index: 1,
      processes: 2,
    });
    generator.want(4);
    expect((await work(1000)).counts).toMatchObject({ begun: 3, spoken: 3 });
    expect(seen.last?.isSpent).toBe(true);
  });

  it("that is cut off counts what was under way apart, and nothing as a failure", async () => {
    const { generator, clock, work } = generatorOf();
    generator.want(2);
    clock.at(150, () => generator.abort());
    const { counts } = await work(200);
    expect(counts).toMatchObject({ begun: 4, spoken: 2, stopped: 2, failed: 0, codes: {} });
  });

  it("counts gaps that a listener would hear, and the strict ones", async () => {
    // 500 ms of sound, and the next chunk 550 ms, then 800 ms later.
    const { generator, work } = generatorOf({
      fate: (number) => ({ gapMs: number === 0 ? 550 : 800 }),
    });
    generator.want(1);
    const { counts } = await work(600);
    expect(counts).toMatchObject({ spoken: 2, continuous: 1, continuousStrict: 0, underruns: 2 });
    expect(counts.longestShortfallMs).toBeCloseTo(300, 6);
  });

  it("holds its place until a reader in real time has heard the end", async () => {
    const { generator, server, work } = generatorOf({
      plan: { target: "ws", realTimeReaders: true },
    });
    generator.want(1);
    await work(1500);
    // 10 ms to the first of two chunks of 500 ms each.
    expect(begun(server)).toEqual([0, 1010]);
  });
});

describe("an open loop", () => {
  it("begins requests when they are due, and measures from then even if it comes late", async () => {
    const quick = generatorOf();
    quick.generator.arrive(10, 2);
    const { counts } = await quick.work(2000);
    expect(counts.spoken).toBe(counts.begun);
    expect(counts.begun).toBeGreaterThan(10);

    const late = generatorOf();
    const { wait } = late.clock;
    // The next wait, which is the one for the first arrival, takes 5 s longer than it should.
    const oversleep = (ms: number, signal?: AbortSignal) => {
      Object.assign(late.clock, { wait });
      return wait(ms + 5000, signal);
    };
    Object.assign(late.clock, { wait: oversleep });
    late.generator.arrive(10, 2);
    const sums = await late.work(9000);
    expect(sums.get("ttfpMs").at(1)).toBeGreaterThan(5000);
  });

  it("splits its arrivals over processes: together they are those of one", async () => {
    const alone = generatorOf();
    alone.generator.arrive(20, 3);
    await alone.work(3000);
    const parts = [0, 1, 2].map((index) => generatorOf({ index, processes: 3 }));
    for (const { generator, work } of parts) {
      generator.arrive(20, 3);
      await work(3000);
    }
    const together = parts.flatMap(({ server }) => server.begun);
    together.sort((a, b) => a.atMs - b.atMs);
    expect(together).toEqual(alone.server.begun);
  });

  it("says so when it cannot begin what is due", async () => {
    const { generator, server, work } = generatorOf({ maxStreams: 2 });
    generator.arrive(1000, 0.05);
    const { counts } = await work(60);
    expect(server.most).toBe(2);
    expect(counts.codes.generator_full).toBe(counts.failed);
    expect(counts.failed).toBeGreaterThan(0);
    expect(counts.begun).toBe(counts.spoken + counts.failed);
  });
});

it("every voice meets every text, in the same order with the same seeds on every run", async () => {
  const ask = async () => {
    const { generator, server, work } = generatorOf({ plan: { voices: ["a", "b", "c"] } });
    generator.want(1);
    await work(850);
    return server.begun.map(({ request }) => request);
  };
  const requests = await ask();
  expect(new Set(requests.map(({ voice, text }) => `${voice} ${text}`)).size).toBe(9);
  expect(await ask()).toEqual(requests);
});

it("the sound of one stream can be heard, and of no other", async () => {
  const { generator, heard, work } = generatorOf();
  generator.listen(1);
  generator.want(3);
  await work(150);
  expect(heard).toEqual([
    { lane: 1, first: true },
    { lane: 1, first: false },
    { lane: 1, first: true },
    { lane: 1, first: false },
  ]);
});

describe("the probe", () => {
  it("finds that repetitions are equal, and the first that is not", async () => {
    const bytes = (last: number) => new Uint8Array([1, 2, 3, last]);
    const { generator, clock, work, seen } = generatorOf({
      plan: { probe: true },
      // Asked alone first; the fourth time a sample differs.
      fate: (number) => ({ bytes: bytes(number === 3 ? 9 : 4) }),
    });
    await clock.run(generator.probeAlone());
    generator.step(0);
    await work(4000);
    const { runs = 0, equal, ...probe } = seen.last?.probe ?? {};
    expect(probe).toMatchObject({ unanswered: 0, seed: 1, text: "one" });
    // Some four: hashes are made on threads, which the test's clock does not wait for.
    expect(runs).toBeGreaterThanOrEqual(3);
    expect(equal).toBe(runs - 1);
    expect(seen.last?.probe?.firstDifference).toMatchObject({ run: 3, byte: 3, bytes: 8 });
    expect(seen.last?.probe?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it("counts what was not answered apart, and says nothing if it was never heard alone", async () => {
    const { generator, clock, work, seen } = generatorOf({
      plan: { probe: true },
      fate: () => ({ error: overloaded() }),
    });
    expect(await clock.run(generator.probeAlone())).toContain("more requests than it can serve");
    generator.step(0);
    await work(3000);
    expect(seen.last?.probe).toMatchObject({ runs: 0, equal: 0, sha256: null });
  });
});
