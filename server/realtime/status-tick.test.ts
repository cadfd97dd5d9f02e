import { describe, expect, it } from "vitest";
import type { RecentFigures } from "../metrics/metrics.ts";
import type { SpeechService } from "../speech/types.ts";
import { Rate, StatusGauge } from "./status-tick.ts";

describe("a rate", () => {
  it("is the growth of a total over the time between two readings", () => {
    const rate = new Rate();
    expect(rate.read(100, 1000)).toBe(0);
    expect(rate.read(150, 3000)).toBe(25);
    expect(rate.read(150, 4000)).toBe(0);
  });

  it("begins anew when the total does, as after a restart of the engine", () => {
    const rate = new Rate();
    rate.read(100, 0);
    expect(rate.read(5, 1000)).toBe(0);
    expect(rate.read(15, 2000)).toBe(10);
  });

  it("is 0 for two readings at the same moment", () => {
    const rate = new Rate();
    rate.read(0, 1000);
    expect(rate.read(10, 1000)).toBe(0);
  });
});

const RECENT: RecentFigures = {
  ttfaP50Ms: 1,
  ttfaP95Ms: 2,
  rtfP50: 0.5,
  eventLoopP99Ms: 3,
  streams: 9,
  streamsContinuous: 8,
  underruns: 4,
  failures: [{ code: "overloaded", count: 2, lastAtMs: 7 }],
  past: [
    {
      windowSeconds: 3600,
      coveredSeconds: 60,
      ttfaP50Ms: 1,
      ttfaP95Ms: 2,
      ttfaP99Ms: 3,
      streams: 9,
      streamsContinuous: 8,
      requests: 12,
      failed: 1,
      refused: 2,
    },
  ],
  engine: undefined,
};

function gaugeOf(state: SpeechService["state"], recent: Partial<RecentFigures> = {}) {
  const load = { active: 1, waiting: 2, capacity: 4, expectedWaitMs: 50 };
  const metrics = { recent: () => ({ ...RECENT, ...recent }) };
  type Deps = ConstructorParameters<typeof StatusGauge>[0];
  const all = [
    { id: "starter", isDefault: true, state, load, reading: undefined },
    {
      id: "nano",
      isDefault: false,
      state: { stage: "failed", reason: "No memory." },
      load: { ...load, active: 0, capacity: 0 },
      reading: { weightBytes: 1, sequenceBytes: 2, voiceCacheBytes: 3 },
    },
  ];
  return new StatusGauge({ models: { state, load, all }, metrics } as unknown as Deps);
}

describe("a tick", () => {
  it.each([
    ["loading", "warming_up"],
    ["warming", "warming_up"],
    ["ready", "ready"],
    ["draining", "shutting_down"],
    ["failed", "engine_dead"],
  ] as const)("calls the stage %s by the state %s", (stage, state) => {
    expect(gaugeOf({ stage }).read(1)).toMatchObject({ stage, state });
  });

  it("says why the server is not ready where there is a reason, and nothing otherwise", () => {
    const reason = "The engine failed and is being restarted.";
    expect(gaugeOf({ stage: "failed", reason }).read(1)).toMatchObject({ reason });
    expect(gaugeOf({ stage: "ready" }).read(1)).not.toHaveProperty("reason");
  });

  it("carries load, streams and failures, and no figures of an engine that is not there", () => {
    expect(gaugeOf({ stage: "warming" }).read(3)).toMatchObject({
      active: 1,
      waiting: 2,
      capacity: 4,
      expected_wait_ms: 50,
      sockets: 3,
      streams: 9,
      streams_continuous: 8,
      underruns: 4,
      engine_bytes: 0,
      frames_per_second: 0,
      past: [
        {
          window_s: 3600,
          covered_s: 60,
          ttfa_p50_ms: 1,
          ttfa_p95_ms: 2,
          ttfa_p99_ms: 3,
          streams: 9,
          streams_continuous: 8,
          requests: 12,
          failed: 1,
          refused: 2,
        },
      ],
      errors: [{ code: "overloaded", count: 2, last_at_ms: 7 }],
    });
  });

  it("tells of each model by itself", () => {
    expect(gaugeOf({ stage: "ready" }).read(1).models).toEqual([
      {
        id: "starter",
        is_default: true,
        stage: "ready",
        active: 1,
        waiting: 2,
        capacity: 4,
        engine_bytes: 0,
      },
      {
        id: "nano",
        is_default: false,
        stage: "failed",
        reason: "No memory.",
        active: 0,
        waiting: 2,
        capacity: 0,
        engine_bytes: 6,
      },
    ]);
  });

  it("adds up the engine's memory", () => {
    const engine = { weightBytes: 100, sequenceBytes: 20, voiceCacheBytes: 3 };
    const reading = { ...engine, voiceCacheHits: 5, voiceCacheMisses: 1, frames: 0 };
    const tick = gaugeOf({ stage: "ready" }, { engine: reading as never }).read(1);
    expect(tick).toMatchObject({ engine_bytes: 123, voice_cache_hits: 5, voice_cache_misses: 1 });
  });
});
