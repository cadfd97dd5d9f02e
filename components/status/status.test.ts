/** What the status page works out from ticks and answers. */
import { describe, expect, it } from "vitest";
import type { PastWindow, StatusTick } from "../../server/protocol/playground.ts";
import { STRINGS } from "../i18n/strings.ts";
import { durationText, gaugesFor } from "./gauges.ts";
import { pastTable } from "./past.ts";
import { placeOf, readinessOf, STAGES } from "./readiness.ts";
import { minutesOf, pathOf, rangeOf, windowMinutes } from "./series.ts";

const START = 1_700_000_000_000;

function tickAt(second: number, change: Partial<StatusTick> = {}): StatusTick {
  return {
    at_ms: START + 1000 * second,
    state: "ready",
    stage: "ready",
    uptime_s: second,
    active: 0,
    waiting: 0,
    capacity: 8,
    expected_wait_ms: 0,
    sockets: 1,
    ttfa_p50_ms: 0,
    ttfa_p95_ms: 0,
    rtf_p50: 0,
    event_loop_p99_ms: 1,
    resident_bytes: 1,
    frames_per_second: 0,
    streams: 0,
    streams_continuous: 0,
    underruns: 0,
    lead_ms_min: 0,
    yields: 0,
    tick_ms: 0,
    voice_cache_hits: 0,
    voice_cache_misses: 0,
    engine_bytes: 0,
    models: [],
    past: [],
    errors: [],
    ...change,
  };
}

const active = ({ active }: StatusTick) => active;
const BOX = { width: 60, height: 10 };

describe("a curve", () => {
  it("runs from left to right over the window, with the largest value at the top", () => {
    const ticks = [0, 30, 60].map((s) => tickAt(s, { active: s / 30 }));
    expect(windowMinutes(ticks)).toBe(1);
    expect(pathOf(ticks.slice(1), active, BOX)).toBe("M30.0 5.0M60.0 0.0");
  });

  it("is broken where nothing was heard for a while", () => {
    const path = pathOf(
      [58, 59, 60].map((s) => tickAt(s)),
      active,
      BOX,
    );
    expect(path.match(/M/g)).toHaveLength(1);
    expect(pathOf([tickAt(40), tickAt(60)], active, BOX).match(/M/g)).toHaveLength(2);
  });

  it("leaves out what is not known, and what is older than ten minutes", () => {
    const unknown = ({ active }: StatusTick) => (active > 0 ? active : undefined);
    expect(pathOf([tickAt(1), tickAt(2)], unknown, BOX)).toBe("");
    const ticks = [tickAt(0), tickAt(700)];
    expect(windowMinutes(ticks)).toBe(10);
    expect(pathOf(ticks, active, BOX).match(/[ML]/g)).toHaveLength(1);
  });

  it("has a range, unless there is nothing", () => {
    expect(rangeOf([tickAt(0, { active: 3 }), tickAt(1, { active: 1 })], active)).toEqual({
      low: 1,
      high: 3,
    });
    expect(rangeOf([], active)).toBeUndefined();
  });
});

it("minutes have the means of their ticks, the latest first", () => {
  const ticks = [tickAt(0, { active: 8 }), tickAt(100, { active: 1 }), tickAt(120, { active: 3 })];
  expect(minutesOf(ticks, [active, () => undefined])).toEqual([
    { ago: 0, means: [2, undefined] },
    { ago: 2, means: [8, undefined] },
  ]);
});

describe("the gauge of the real-time load", () => {
  const load = gaugesFor(STRINGS.en.status, STRINGS.en.common.units).find(
    ({ id }) => id === "load",
  );

  it("has no figure while nobody speaks, and says so", () => {
    expect(load?.figure(tickAt(0))).toBeUndefined();
    expect(load?.note?.(tickAt(0)) ?? load?.none).toBe("nobody is speaking now");
  });

  it("tells the least lead of those who listen in real time, if there are any", () => {
    const note = (lead_ms_min: number) => load?.note?.(tickAt(0, { active: 2, lead_ms_min }));
    expect(note(120)).toBe("least lead 120 ms, 0 frames put off for others");
    expect(note(86_412_000)).toBe("nobody listens in real time");
  });
});

