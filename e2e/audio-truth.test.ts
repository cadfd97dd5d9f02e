/**
 * The samples that leave the browser's player are the samples that were received: one by one, in order, with silence
 * only where it is counted. Told by the real worklet in the real browser.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type Arrival,
  type AudioPage,
  type Offline,
  openAudioPage,
  type Playback,
  type Sound,
  type Stage,
  serveAudioPage,
  type Take,
} from "./audio-page.ts";
import { startBrowser } from "./house.ts";

interface Case {
  name: string;
  area: string;
  given: {
    steps: { cut?: string; chunk_ms?: number; jitter_ms?: [number, number]; speed?: number }[];
  };
  expect: {
    player: {
      played_ms?: { min: number };
      output?: string;
      gaps?: number;
      max_step?: number;
      underruns?: number;
      first_5ms_max_dbfs?: number;
      pauses_max?: number;
      context_state?: string;
    };
  };
}

interface Held {
  stage: Stage;
  take: Take;
  playback: Playback;
}

const RATE = 48_000;
const CASES = join(import.meta.dirname, "../server/cases/fixtures/robustness.json");
const cases = (JSON.parse(readFileSync(CASES, "utf8")) as { cases: Case[] }).cases.filter(
  ({ area }) => area === "player",
);

let house: AudioPage;
let browser: Browser;
let page: Page;
let errors: string[];

beforeAll(async () => {
  [house, browser] = await Promise.all([serveAudioPage(), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await house?.close();
});

beforeEach(async () => {
  [page, errors] = await openAudioPage(browser, house.url);
});

afterEach(async () => {
  await page.close();
  expect(errors).toEqual([]);
});

function caseOf(name: string): Case {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case ${name}`);
  return found;
}

/** Pieces of equal length, each at its time, late by up to `jitterMs` and never out of order. */
function arrivals(seconds: number, chunkMs: number, speed: number, jitterMs = 0, seed = 1) {
  const step = Math.round((chunkMs * RATE) / 1000);
  let state = seed;
  let atSeconds = 0;
  return Array.from({ length: Math.ceil((seconds * RATE) / step) }, (_, i) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const late = ((state / 2 ** 31) * jitterMs) / 1000;
    atSeconds = Math.max(atSeconds, (i * chunkMs) / 1000 / speed + late);
    return { atSeconds, start: i * step, end: Math.min((i + 1) * step, seconds * RATE) };
  });
}

function offline(sound: Sound, pieces: Arrival[], options: object = {}): Promise<Offline> {
  return page.evaluate(([a, b, c]) => audio.offline(a, b, c), [sound, pieces, options] as const);
}

describe("the worklet on a clock of its own", () => {
  it.each([
    ["faster than it is heard", arrivals(6, 320, 8)],
    ["in odd pieces", arrivals(3, 131 / 48, 2)],
    ["all at once", [{ atSeconds: 0.1, start: 0, end: 6 * RATE }]],
  ])("lets out what came in, bit for bit, %s", async (_, pieces) => {
    const seconds = (pieces.at(-1)?.end ?? 0) / RATE;
    const result = await offline({ kind: "noise", seconds }, pieces);
    expect(result).toMatchObject({ difference: -1, underruns: [], isSilentAfter: true });
    expect(result.playedFrames).toBe(result.frames);
  });

  it.each([1, 100, 129])("plays all of %i frames", async (frames) => {
    const sound: Sound = { kind: "noise", seconds: frames / RATE };
    const result = await offline(sound, [{ atSeconds: 0.1, start: 0, end: frames }]);
    expect(result).toMatchObject({ difference: -1, playedFrames: frames, isSilentAfter: true });
  });

  it("loses nothing in an underrun but the edge of a fade", async () => {
    const result = await offline({ kind: "noise", seconds: 3 }, [
      { atSeconds: 0, start: 0, end: RATE },
      { atSeconds: 1.5, start: RATE, end: 3 * RATE },
    ]);
    expect(result.difference).toBe(-1);
    expect(result.underruns).toMatchObject([{ position: RATE }]);
    expect(result.playedFrames).toBe(result.frames);
  });
});

