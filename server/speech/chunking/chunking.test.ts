/** The chunk policies, driven from the shared conformance cases. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AdaptiveController } from "./adaptive.ts";
import { dynamicFirstFrames, firstFrames, maxFirstFrames } from "./first-chunk.ts";
import { type ChunkPolicyOptions, chunkPlanner } from "./policy.ts";
import { parseRamp, rampCumulative } from "./ramp.ts";
import { decodeWindow, decodeWindows, initialThenSteady } from "./steady.ts";

const FILE = new URL("../../protocol/fixtures/speech-api-cases.json", import.meta.url);

interface UnitCase {
  readonly name: string;
  readonly vectors: never[];
  readonly defaults: Record<string, number>;
}

const cases = JSON.parse(readFileSync(FILE, "utf8")).cases as UnitCase[];

function unit(name: string): UnitCase {
  const found = cases.find((unitCase) => unitCase.name === name);
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
}

const OPTIONS: ChunkPolicyOptions = {
  policy: "fixed",
  first: 1,
  ramp: [],
  steady: 15,
  minFrames: 2,
  marginMs: 50,
  rampDivisor: 15,
  deltaMin: 2,
  frameMs: 80,
};

/** All chunks of a request whose frames come at the given times. */
function run(options: ChunkPolicyOptions, frames: number, timeOf: (frame: number) => number) {
  const planner = chunkPlanner(options);
  const chunks: number[] = [];
  for (let frame = 1; frame <= frames; frame += 1) {
    const count = planner.take(frame, false, timeOf(frame));
    if (count !== undefined) chunks.push(count);
  }
  const rest = planner.take(frames, true, timeOf(frames));
  if (rest !== undefined && rest > 0) chunks.push(rest);
  return chunks;
}

describe("the first chunk", () => {
  it.each(unit("unit_max_ic").vectors as [number, number][])(
    "of steady %i is at most %i",
    (steady, most) => {
      expect(maxFirstFrames(steady)).toBe(most);
    },
  );

  it.each(unit("unit_dynamic_ic").vectors as [number, number, number, number][])(
    "with %i of %i active and at most %i has %i frames",
    (active, capacity, most, frames) => {
      expect(dynamicFirstFrames(active, capacity, most)).toBe(frames);
    },
  );

  it("is the request's wish, then the server's, then what the load allows", () => {
    const choice = { requested: undefined, configured: 0, steady: 25, active: 4, capacity: 4 };
    expect(firstFrames(choice)).toBe(16);
    expect(firstFrames({ ...choice, configured: 3 })).toBe(3);
    expect(firstFrames({ ...choice, configured: 3, requested: 0 })).toBe(0);
    expect(firstFrames({ ...choice, requested: 99 })).toBe(25);
    expect(() => firstFrames({ ...choice, requested: -1 })).toThrow(RangeError);
    expect(() => firstFrames({ ...choice, steady: 0 })).toThrow(RangeError);
  });
});

describe("initial, then steady", () => {
  interface Vector {
    steady: number;
    left_context: number;
    ic: number;
    frames: number;
    finished: boolean;
    context_window: [number, number] | null;
  }

  it.each(unit("unit_initial_steady").vectors as Vector[])(
    "$frames frames, first $ic, steady $steady, finished $finished",
    ({ steady, left_context: left, ic: first, frames, finished, context_window: expected }) => {
      const fresh = initialThenSteady({ steady, first, frames, finished });
      if (expected === null) return expect(fresh).toBeUndefined();
      const { context, window } = decodeWindow(frames, fresh ?? -1, left);
      expect([context, window]).toEqual(expected);
    },
  );

  it("tells the end of a request without frames", () => {
    const state = { steady: 25, first: 5, frames: 0 };
    expect(initialThenSteady({ ...state, finished: true })).toBe(0);
    expect(initialThenSteady({ ...state, finished: false })).toBeUndefined();
  });

  it.each(
    unit("unit_decode_windows").vectors as {
      chunks: number[];
      left_context: number;
      windows: number[];
    }[],
  )("windows of $chunks", ({ chunks, left_context: left, windows }) => {
    expect(decodeWindows(chunks, left)).toEqual(windows);
  });
});

