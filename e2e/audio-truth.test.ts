/**
 * The samples that leave the browser's player are the samples that were received: one by one, in order, with silence
 * only where it is counted. Told by the real worklet in the real browser.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AudioPage, serveAudioPage } from "./audio-page.ts";
import { startBrowser } from "./house.ts";

interface Sound {
  kind: "noise" | "sine" | "speech";
  seconds: number;
  seed?: number;
}

interface Arrival {
  atSeconds: number;
  start: number;
  end: number;
}

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

interface Playback {
  state: string;
  audibleFrame: number;
  leftFrame: number;
  underruns: { frame: number; seconds: number }[];
  times: Record<"requestedMs" | "firstPushMs" | "firstSampleOutMs" | "audibleMs", number>;
  on(name: string, listener: (detail: never) => void): void;
  pause(): void;
  resume(): void;
  stop(): void;
  seek(frame: number): void;
}

interface Take {
  frames: number;
  push(piece: Uint8Array | Int16Array): number;
  finish(): void;
}

interface Player {
  outputState: string;
  play(take: Take, options?: object): Playback;
  prepare(): Promise<void>;
  unlock(): void;
  health(): { contextRate: number; isResampled: boolean };
}

/** What e2e/fixtures/audio-driver.js puts into the page. */
interface AudioDriver {
  TakeAudio: new (shape: object) => Take;
  WavReader: new () => { push(bytes: Uint8Array): Uint8Array };
  buildWav(samples: Int16Array, rate: number, channels: number): Blob;
  Recorder: new (
    options: object,
  ) => {
    start(): Promise<void>;
    stop(): Promise<{ planes: Float32Array[]; sampleRate: number; seconds: number }>;
    on(name: string, listener: (detail: never) => void): void;
  };
  decodeFile(file: Blob, limits?: object): Promise<{ planes: Float32Array[]; sampleRate: number }>;
  make(sound: Sound): Int16Array;
  offline(sound: Sound, arrivals: Arrival[], options?: object): Promise<Offline>;
  firstDifference(planes: Float32Array[], samples: Int16Array, underruns: object[]): number;
  largestStep(samples: Float32Array): number;
  Stage: new () => { player: Player; output(): Promise<Float32Array[]> };
  reached(playback: Playback, state: string): Promise<void>;
  statesOf(playback: Playback): string[];
}

interface Offline {
  difference: number;
  underruns: { at: number; position: number; frames: number }[];
  waits: { rate: number; wanted: number }[];
  playedFrames: number;
  frames: number;
  largestStep: number;
  longestSilence: number;
  isSilentAfter: boolean;
}

