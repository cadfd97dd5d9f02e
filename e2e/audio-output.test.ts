/**
 * The output changes under the player: it runs at another rate, the page goes to the background, the system interrupts it,
 * devices change, the browser closes it. Whatever happens, every sample that arrived leaves.
 */
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type AudioPage,
  openAudioPage,
  type Playback,
  type Stage,
  serveAudioPage,
  type Take,
} from "./audio-page.ts";
import { startBrowser } from "./house.ts";

const RATE = 48_000;
const DEVICE_RATE = 44_100;

/** What a test leaves in the page between its steps. */
interface Held {
  contexts: AudioContext[];
  samples: Int16Array;
  stage: Stage;
  take: Take;
  playback: Playback;
  states: string[];
  goHidden(isHidden: boolean): void;
}

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

afterEach(async () => {
  await page.close();
  expect(errors).toEqual([]);
});

/** Contexts run at the rate of a device that has only one. */
function onlyDeviceRate() {
  const Original = AudioContext;
  globalThis.AudioContext = class extends Original {
    constructor(options: AudioContextOptions = {}) {
      super({ ...options, sampleRate: 44_100 });
    }
  };
}

/** Keeps every context that the page makes. */
function keepContexts() {
  const Original = AudioContext;
  const held = globalThis as unknown as Held;
  held.contexts = [];
  globalThis.AudioContext = class extends Original {
    constructor(options?: AudioContextOptions) {
      super(options);
      held.contexts.push(this);
    }
  };
}

/** A headless page is never hidden, so this does what browsers do to one: no frames, and timers once a second. */
function canHide() {
  const { setTimeout, setInterval, requestAnimationFrame } = globalThis;
  let isHidden = false;
  const late = (ms = 0) => (isHidden ? Math.max(1000, Math.ceil(ms / 1000) * 1000) : ms);
  Object.defineProperties(document, {
    hidden: { get: () => isHidden },
    visibilityState: { get: () => (isHidden ? "hidden" : "visible") },
  });
  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms?: number) => setTimeout(work, late(ms)),
    setInterval: (work: () => void, ms?: number) => setInterval(work, late(ms)),
    requestAnimationFrame: (work: FrameRequestCallback) =>
      isHidden ? 0 : requestAnimationFrame(work),
    goHidden: (hidden: boolean) => {
      isHidden = hidden;
      document.dispatchEvent(new Event("visibilitychange"));
    },
  });
}

/** A take of noise starts to play; `push` sends it on. */
async function startTake(seconds: number): Promise<void> {
  await page.evaluate((length) => {
    const held = globalThis as unknown as Held;
    held.samples = audio.make({ kind: "noise", seconds: length });
    held.stage = new audio.Stage();
    held.take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
    held.playback = held.stage.player.play(held.take);
    held.states = audio.statesOf(held.playback);
  }, seconds);
}

/** What a server sends next: sound from one second to another. */
function push(from: number, to: number, isLast = false) {
  return page.evaluate(
    ([start, end, last]) => {
      const { take, samples } = globalThis as unknown as Held;
      take.push(samples.slice(2 * 48_000 * start, 2 * 48_000 * end));
      if (last) take.finish();
    },
    [from, to, isLast] as const,
  );
}

function reach(state: string) {
  return page.evaluate((wanted) => {
    const { playback } = globalThis as unknown as Held;
    return audio.reached(playback, wanted);
  }, state);
}

/** Waits until that many seconds of the take have left. */
function leave(seconds: number) {
  return page.waitForFunction(
    (frames) => (globalThis as unknown as Held).playback.leftFrame >= frames,
    seconds * RATE,
    { polling: 20 },
  );
}

/** Plays to the end and compares. */
function finished() {
  return page.evaluate(async () => {
    const { playback, stage, samples, states } = globalThis as unknown as Held;
    await audio.reached(playback, "ended");
    const difference = audio.firstDifference(await stage.timeline(), samples, []);
    const { underruns, leftFrame } = playback;
    return { difference, underruns, leftFrame, states };
  });
}

