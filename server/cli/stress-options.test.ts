/** The options of the load test: what they mean together, and that the line in a report means the plan it was made of. */
import { describe, expect, it } from "vitest";
import type { StressPlan, StressShape } from "../protocol/stress.ts";
import { planArguments } from "../stress/command-line.ts";
import { planWith } from "../stress/test-door.ts";
import { TEXT_SETS } from "../stress/texts.ts";
import { type RunCommand, readStressOptions } from "./stress-options.ts";

const read = (...args: string[]) => readStressOptions(args) as RunCommand;
const planOf = (...args: string[]) => read(...args).plan;

describe("the shape", () => {
  it.each([
    [[], { kind: "levels", levels: [1, 2, 4, 8, 16], stepSeconds: 10 }],
    [["--concurrency", "8"], { kind: "fixed", concurrency: 8 }],
    [["--concurrency", "64,1"], { kind: "levels", levels: [64, 1], stepSeconds: 10 }],
    [["--rate", "2.5"], { kind: "poisson", perSecond: 2.5 }],
    [["--to", "9", "--by", "4"], { kind: "steps", from: 1, to: 9, by: 4, stepSeconds: 10 }],
    [["--shape", "ramp", "--to", "5"], { kind: "ramp", from: 1, to: 5 }],
    [["bisect", "--step-seconds", "3"], { kind: "knee", from: 1, to: 256, stepSeconds: 3 }],
  ] satisfies [string[], StressShape][])("of %j", (args, shape) => {
    expect(planOf(...args).shape).toEqual(shape);
  });
});

it("bisect has limits of its own, which may be replaced", () => {
  expect(planOf("bisect").limits).toEqual({ continuity: 0.99, errorShare: 0.01 });
  expect(planOf("bisect", "--limit-continuity", "0.5").limits.continuity).toBe(0.5);
  expect(planOf().limits).toEqual({});
});

it("two reports are compared", () => {
  expect(readStressOptions(["compare", "a.json", "b.json"])).toEqual({
    kind: "compare",
    files: ["a.json", "b.json"],
  });
});

it("what is said of a server that is started goes to it", () => {
  expect(read("--model", "m", "--threads", "2").server).toEqual(["--model", "m", "--threads", "2"]);
});

describe("the line that repeats a plan", () => {
  const limits = { ttfpP95Ms: 80.5, continuity: 0.99, errorShare: 0 };
  it.each([
    {},
    { shape: { kind: "poisson", perSecond: 0.25 }, seconds: 4.5, seed: 0, voices: ["a b", "c"] },
    { shape: { kind: "levels", levels: [3, 1], stepSeconds: 1.5 }, seconds: 30, target: "sse" },
    { shape: { kind: "levels", levels: [3], stepSeconds: 1 }, seconds: 30, limits },
    { shape: { kind: "steps", from: 9, to: 1, by: 2, stepSeconds: 1 }, seconds: 30, processes: 4 },
    { shape: { kind: "ramp", from: 1, to: 40 }, target: "ws", realTimeReaders: true, probe: true },
    { shape: { kind: "knee", from: 2, to: 7, stepSeconds: 2 }, seconds: 30, limits, warmup: 9 },
    { texts: { name: "short", items: [...TEXT_SETS.short] }, maxRequests: 5, maxSeconds: 60 },
    { texts: { name: "short", items: ["Not the set's own."] } },
    { model: "org/name", voices: ["a"] },
  ] satisfies Partial<StressPlan>[])("means the same: %j", (changes) => {
    const plan = planWith(changes);
    expect(planOf(...planArguments(plan))).toEqual(plan);
  });
});