declare global {
  var audio: AudioDriver;
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

async function openPage(from: Browser): Promise<void> {
  page = await from.newPage();
  errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(house.url);
  await page.waitForFunction(() => "audio" in globalThis);
}

beforeEach(() => openPage(browser));

afterEach(async () => {
  await page.close();
  expect(errors.filter((text) => !text.includes("favicon"))).toEqual([]);
});

function caseOf(name: string): Case {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case ${name}`);
  return found;
}

/** Pieces of equal length, each at its time, late by up to `jitterMs` and never out of order. */
function arrivals(seconds: number, chunkMs: number, speed: number, jitterMs = 0, seed = 1) {
  const step = (chunkMs * RATE) / 1000;
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
    ["in odd pieces", arrivals(3, 1000 / 375, 2)],
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
      return { difference: audio.firstDifference(await stage.output(), samples, underruns) };
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

interface Held {
  stage: { player: Player; output(): Promise<Float32Array[]> };
  take: Take;
  playback: Playback;
}

describe("the player", () => {
  it("plays a live take with an uneven line, counts the underrun, and tells when", async () => {
    const result = await page.evaluate(async () => {
      const samples = audio.make({ kind: "noise", seconds: 2 });
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      const playback = stage.player.play(take);
      const states = audio.statesOf(playback);
      const levels: { peak: number[]; leadSeconds: number }[] = [];
      playback.on("level", (level) => levels.push(level));
      take.push(samples.slice(0, 24_000));
      await audio.reached(playback, "waiting");
      take.push(samples.slice(24_000, 96_000));
      await new Promise((resolve) => setTimeout(resolve, 100));
      take.push(samples.slice(96_000));
      take.finish();
      await audio.reached(playback, "ended");
      const underruns = playback.underruns.map(({ frame, seconds }) => ({
        position: frame,
        frames: Math.round(seconds * 48_000),
      }));
      const difference = audio.firstDifference(await stage.output(), samples, underruns);
      const health = stage.player.health();
      const { times, audibleFrame } = playback;
      return { difference, underruns, states, levels, times, audibleFrame, health };
    });
    expect(result.health).toMatchObject({ contextRate: RATE, isResampled: false });
    expect(result.underruns).toMatchObject([{ position: 12_000 }]);
    expect(result.difference).toBe(-1);
    expect(result.states).toEqual(["playing", "waiting", "playing", "ended"]);
    const { requestedMs, firstPushMs, firstSampleOutMs, audibleMs } = result.times;
    const moments = [requestedMs, firstPushMs, firstSampleOutMs, audibleMs];
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
    expect(result.audibleFrame).toBe(2 * RATE);
    expect(result.levels.some(({ peak }) => (peak[0] ?? 0) > 0.9)).toBe(true);
    expect(result.levels.at(-1)?.peak).toEqual([0, 0]);
  });

  it("stops for good: what comes late is never heard", async () => {
    const result = await page.evaluate(async () => {
      const sine = audio.make({ kind: "sine", seconds: 4 });
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      const playback = stage.player.play(take);
      take.push(sine);
      await audio.reached(playback, "playing");
      await new Promise((resolve) => setTimeout(resolve, 200));
      playback.stop();
      take.push(sine);
      take.finish();
      playback.resume();
      playback.seek(0);
      const stopped = playback.state;
      const first = await stage.output();
      const next = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      const noise = audio.make({ kind: "noise", seconds: 0.3 });
      const second = stage.player.play(next);
      next.push(noise);
      take.push(sine);
      next.finish();
      await audio.reached(second, "ended");
      const planes = await stage.output();
      const end = planes[0]?.findLastIndex((x) => x !== 0) ?? 0;
      return {
        stopped,
        kept: take.frames,
        step: audio.largestStep(first[0] ?? new Float32Array(0)),
        heard: first[0]?.findLastIndex((x) => x !== 0) ?? 0,
        difference: audio.firstDifference(planes, noise, []),
        end,
      };
    });
    expect(result).toMatchObject({ stopped: "stopped", difference: -1, end: 0.3 * RATE - 1 });
    expect(result.kept).toBe(8 * RATE);
    expect(result.heard).toBeLessThan(3 * RATE);
    expect(result.step).toBeLessThan(0.06);
  });

  it("seeks, pauses and plays again", async () => {
    const result = await page.evaluate(async () => {
      const noise = audio.make({ kind: "noise", seconds: 1 });
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      take.push(noise);
      take.finish();
      const playback = stage.player.play(take, { paused: true });
      const states = audio.statesOf(playback);
      playback.seek(36_000);
      const sought = playback.audibleFrame;
      await stage.output();
      playback.resume();
      await audio.reached(playback, "ended");
      const rest = await stage.output();
      // The place that was sought fades in; everything after it is untouched.
      const tail = rest.map((plane) => plane.slice(200 - 1));
      const expected = noise.slice(2 * (36_000 + 200));
      playback.resume();
      const again = audio.reached(playback, "ended");
      await audio.reached(playback, "playing");
      playback.pause();
      const paused = playback.state;
      playback.resume();
      await again;
      await stage.output();
      return { sought, states, paused, difference: audio.firstDifference(tail, expected, []) };
    });
    expect(result.sought).toBe(36_000);
    expect(result.paused).toBe("paused");
    expect(result.difference).toBe(-1);
    expect(result.states.at(-1)).toBe("ended");
  });

  it("plays mono, takes at other rates, and the worklet resamples where the context does not fit", async () => {
    const result = await page.evaluate(async () => {
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 24_000, channels: 1 });
      await stage.player.prepare();
      const playback = stage.player.play(take);
      const samples = audio.make({ kind: "sine", seconds: 0.5 });
      take.push(samples.filter((_, i) => i % 4 === 0));
      take.finish();
      await audio.reached(playback, "ended");
      const [left, right] = await stage.output();
      const isEqual = left?.every((x, i) => x === right?.[i]);
      const played = left?.findLastIndex((x) => x !== 0) ?? 0;
      return {
        health: stage.player.health(),
        isEqual,
        played,
        step: audio.largestStep(left ?? new Float32Array(0)),
      };
    });
    expect(result.health).toMatchObject({ contextRate: RATE, isResampled: true });
    expect(result.isEqual).toBe(true);
    expect(Math.abs(result.played - 0.5 * RATE)).toBeLessThan(4);
    expect(result.step).toBeLessThan(0.06);
  });
});

describe("sound from outside", () => {
  it("records the microphone and gives it back", async () => {
    const microphone = await startBrowser({ microphone: "fake" });
    try {
      await page.close();
      await openPage(microphone);
      const result = await page.evaluate(async () => {
        const recorder = new audio.Recorder({ maxSeconds: 1 });
        const levels: { seconds: number; peak: number }[] = [];
        recorder.on("level", (level) => levels.push(level));
        const isOver = new Promise<{ planes: Float32Array[]; sampleRate: number; endedBy: string }>(
          (resolve) => recorder.on("ended", resolve),
        );
        await recorder.start();
        const { planes, sampleRate, endedBy } = await isOver;
        const peak = Math.max(...(planes[0]?.map(Math.abs) ?? []));
        const frames = planes[0]?.length ?? 0;
        return { frames, sampleRate, endedBy, peak, levels: levels.length };
      });
      expect(result).toMatchObject({ endedBy: "max_length", frames: result.sampleRate });
      expect(result.peak).toBeGreaterThan(0.01);
      expect(result.levels).toBeGreaterThan(10);
    } finally {
      await microphone.close();
    }
  });

  it("says why there is no recording", async () => {
    const code = await page.evaluate(async () => {
      const recorder = new audio.Recorder({});
      return recorder.start().then(
        () => "recorded",
        ({ code, next }: { code: string; next: string }) => `${code}, ${next}`,
      );
    });
    expect(["denied, allow_microphone", "no_device, connect_microphone"]).toContain(code);
  });

  it("decodes a file at its own rate, and says what it cannot read", async () => {
    const result = await page.evaluate(async () => {
      const samples = audio.make({ kind: "noise", seconds: 0.1 });
      const file = await audio.decodeFile(audio.buildWav(samples, 16_000, 2));
      const code = (promise: Promise<unknown>) =>
        promise.then(
          () => "read",
          ({ code }: { code: string }) => code,
        );
      return {
        sampleRate: file.sampleRate,
        // Browsers scale 16-bit samples in their own way, by 32767 or by 32768.
        worst: Math.max(
          ...(file.planes[0]?.map((x, i) => Math.abs(x - (samples[2 * i] ?? 0) / 32_768)) ?? [1]),
        ),
        codes: await Promise.all([
          code(audio.decodeFile(new Blob([]))),
          code(audio.decodeFile(new Blob(["This is no sound at all, only a sentence."]))),
          code(audio.decodeFile(audio.buildWav(samples, 16_000, 2), { maxBytes: 1000 })),
          code(audio.decodeFile(audio.buildWav(samples, 16_000, 2), { maxSeconds: 0.1 })),
        ]),
      };
    });
    expect(result.sampleRate).toBe(16_000);
    expect(result.worst).toBeLessThan(1e-4);
    expect(result.codes).toEqual(["empty", "unreadable", "too_large", "too_long"]);
  });
});
