/** The player, the recorder and the decoder of the page, at work in the real browser. */
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AudioPage, openAudioPage, serveAudioPage } from "./audio-page.ts";
import { startBrowser } from "./house.ts";

const RATE = 48_000;

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
      const difference = audio.firstDifference(await stage.timeline(), samples, underruns);
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
      [page, errors] = await openAudioPage(microphone, house.url);
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
