/** The load test's arithmetic, its two kinds of load on a clock of the test's own, and its table. */
import { describe, expect, it } from "vitest";
import {
  arrivals,
  type Figures,
  figuresOf,
  type Outcome,
  percentile,
  randomly,
  type Spoken,
} from "./bench-server-figures.ts";
import { closedLoop, type Load, openLoop } from "./bench-server-load.ts";
import { readBenchOptions } from "./bench-server-options.ts";
import { type Report, reportText, stepsTable } from "./bench-server-report.ts";

const SPOKEN: Spoken = {
  kind: "spoken",
  ttfpMs: 10,
  totalMs: 100,
  audioMs: 1000,
  gapsMs: [5, 15],
  underruns: 0,
  shortfallMs: 0,
  isContinuous: true,
};
const REFUSED: Outcome = { kind: "refused", code: "overloaded", message: "Too busy." };

describe("percentile", () => {
  it.each([
    [[5], 0.5, 5],
    [[4, 1, 3, 2], 0.5, 2.5],
    [[10, 20, 30], 0.95, 29],
    [[10, 20, 30], 1, 30],
    [[10, 20, 30], 0, 10],
    [Array.from({ length: 101 }, (_, i) => 100 - i), 0.99, 99],
  ])("of %j at %d is %d", (values, share, expected) => {
    expect(percentile(values, share)).toBeCloseTo(expected, 9);
  });

  it("of nothing is nothing, and the values stay as they were", () => {
    expect(percentile([], 0.5)).toBeUndefined();
    const values = [3, 1, 2];
    percentile(values, 0.5);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe("figuresOf", () => {
  it("adds up what was spoken, and counts the rest apart", () => {
    const outcomes: Outcome[] = [
      SPOKEN,
      { ...SPOKEN, ttfpMs: 30, totalMs: 300, underruns: 2, shortfallMs: 250, isContinuous: false },
      REFUSED,
      REFUSED,
      { kind: "failed", code: "network", message: "Gone." },
    ];
    expect(figuresOf(outcomes, 4)).toMatchObject({
      spoken: 2,
      refused: 2,
      failed: 1,
      codes: { overloaded: 2, network: 1 },
      ttfpMs: { p50: 20, p95: 29, p99: 29.8 },
      rtf: { p50: 0.2 },
      gapMs: { p50: 10 },
      audioPerSecond: 0.5,
      requestsPerSecond: 0.5,
      continuous: 0.5,
      underruns: 2,
      longestShortfallMs: 250,
      seconds: 4,
    });
  });

  it("of nothing at all has no percentiles", () => {
    expect(figuresOf([], 0)).toMatchObject({
      spoken: 0,
      ttfpMs: { p50: undefined },
      audioPerSecond: 0,
      continuous: 0,
    });
  });
});

describe("arrivals", () => {
  it("are the same for a seed, in order, and within the time", () => {
    const times = arrivals(50, 10, randomly(7));
    expect(arrivals(50, 10, randomly(7))).toEqual(times);
    expect(arrivals(50, 10, randomly(8))).not.toEqual(times);
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    expect(times[0]).toBeGreaterThan(0);
    expect(times.at(-1)).toBeLessThan(10_000);
  });

  it("come at their rate, and at distances that scatter as those of chance do", () => {
    const times = arrivals(20, 1000, randomly(1));
    // 20,000 are expected, give or take four times the root of that.
    expect(Math.abs(times.length - 20_000)).toBeLessThan(4 * Math.sqrt(20_000));
    const gaps = times.map((at, i) => at - (times[i - 1] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const spread = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(spread / mean).toBeGreaterThan(0.95);
    expect(spread / mean).toBeLessThan(1.05);
  });
});

/** A clock that moves when everybody waits for it. */
class Clock {
  #now = 0;
  readonly #waiting: { readonly at: number; readonly wake: () => void }[] = [];

  readonly now = () => this.#now;

  readonly wait = (ms: number) =>
    new Promise<void>((wake) => {
      this.#waiting.push({ at: this.#now + ms, wake });
    });

  /** Runs until a promise is settled. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const settled = work.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#waiting.sort((a, b) => a.at - b.at);
      const next = this.#waiting.shift();
      if (next === undefined) continue;
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    return settled;
  }
}

/** A server on which every request takes as long as told; how many were under way at once is kept. */
function serverOf(
  clock: Clock,
  durationMs: (request: number) => number,
  outcome: Outcome = SPOKEN,
) {
  const seen = { begun: [] as number[], most: 0, running: 0 };
  const stop = new AbortController();
  const load: Load = {
    signal: stop.signal,
    ended: () => {},
    now: clock.now,
    wait: clock.wait,
    speak: async () => {
      seen.begun.push(clock.now());
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      await clock.wait(durationMs(seen.begun.length));
      seen.running -= 1;
      return outcome;
    },
  };
  return { load, seen, stop };
}

describe("a closed loop", () => {
  it("keeps so many requests under way, and waits for the last ones", async () => {
    const clock = new Clock();
    const { load, seen } = serverOf(clock, (request) => (request === 1 ? 350 : 100));
    const { outcomes, seconds } = await clock.run(closedLoop(load, 3, 0.3));
    expect(seen.most).toBe(3);
    expect(seen.begun).toEqual([0, 0, 0, 100, 100, 200, 200]);
    expect(outcomes).toHaveLength(7);
    expect(seconds).toBeCloseTo(0.35, 9);
  });

  it("does not hammer a server that refuses", async () => {
    const clock = new Clock();
    const { load, seen } = serverOf(clock, () => 0, REFUSED);
    await clock.run(closedLoop(load, 1, 1));
    expect(seen.begun).toHaveLength(10);
  });

  it("ends when it is stopped, without what was cut off", async () => {
    const clock = new Clock();
    const { load, stop } = serverOf(clock, () => 100);
    const work = closedLoop({ ...load, ended: () => stop.abort() }, 2, 10);
    expect((await clock.run(work)).outcomes).toHaveLength(1);
  });
});

describe("an open loop", () => {
  it("begins requests when they are due, whether or not others have ended", async () => {
    const clock = new Clock();
    const { load, seen } = serverOf(clock, () => 1000);
    const { outcomes, seconds } = await clock.run(openLoop(load, [10, 20, 400]));
    expect(seen.begun).toEqual([10, 20, 400]);
    expect(seen.most).toBe(3);
    expect(outcomes).toHaveLength(3);
    expect(seconds).toBeCloseTo(1.4, 9);
  });
});

describe("the report", () => {
  const figures: Figures = figuresOf([SPOKEN, REFUSED], 2);
  const steps: Report["steps"] = [
    {
      door: "http",
      load: { kind: "closed", concurrency: 16 },
      figures,
      server: { cores: 1.5, residentMb: 200 },
    },
    { door: "ws", load: { kind: "poisson", perSecond: 2.5 }, figures, server: undefined },
  ];

  it("has a table whose columns line up", () => {
    const lines = stepsTable(steps).split("\n");
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
    const cells = lines[2]?.split("|").map((cell) => cell.trim());
    expect(cells?.slice(1, 7)).toEqual(["http", "16 at once", "1", "1", "0", "10.0"]);
    expect(lines[3]).toContain("2.5 a second");
  });

  it("says where it was measured and what was refused", () => {
    const text = reportText({
      machine: { processor: "Chip", cores: 2 },
      loadBefore: 0.25,
      date: "2026-01-02",
      command: "x",
      server: { version: "1.0.0", model: "m", device: "cpu", engine: "AVX2, 2 threads" },
      seconds: 5,
      steps,
    });
    expect(text).toContain(
      "m on cpu (AVX2, 2 threads), Sonant 1.0.0; Chip, 2 cores, load average 0.3 before",
    );
    expect(text).toContain("http, 16 at once: 1 times overloaded");
  });
});

describe("the options", () => {
  it("have defaults, and a rate takes the place of the concurrency", () => {
    expect(readBenchOptions([])).toMatchObject({
      doors: ["http", "ws"],
      concurrency: [1, 2, 4, 8, 16],
      rates: [],
      seconds: 10,
      warmup: 2,
    });
    expect(readBenchOptions(["--rate", "1,2.5"])).toMatchObject({
      concurrency: [],
      rates: [1, 2.5],
    });
    const both = ["--rate", "1", "--concurrency", "3", "--door", "ws", "--model", "m"];
    expect(readBenchOptions(both)).toMatchObject({
      concurrency: [3],
      rates: [1],
      doors: ["ws"],
      server: ["--model", "m"],
    });
  });
});