describe("the cases of area player", () => {
  it("odd-chunk-borders", async () => {
    expect(caseOf("odd-chunk-borders").expect.player.output).toBe("equal to input");
    const result = await page.evaluate(async () => {
      const samples = audio.make({ kind: "noise", seconds: 2 });
      const bytes = new Uint8Array(samples.buffer);
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      const playback = stage.player.play(take);
      const primes = [1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const length = primes[i % primes.length] ?? 1;
        take.push(bytes.subarray(at, at + length));
        at += length;
        // A message of its own for every piece; a busy machine may run dry over so many.
        await Promise.resolve();
      }
      take.finish();
      await audio.reached(playback, "ended");
      const underruns = playback.underruns.map(({ frame, seconds }) => ({
        position: frame,
        frames: Math.round(seconds * 48_000),
      }));
      return { difference: audio.firstDifference(await stage.timeline(), samples, underruns) };
    });
    expect(result).toEqual({ difference: -1 });
  });

  it("no-seam-between-chunks", async () => {
    const { given, expect: wanted } = caseOf("no-seam-between-chunks");
    const chunkMs = given.steps.find((step) => step.chunk_ms)?.chunk_ms ?? 0;
    for (const speed of [1.1, 4]) {
      const result = await offline({ kind: "sine", seconds: 3 }, arrivals(3, chunkMs, speed));
      expect(result.difference).toBe(-1);
      expect(result.underruns).toHaveLength(wanted.player.gaps ?? -1);
      expect(result.largestStep).toBeLessThanOrEqual(wanted.player.max_step ?? 0);
      expect(result.longestSilence).toBeLessThanOrEqual(1);
    }
  });

  it("network-jitter-absorbed", async () => {
    const { given, expect: wanted } = caseOf("network-jitter-absorbed");
    const { chunk_ms = 0, jitter_ms = [0, 0], speed = 0 } = given.steps[0] ?? {};
    for (let seed = 1; seed <= 8; seed++) {
      const pieces = arrivals(3, chunk_ms, speed, jitter_ms[1], seed);
      const atOnce = await offline({ kind: "sine", seconds: 3 }, pieces);
      // Whoever starts with the first sample may run dry once before the second chunk: that is the start.
      const later = atOnce.underruns.filter(({ position }) => position > 0.3 * RATE);
      expect(later).toHaveLength(wanted.player.underruns ?? -1);
      expect(atOnce.largestStep).toBeLessThan(0.06);
      expect(atOnce.playedFrames).toBe(atOnce.frames);
      const options = { cushionSeconds: 0.2 };
      const cushioned = await offline({ kind: "sine", seconds: 3 }, pieces, options);
      expect(cushioned).toMatchObject({ difference: -1, underruns: [] });
    }
  });

  it("slower-than-real-time", async () => {
    const { given, expect: wanted } = caseOf("slower-than-real-time");
    const speed = given.steps[0]?.speed ?? 1;
    for (const options of [{}, { expectedSeconds: 20 }]) {
      const pieces = arrivals(20, 320, speed);
      const result = await offline({ kind: "speech", seconds: 20 }, pieces, options);
      expect(result.underruns.length).toBeLessThanOrEqual(wanted.player.pauses_max ?? 0);
      for (const { frames } of result.underruns) expect(frames).toBeGreaterThanOrEqual(0.2 * RATE);
      // What the page shows: the machine is too slow, and how much is collected.
      expect(result.waits.some(({ rate }) => rate < 0.95)).toBe(true);
      expect(result.playedFrames).toBe(result.frames);
    }
  });

  it("short-clip-plays", async () => {
    const least = caseOf("short-clip-plays").expect.player.played_ms?.min ?? 0;
    const plays = await page.evaluate(async () => {
      const stage = new audio.Stage();
      const results = [];
      for (const seconds of [0.4, 0.16]) {
        const samples = audio.make({ kind: "noise", seconds });
        const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
        const playback = stage.player.play(take);
        take.push(samples);
        take.finish();
        await audio.reached(playback, "ended");
        const planes = await stage.output();
        const played = planes[0]?.findLastIndex((x) => x !== 0) ?? 0;
        const difference = audio.firstDifference(planes, samples, []);
        results.push({ playedMs: (played + 1) / 48, difference, state: playback.state });
      }
      return results;
    });
    for (const { playedMs, difference, state } of plays) {
      expect(playedMs).toBeGreaterThanOrEqual(least);
      expect(difference).toBe(-1);
      expect(state).toBe("ended");
    }
  });

  it("header-is-not-played", async () => {
    const most = caseOf("header-is-not-played").expect.player.first_5ms_max_dbfs ?? 0;
    const result = await page.evaluate(async () => {
      const samples = audio.make({ kind: "sine", seconds: 0.5 });
      for (let i = 0; i < 960; i++) samples[i] = 1 + (i % 500);
      const file = await audio.buildWav(samples, 48_000, 2).arrayBuffer();
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      const playback = stage.player.play(take);
      const reader = new audio.WavReader();
      for (let at = 0, n = 1; at < file.byteLength; at += n, n = (n * 5 + 1) % 997) {
        take.push(reader.push(new Uint8Array(file, at, Math.min(n, file.byteLength - at))));
      }
      take.finish();
      await audio.reached(playback, "ended");
      const planes = await stage.output();
      const peak = Math.max(...(planes[0]?.subarray(0, 240).map(Math.abs) ?? [1]));
      return { difference: audio.firstDifference(planes, samples, []), peak };
    });
    expect(result.difference).toBe(-1);
    expect(20 * Math.log10(result.peak)).toBeLessThan(most);
  });

  it("sound-after-tap-on-ios", async () => {
    const wanted = caseOf("sound-after-tap-on-ios").expect.player;
    const strict = await startBrowser({ autoplay: "refused" });
    try {
      await page.close();
      page = await strict.newPage();
      const isBlocked = page.waitForEvent("console", (message) => message.text() === "blocked");
      await page.goto(`${house.url}#play`);
      await isBlocked;
      await page.click("#tap");
      const result = await page.evaluate(async () => {
        const { stage, take, playback } = globalThis as unknown as Held;
        await new Promise((resolve) => setTimeout(resolve, 5000));
        const samples = audio.make({ kind: "noise", seconds: 0.5 });
        take.push(samples);
        take.finish();
        await audio.reached(playback, "ended");
        const planes = await stage.output();
        const difference = audio.firstDifference(planes, samples, []);
        return { difference, state: stage.player.outputState, frames: playback.leftFrame };
      });
      expect(result.difference).toBe(-1);
      expect(result.state).toBe(wanted.context_state);
      expect(result.frames / 48).toBeGreaterThanOrEqual(wanted.played_ms?.min ?? 0);
    } finally {
      await strict.close();
    }
  });

  it("are all here", () => {
    const names = cases.map(({ name }) => name);
    expect(names.toSorted()).toEqual([
      "header-is-not-played",
      "network-jitter-absorbed",
      "no-seam-between-chunks",
      "odd-chunk-borders",
      "short-clip-plays",
      "slower-than-real-time",
      "sound-after-tap-on-ios",
    ]);
  });
});
