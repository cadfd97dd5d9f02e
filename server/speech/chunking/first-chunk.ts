/**
 * How many frames the first chunk of a request has: a small one is heard sooner, a large one costs the others less.
 * Decided once for each request; later changes of load do not move its boundaries.
 */

/** The largest size that the load may lead to: the largest power of two below the steady size, at least 1. */
export function maxFirstFrames(steady: number): number {
  return steady <= 2 ? 1 : 2 ** (32 - Math.clz32(steady - 1) - 1);
}

/** Halves go to the even neighbour: 0.5 to 0, 1.5 to 2. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

/**
 * The first chunk for a load: 2 frames on an idle server, doubling up to `max` on a full one.
 * @param active requests that have produced a frame; @param capacity requests that can be spoken at once
 */
export function dynamicFirstFrames(active: number, capacity: number, max: number): number {
  const steps: number[] = [];
  for (let size = 2; size <= max; size *= 2) steps.push(size);
  const smallest = steps[0];
  if (smallest === undefined) return Math.max(1, max);
  if (capacity <= 0) return smallest;
  const load = Math.min(active / capacity, 1);
  return steps[roundHalfEven(load * (steps.length - 1))] ?? smallest;
}

export interface FirstChunkChoice {
  /** What the request asks for; 0 makes the first chunk as large as the others. */
  readonly requested: number | undefined;
  /** What the server is set to; 0 lets the load decide. */
  readonly configured: number;
  readonly steady: number;
  readonly active: number;
  readonly capacity: number;
}

/**
 * The first chunk of a request: its own wish, then the server's setting, then the load.
 * @throws RangeError for negative sizes and a steady size below 1
 */
export function firstFrames(choice: FirstChunkChoice): number {
  const { requested, configured, steady, active, capacity } = choice;
  if (steady < 1) throw new RangeError("the steady chunk size must be at least 1 frame");
  if (configured < 0 || (requested ?? 0) < 0) {
    throw new RangeError("the first chunk cannot have a negative size");
  }
  const wanted =
    requested ??
    (configured > 0 ? configured : dynamicFirstFrames(active, capacity, maxFirstFrames(steady)));
  return Math.min(wanted, steady);
}