describe("an output at 44.1 kHz", () => {
  it("lets out a streamed tone at its length and pitch, without a click", async () => {
    [page, errors] = await openAudioPage(browser, house.url, onlyDeviceRate);
    const seconds = 3;
    const result = await page.evaluate(async (length) => {
      const stage = new audio.Stage();
      const take = new audio.TakeAudio({ sampleRate: 48_000, channels: 2 });
      const playback = stage.player.play(take);
      const samples = audio.make({ kind: "sine", seconds: length });
      // Pieces of a frame each, which come faster than they are heard and end nowhere in particular.
      for (let at = 0; at < samples.length; at += 2 * 3841) {
        take.push(samples.slice(at, at + 2 * 3841));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      take.finish();
      await audio.reached(playback, "ended");
      const [left = new Float32Array(0), right] = await stage.output();
      const end = left.findLastIndex((x) => x !== 0) + 1;
      // What a perfect tone of that pitch leaves over, away from the two ends.
      const [from, to] = [500, end - 500];
      const turn = (2 * Math.PI * 440) / 44_100;
      let [sine, cosine] = [0, 0];
      for (let i = from; i < to; i++) {
        sine += (2 / (to - from)) * (left[i] ?? 0) * Math.sin(turn * i);
        cosine += (2 / (to - from)) * (left[i] ?? 0) * Math.cos(turn * i);
      }
      let worst = 0;
      for (let i = from; i < to; i++) {
        const ideal = sine * Math.sin(turn * i) + cosine * Math.cos(turn * i);
        worst = Math.max(worst, Math.abs((left[i] ?? 0) - ideal));
      }
      return {
        health: stage.player.health(),
        underruns: playback.underruns,
        frames: end,
        amplitude: Math.hypot(sine, cosine),
        worst,
        step: audio.largestStep(left.subarray(0, end)),
        isEqual: left.every((x, i) => x === right?.[i]),
      };
    }, seconds);
    expect(result.health).toMatchObject({ contextRate: DEVICE_RATE, isResampled: true });
    expect(result.underruns).toEqual([]);
    expect(Math.abs(result.frames - seconds * DEVICE_RATE)).toBeLessThan(4);
    expect(result.amplitude).toBeCloseTo(0.5, 3);
    expect(result.worst).toBeLessThan(1e-3);
    expect(result.step).toBeLessThan(0.04);
    expect(result.isEqual).toBe(true);
  });
});

describe("a page in the background", () => {
  it("plays a take that streams to its end, and runs dry nowhere", async () => {
    [page, errors] = await openAudioPage(browser, house.url, canHide);
    // Opening a tab may take seconds; going to one that is open does not.
    const other = await browser.newPage();
    await page.bringToFront();
    await startTake(6);
    await push(0, 3);
    await reach("playing");
    await page.evaluate(() => (globalThis as unknown as Held).goHidden(true));
    await other.bringToFront();
    for (let at = 3; at < 6; at++) {
      await page.waitForTimeout(300);
      await push(at, at + 1, at === 5);
    }
    const result = await finished();
    expect(result).toMatchObject({ difference: -1, underruns: [], leftFrame: 6 * RATE });
    expect(result.states).toEqual(["playing", "ended"]);
    await other.close();
  });
});

describe("an output that is disturbed", () => {
  it("plays on when devices come and go", async () => {
    [page, errors] = await openAudioPage(browser, house.url);
    await startTake(2);
    await push(0, 2, true);
    await leave(0.5);
    await page.evaluate(() => navigator.mediaDevices.dispatchEvent(new Event("devicechange")));
    const result = await finished();
    expect(result).toMatchObject({ difference: -1, underruns: [] });
    expect(result.states).toEqual(["playing", "ended"]);
  });

  it("goes on by itself when the system suspended it", async () => {
    [page, errors] = await openAudioPage(browser, house.url, keepContexts);
    await startTake(2);
    await push(0, 1);
    await leave(0.3);
    await page.evaluate(() => (globalThis as unknown as Held).contexts[0]?.suspend());
    await push(1, 2, true);
    const result = await finished();
    expect(result).toMatchObject({ difference: -1, underruns: [] });
    expect(result.states).toEqual(["playing", "interrupted", "playing", "ended"]);
  });

  it.each([
    ["devices change", () => navigator.mediaDevices.dispatchEvent(new Event("devicechange"))],
    ["the page is looked at", () => document.dispatchEvent(new Event("visibilitychange"))],
    ["somebody asks for it", () => (globalThis as unknown as Held).stage.player.unlock()],
  ])("waits out a call that interrupts it, and goes on when %s", async (_, nudge) => {
    [page, errors] = await openAudioPage(browser, house.url, keepContexts);
    await startTake(2);
    await push(0, 1);
    await leave(0.3);
    // As on a phone that rings: the state has a name of its own, and the output will not run again yet.
    await page.evaluate(async () => {
      const [context] = (globalThis as unknown as Held).contexts;
      if (context === undefined) throw new Error("There is no context");
      Object.defineProperties(context, {
        state: { configurable: true, value: "interrupted" },
        resume: { configurable: true, value: () => Promise.reject(new Error("In a call")) },
      });
      await context.suspend();
    });
    await reach("interrupted");
    await push(1, 2, true);
    await page.evaluate(nudge);
    await page.waitForFunction(() => {
      const { playback } = globalThis as unknown as Held;
      return ["interrupted", "blocked"].includes(playback.state);
    });
    await page.evaluate(() => {
      const [context] = (globalThis as unknown as Held).contexts;
      Reflect.deleteProperty(context ?? {}, "state");
      Reflect.deleteProperty(context ?? {}, "resume");
    });
    await page.evaluate(nudge);
    const result = await finished();
    expect(result).toMatchObject({ difference: -1, underruns: [], leftFrame: 2 * RATE });
  });

  it("goes on where it was on a new output when the browser closed the old one", async () => {
    [page, errors] = await openAudioPage(browser, house.url, keepContexts);
    await startTake(3);
    await push(0, 1.5);
    await leave(1);
    await page.evaluate(() => (globalThis as unknown as Held).contexts[0]?.close());
    await push(1.5, 3, true);
    const result = await page.evaluate(async () => {
      const { playback, stage, samples, contexts, states } = globalThis as unknown as Held;
      await audio.reached(playback, "ended");
      await new Promise((resolve) => setTimeout(resolve, 200));
      const isSecond = stage.blocks.findIndex(({ at }, i) => at < (stage.blocks[i - 1]?.at ?? 0));
      const join = (blocks: Stage["blocks"]) => blocks.flatMap(({ left }) => [...left]);
      const [old, fresh] = [stage.blocks.slice(0, isSecond), stage.blocks.slice(isSecond)];
      const isAt = (x: number, frame: number) => x === (samples[2 * frame] ?? 0) / 32_768;
      const first = join(old);
      const start = first.findIndex((x) => x !== 0);
      const second = join(fresh);
      const end = second.findLastIndex((x) => x !== 0) + 1;
      const from = second.findIndex((x) => x !== 0);
      // The end of what the new output played is the end of the take; it began with a fade of 3 ms.
      const [offset, faded] = [3 * 48_000 - end, from + 200];
      const closedAt = (contexts[0]?.currentTime ?? 0) * 48_000 - (old[0]?.at ?? 0) - start;
      return {
        outputs: contexts.length,
        isFirstRight: first.slice(start).every((x, i) => isAt(x, i)),
        isRestRight: second.slice(faded, end).every((x, i) => isAt(x, faded + offset + i)),
        repeated: closedAt - (from + offset),
        states,
        underruns: playback.underruns,
      };
    });
    expect(result).toMatchObject({ outputs: 2, isFirstRight: true, isRestRight: true });
    expect(result.states).toEqual(["playing", "starting", "playing", "ended"]);
    expect(result.underruns).toEqual([]);
    // What had left and was not heard yet comes again: nothing is skipped, and it does not start over.
    expect(result.repeated).toBeGreaterThanOrEqual(0);
    expect(result.repeated).toBeLessThan(0.75 * RATE);
  });
});
