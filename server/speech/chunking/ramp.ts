/** Chunk sizes from a fixed list, then steady: small chunks while a listener waits, large ones when a buffer exists. */

const INTEGER = /^\s*\d+\s*$/;

/**
 * Reads a ramp: a list, or a text such as `2,4,8,15`. Undefined for what is not at least two positive integers; the
 * ramp is then switched off.
 */
export function parseRamp(value: unknown): readonly number[] | undefined {
  const parts = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(parts) || parts.length < 2) return undefined;
  const sizes = parts.map((part) =>
    typeof part === "string" && INTEGER.test(part) ? Number(part) : part,
  );
  return sizes.every((size) => Number.isSafeInteger(size) && size > 0) ? sizes : undefined;
}

/** Frames of all chunks up to and including `index`. */
export function rampCumulative(ramp: readonly number[], steady: number, index: number): number {
  const listed = ramp.slice(0, index + 1).reduce((sum, size) => sum + size, 0);
  return listed + Math.max(0, index + 1 - ramp.length) * steady;
}

export interface RampState {
  readonly ramp: readonly number[];
  readonly steady: number;
  /** Chunks that were handed over; the sender counts them, and only those that arrived. */
  readonly sent: number;
  /** Frames generated so far. */
  readonly frames: number;
  readonly finished: boolean;
}

/** How many frames leave now. Undefined: hold them. Zero: nothing is left, only the end is to be told. */
export function rampEmission({
  ramp,
  steady,
  sent,
  frames,
  finished,
}: RampState): number | undefined {
  const before = sent > 0 ? rampCumulative(ramp, steady, sent - 1) : 0;
  if (!finished && frames < rampCumulative(ramp, steady, sent)) return undefined;
  return Math.max(0, frames - before);
}