describe("ramps", () => {
  interface Vector {
    ic?: number;
    ramp?: unknown;
    steady: number;
    frames: number;
    chunks: number[];
  }

  it.each(unit("unit_chunk_sequences").vectors as Vector[])(
    "$ramp over $frames frames give $chunks",
    ({ ic = 0, ramp: written, steady, frames, chunks }) => {
      const ramp = parseRamp(written);
      const policy = ramp === undefined ? "fixed" : "ramp";
      const options = { ...OPTIONS, policy, first: ic, ramp: ramp ?? [], steady } as const;
      expect(run(options, frames, (frame) => frame)).toEqual(chunks);
    },
  );

  it.each(
    unit("unit_ramp_cumulative").vectors as { ramp: number[]; steady: number; cum: number[] }[],
  )("$ramp add up to $cum", ({ ramp, steady, cum }) => {
    expect(cum.map((_, index) => rampCumulative(ramp, steady, index))).toEqual(cum);
  });
});

describe("the adaptive controller", () => {
  const { vectors, defaults } = unit("unit_adaptive");

  interface Vector {
    frame_time_ms: number;
    frames: number;
    ic?: number;
    chunks: number[];
    stall_before_frame?: number;
    stall_ms?: number;
  }

  it.each(vectors as Vector[])("$frame_time_ms ms a frame gives $chunks", (vector) => {
    const options: ChunkPolicyOptions = {
      policy: "adaptive",
      ramp: [],
      first: vector.ic ?? defaults.ic ?? 0,
      steady: defaults.steady ?? 0,
      minFrames: defaults.min ?? 0,
      marginMs: defaults.margin_ms ?? 0,
      rampDivisor: defaults.ramp_divisor ?? 0,
      deltaMin: defaults.delta_min ?? 0,
      frameMs: defaults.frame_ms ?? 0,
    };
    const stalled = (frame: number) =>
      frame >= (vector.stall_before_frame ?? Number.POSITIVE_INFINITY);
    const timeOf = (frame: number) =>
      (frame * vector.frame_time_ms + (stalled(frame) ? (vector.stall_ms ?? 0) : 0)) / 1000;
    expect(run(options, vector.frames, timeOf)).toEqual(vector.chunks);
  });

  it("counts the gaps that a listener hears", () => {
    const controller = new AdaptiveController(1, OPTIONS);
    expect(controller.take(1, false, 0)).toBe(1);
    expect(controller.take(3, false, 0.2)).toBe(3);
    expect(controller.gaps().count).toBe(1);
    expect(controller.gaps().seconds).toBeCloseTo(0.12);
    expect(controller.take(0, true, 0.3)).toBe(0);
  });
});

describe("every policy", () => {
  it("sends each frame exactly once, whatever the times", () => {
    for (const policy of ["fixed", "ramp", "adaptive"] as const) {
      for (let frames = 0; frames < 60; frames += 1) {
        const options = { ...OPTIONS, policy, first: frames % 5, ramp: [1, 3, 6] };
        const chunks = run(options, frames, (frame) => (frame * (frame % 7)) / 10);
        expect(chunks.reduce((sum, count) => sum + count, 0)).toBe(frames);
        expect(chunks.every((count) => count > 0)).toBe(true);
      }
    }
  });
});

describe("a listener who is about to run dry", () => {
  const adaptive = { ...OPTIONS, policy: "adaptive" } as const;

  it("gets what is held back, and the sizes go on as they were meant to", () => {
    const planner = chunkPlanner(adaptive);
    expect(planner.take(1, false, 0)).toBe(1);
    expect(planner.take(2, false, 0.07)).toBeUndefined();
    expect(planner.hurry(2, 0.07)).toBe(true);
    expect(planner.hurry(2, 0.07)).toBe(false); // nothing is left
    // At 70 ms a frame sizes grow by four, the 70 over the divisor of 15, whatever he has to hear.
    expect(planner.take(3, false, 0.14)).toBeUndefined();
    expect(planner.take(4, false, 0.21)).toBeUndefined();
    expect(planner.take(5, false, 0.28)).toBeUndefined();
    expect(planner.take(6, false, 0.35)).toBeUndefined();
    expect(planner.take(7, false, 0.42)).toBe(5);
    expect(planner.mostHeldFrames).toBe(0);
  });

  it("waits for the first chunk like anybody else", () => {
    const planner = chunkPlanner({ ...adaptive, first: 4 });
    expect(planner.take(1, false, 0)).toBeUndefined();
    expect(planner.hurry(1, 0)).toBe(false);
    expect(planner.take(4, false, 0.1)).toBe(4);
  });

  it.each(["fixed", "ramp"] as const)("waits where sizes are %s, as somebody wished", (policy) => {
    const planner = chunkPlanner({ ...OPTIONS, policy, ramp: [1, 3, 6] });
    expect(planner.take(1, false, 0)).toBe(1);
    expect(planner.hurry(2, 1)).toBe(false);
    expect(planner.mostHeldFrames).toBe(14);
  });
});