describe("readiness", () => {
  const figures = { active: 0, waiting: 0, capacity: 8 };
  const healthy = { status: "healthy" } as const;

  it("is what the latest tick says", () => {
    const reason = "The engine failed and is being restarted.";
    const tick = tickAt(0, { stage: "failed", reason });
    expect(readinessOf(tick, "unreachable")).toEqual({ verdict: "failed", reason });
  });

  it.each([
    [undefined, "connecting"],
    ["unreachable" as const, "offline"],
    [{ ready: { ready: true, ...figures }, health: healthy }, "ready"],
    [{ ready: { ready: false, reason: "overloaded", ...figures }, health: healthy }, "full"],
    [{ ready: { ready: false, reason: "shutting_down", ...figures }, health: healthy }, "draining"],
    [
      {
        ready: { ready: false, reason: "engine_dead", ...figures },
        health: { status: "unhealthy", reason: "broken" },
      },
      "failed",
    ],
    [
      {
        ready: { ready: false, reason: "warming_up", ...figures },
        health: { status: "unhealthy", reason: "loading" },
      },
      "loading",
    ],
    [
      {
        ready: { ready: false, reason: "warming_up", ...figures },
        health: { status: "unhealthy", reason: "warming" },
      },
      "warming",
    ],
  ] as const)("without ticks follows from what was answered: %j is %s", (asked, verdict) => {
    expect(readinessOf(undefined, asked).verdict).toBe(verdict);
  });

  it("shows which stages are over", () => {
    expect(STAGES.map((stage) => placeOf(stage, "warming"))).toEqual([
      "done",
      "now",
      "next",
      "next",
    ]);
    expect(STAGES.map((stage) => placeOf(stage, "full"))).toEqual(["done", "done", "now", "next"]);
    expect(STAGES.map((stage) => placeOf(stage, "failed"))).toEqual(Array(4).fill(undefined));
  });
});

describe("gauges", () => {
  const { status, common } = STRINGS.en;
  const gauges = gaugesFor(status, common.units);
  const gauge = (id: string) => {
    const found = gauges.find((one) => one.id === id);
    if (found === undefined) throw new Error(`There is no gauge '${id}'`);
    return found;
  };

  it("say nothing of what was never measured, rather than 0", () => {
    for (const id of ["ttfp", "rtf", "continuity", "cache"]) {
      expect(gauge(id).figure(tickAt(0)), id).toBeUndefined();
    }
    expect(gauge("waiting").figure(tickAt(0))).toBe(0);
  });

  it("write values with their units", () => {
    const tick = tickAt(0, {
      active: 3,
      ttfa_p95_ms: 84.4,
      ttfa_p50_ms: 61.2,
      rtf_p50: 0.25,
      frames_per_second: 50,
      streams: 8,
      streams_continuous: 6,
      underruns: 4,
      resident_bytes: 3e8,
    });
    expect(gauge("speaking").value?.(tick)).toBe("3 of 8");
    expect(gauge("ttfp").format(84.4)).toBe("84 ms");
    expect(gauge("ttfp").note?.(tick)).toBe("median 61 ms");
    expect(gauge("rtf").note?.(tick)).toBe("4 × as fast as speech");
    expect(gauge("frames").note?.(tick)).toBe("4 s of sound each second");
    expect(gauge("continuity").figure(tick)).toBe(75);
    expect(gauge("continuity").note?.(tick)).toBe("6 of 8; 4 late chunks");
    expect(gauge("memory").format(3e8)).toBe("300 MB");
  });

  it("write lengths of time in their two largest units", () => {
    const { units } = status;
    expect(durationText(59.9, units)).toBe("0 min 59 s");
    expect(durationText(3661, units)).toBe("1 h 1 min");
    expect(durationText(90_000, units)).toBe("1 d 1 h");
  });
});

describe("the last hour and day", () => {
  const { status, common } = STRINGS.en;
  const EMPTY: PastWindow = {
    window_s: 3600,
    covered_s: 3600,
    ttfa_p50_ms: 0,
    ttfa_p95_ms: 0,
    ttfa_p99_ms: 0,
    streams: 0,
    streams_continuous: 0,
    requests: 0,
    failed: 0,
    refused: 0,
  };
  const table = (...windows: PastWindow[]) => pastTable(status, common.units, windows);

  it("say how young the server is, where it is younger than they are", () => {
    const young = { covered_s: 4000 };
    expect(table(EMPTY, { ...EMPTY, ...young, window_s: 86_400 }).columns).toEqual([
      { name: "Last hour", note: undefined },
      { name: "Last 24 hours", note: "since the start, 1 h 6 min ago" },
    ]);
  });

  it("write what was measured, and a dash for what was not", () => {
    const measured = {
      ...EMPTY,
      ttfa_p50_ms: 8.25,
      ttfa_p95_ms: 84.4,
      ttfa_p99_ms: 120,
      streams: 10_000,
      streams_continuous: 9999,
      requests: 12_000,
      failed: 3,
      refused: 7,
    };
    const values = table(measured, EMPTY).rows.map(({ id, values }) => [id, ...values]);
    expect(values).toEqual([
      ["median", "8.3 ms", "–"],
      ["p95", "84 ms", "–"],
      ["p99", "120 ms", "–"],
      ["continuity", "99.9 % (9999 of 10000)", "–"],
      ["failed", "3 of 12000", "0 of 0"],
      ["refused", "7", "0"],
    ]);
  });
});
