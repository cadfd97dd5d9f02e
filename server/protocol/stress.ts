/**
 * What a load test is asked for: the plan with its shapes, limits and guards. One schema for the page, the command line
 * and the server's own generator, so that a plan that was run in one place can be run again in another.
 */
import { z } from "zod";
import { STRESS_BOUNDS, STRESS_DEFAULTS, STRESS_TARGETS } from "./stress-bounds.ts";

const concurrency = z.int().min(1).max(STRESS_BOUNDS.concurrency);
const seconds = z.number().min(0.5).max(STRESS_BOUNDS.seconds);
const stepSeconds = seconds.describe("How long each step takes new requests, in seconds");
const share = z.number().min(0).max(1);

const Fixed = z.strictObject({
  kind: z.literal("fixed"),
  concurrency: concurrency.describe("Requests at once, each followed by the next"),
});
const Steps = z.strictObject({
  kind: z.literal("steps"),
  from: concurrency.describe("Requests at once in the first step"),
  to: concurrency.describe("Requests at once in the last step"),
  by: concurrency.describe("How many are added, or taken away, from step to step"),
  stepSeconds,
});
const Levels = z.strictObject({
  kind: z.literal("levels"),
  levels: z.array(concurrency).min(1).max(100).describe("Requests at once, step by step"),
  stepSeconds,
});
const Ramp = z.strictObject({
  kind: z.literal("ramp"),
  from: concurrency.describe("Requests at once at the start"),
  to: concurrency.describe("Requests at once at the end"),
});
const Poisson = z.strictObject({
  kind: z.literal("poisson"),
  perSecond: z
    .number()
    .min(0.01)
    .max(STRESS_BOUNDS.perSecond)
    .describe("Requests a second that arrive by chance, whether or not others have ended"),
});
const Knee = z.strictObject({
  kind: z.literal("knee"),
  from: concurrency.describe("Least number of requests at once that is tried"),
  to: concurrency.describe("Largest number of requests at once that is tried"),
  stepSeconds,
});

/** How the load goes over time. All but `poisson` are closed loops: who was answered asks again. */
export const StressShape = z.discriminatedUnion("kind", [
  Fixed,
  Steps,
  Levels,
  Ramp,
  Poisson,
  Knee,
]);
export type StressShape = z.output<typeof StressShape>;

export const StressLimits = z.strictObject({
  ttfpP95Ms: z.number().min(1).max(3_600_000).optional().describe("Largest p95 of the TTFP, in ms"),
  continuity: share.optional().describe("Least share of streams without an audible gap, 0 to 1"),
  errorShare: share
    .optional()
    .describe("Largest share of requests that are refused or fail, 0 to 1"),
});
export type StressLimits = z.output<typeof StressLimits>;

const Texts = z.strictObject({
  name: z.string().min(1).max(100).describe("Name of the set, for reports"),
  items: z
    .array(z.string().trim().min(1).max(STRESS_BOUNDS.textChars))
    .min(1)
    .max(STRESS_BOUNDS.texts)
    .describe("Said in turn"),
});

const Body = z.strictObject({
  target: z
    .enum(STRESS_TARGETS)
    .default(STRESS_DEFAULTS.target)
    .describe("Door that the load goes through"),
  shape: StressShape,
  seconds: seconds
    .default(STRESS_DEFAULTS.seconds)
    .describe("How long new requests are begun; steps and knee have their own times"),
  texts: Texts,
  model: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe("Model that speaks; left out: the one that the server speaks with by default"),
  voices: z
    .array(z.string().min(1).max(256))
    .max(STRESS_BOUNDS.voices)
    .default([])
    .describe("Spoken in turn; empty: the model's default voice"),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(STRESS_DEFAULTS.seed)
    .describe("Of the arrivals by chance and of the requests"),
  warmup: z
    .int()
    .min(0)
    .max(STRESS_BOUNDS.warmup)
    .default(STRESS_DEFAULTS.warmup)
    .describe("Requests before the measurement, which do not count"),
  limits: StressLimits.default({}).describe(
    "Stop the run where they are crossed; of a knee they are the target",
  ),
  maxRequests: z
    .int()
    .min(1)
    .max(STRESS_BOUNDS.requests)
    .default(STRESS_DEFAULTS.maxRequests)
    .describe("Cost guard: no more requests than these"),
  maxSeconds: seconds
    .default(STRESS_DEFAULTS.maxSeconds)
    .describe("Cost guard: no longer than this, in seconds"),
  source: z.enum(["browser", "server"]).default("server").describe("Who makes the load"),
  processes: z
    .int()
    .min(1)
    .max(STRESS_BOUNDS.processes)
    .default(STRESS_DEFAULTS.processes)
    .describe("Processes that share the load; a browser has one"),
  probe: z
    .boolean()
    .default(true)
    .describe("Repeat one seeded request among the load and compare its samples"),
  realTimeReaders: z
    .boolean()
    .default(false)
    .describe("Readers of the socket report what they have heard, as players do"),
});

/** The rules that no field can tell alone. */
function checkPlan({ value, issues }: z.core.ParsePayload<z.output<typeof Body>>): void {
  const complain = (path: (string | number)[], message: string) =>
    issues.push({ code: "custom", path, message, input: value });
  const { shape, limits, realTimeReaders, target, source, processes } = value;
  if (shape.kind === "knee") {
    if (shape.from > shape.to) {
      complain(["shape", "from"], `from must not be above to (${shape.to})`);
    }
    const { ttfpP95Ms, continuity, errorShare } = limits;
    if (ttfpP95Ms === undefined && continuity === undefined && errorShare === undefined) {
      const all = "ttfpP95Ms, continuity or errorShare";
      complain(["limits"], `A search for the knee needs one limit at least: ${all}`);
    }
  }
  if (realTimeReaders && target !== "ws") {
    complain(["realTimeReaders"], "Only readers of the target 'ws' can report what they heard");
  }
  if (source === "browser" && processes !== 1) {
    complain(["processes"], "A browser makes its load in one process");
  }
}

/** What is to be run. Everything but `shape` and `texts` has a default. */
export const StressPlan = Body.check(checkPlan);
export type StressPlan = z.output<typeof StressPlan>;
export type StressPlanInput = z.input<typeof StressPlan>;
