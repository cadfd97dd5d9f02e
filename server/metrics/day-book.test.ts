import { beforeEach, describe, expect, it } from "vitest";
import { DayBook } from "./day-book.ts";

const MINUTE = 60;
const HOUR = 3600;

let clock = 0;
let book: DayBook;
beforeEach(() => {
  // In the middle of a step, as any server begins.
  clock = 1234;
  book = new DayBook(() => clock);
});

const hour = () => book.read()[0];
const day = () => book.read()[1];

describe("an hour and a day", () => {
  it("are empty at first, and cover what the server has been running", () => {
    clock += 90;
    expect(book.read()).toEqual(
      [HOUR, 24 * HOUR].map((windowSeconds) => ({
        windowSeconds,
        coveredSeconds: 90,
        ttfaP50Ms: 0,
        ttfaP95Ms: 0,
        ttfaP99Ms: 0,
        streams: 0,
        streamsContinuous: 0,
        requests: 0,
        failed: 0,
        refused: 0,
      })),
    );
    clock += 2 * HOUR;
    expect([hour()?.coveredSeconds, day()?.coveredSeconds]).toEqual([HOUR, 2 * HOUR + 90]);
    clock += 48 * HOUR;
    expect(day()?.coveredSeconds).toBe(24 * HOUR);
  });

  it("count what happened in them, and forget it when they have passed", () => {
    const happen = () => {
      book.streamEnded(true);
      book.streamEnded(false);
      book.requestEnded(false);
      book.requestEnded(true);
      book.requestEnded(false);
      book.refused();
    };
    const once = { streams: 2, streamsContinuous: 1, requests: 3, failed: 1, refused: 1 };
    const twice = { streams: 4, streamsContinuous: 2, requests: 6, failed: 2, refused: 2 };
    const none = { streams: 0, streamsContinuous: 0, requests: 0, failed: 0, refused: 0 };
    happen();
    clock += 50 * MINUTE;
    happen();
    expect([hour(), day()]).toMatchObject([twice, twice]);
    clock += 15 * MINUTE;
    expect([hour(), day()]).toMatchObject([once, twice]);
    clock += 60 * MINUTE;
    expect([hour(), day()]).toMatchObject([none, twice]);
    clock += 22 * HOUR;
    expect(day()).toMatchObject(once);
    clock += 24 * HOUR;
    expect(day()).toMatchObject(none);
  });

  it("never hold more than they say, and at most one step less", () => {
    const inHour = (secondsAgo: number) => {
      const later = new DayBook(() => clock);
      later.refused();
      clock += secondsAgo;
      return later.read()[0]?.refused;
    };
    for (let start = 0; start < 300; start += 50) {
      clock = 90_000 + start;
      expect(inHour(HOUR - 5 * MINUTE), `from ${start}`).toBe(1);
      clock = 90_000 + start;
      expect(inHour(HOUR), `from ${start}`).toBe(0);
    }
  });

  it("use the place of a step again a day later, without what was there", () => {
    book.refused();
    clock += 24 * HOUR;
    book.refused();
    expect(day()?.refused).toBe(1);
  });
});

describe("percentiles", () => {
  const isNear = (found: number | undefined, wanted: number) =>
    expect(Math.abs((found ?? 0) / wanted - 1)).toBeLessThan(0.05);

  it("are those of all steps of the window together, within 5 %", () => {
    for (let i = 1; i <= 1000; i++) {
      book.firstAudio(i / 1000);
      if (i % 100 === 0) clock += 5 * MINUTE;
    }
    isNear(hour()?.ttfaP50Ms, 500);
    isNear(hour()?.ttfaP95Ms, 950);
    isNear(hour()?.ttfaP99Ms, 990);
    clock += 40 * MINUTE;
    // The first steps have left the hour: only the longer times are in it.
    expect(hour()?.ttfaP50Ms).toBeGreaterThan(700);
    isNear(day()?.ttfaP50Ms, 500);
  });

  it("of one value are that value", () => {
    book.firstAudio(0.084);
    const { ttfaP50Ms, ttfaP99Ms } = hour() ?? {};
    isNear(ttfaP50Ms, 84);
    expect(ttfaP99Ms).toBe(ttfaP50Ms);
  });

  it.each([
    [0, 1],
    [Number.NaN, 1],
    [-1, 1],
    [1e9, 100_000],
  ])("hold %d s within their range", (seconds, nearMs) => {
    book.firstAudio(seconds);
    expect((hour()?.ttfaP50Ms ?? 0) / nearMs).toBeGreaterThan(0.9);
    expect((hour()?.ttfaP50Ms ?? 0) / nearMs).toBeLessThan(1.1);
  });
});
