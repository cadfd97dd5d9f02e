/** Fixed numbers and names of load tests. Without schemas, so that pages can have them. */

export const STRESS_TARGETS = ["http", "sse", "ws"] as const;
/** Door that the load goes through: streamed bytes, server-sent events, or the speech socket. */
export type StressTarget = (typeof STRESS_TARGETS)[number];

export const STRESS_SHAPES = ["fixed", "steps", "levels", "ramp", "poisson", "knee"] as const;

/** Bounds of a plan, whoever runs it; a server may set narrower ones for its own generator. */
export const STRESS_BOUNDS = {
  concurrency: 16_384,
  perSecond: 10_000,
  seconds: 24 * 3600,
  requests: 10_000_000,
  processes: 64,
  texts: 1000,
  textChars: 16_000,
  voices: 100,
  warmup: 1000,
} as const;

/** What a plan that does not say otherwise has. */
export const STRESS_DEFAULTS = {
  target: "http",
  seconds: 30,
  seed: 1,
  warmup: 2,
  maxRequests: 100_000,
  maxSeconds: 900,
  processes: 1,
} as const;

/** Lanes that a tick lists at most. */
export const MAX_TICK_LANES = 1024;

/** socket.io namespace of the server's own generator. */
export const STRESS_NAMESPACE = "/stress";

/** How long a run outlives the connection of its owner, in milliseconds. */
export const STRESS_OWNER_GRACE_MS = 10_000;
