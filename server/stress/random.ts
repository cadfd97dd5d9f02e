/** Numbers that look random and follow from a seed: for arrivals by chance and for the requests' own seeds. */

/** Numbers from 0 up to 1 (mulberry32). */
export function randomly(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of a run's n-th request: the same in every run of a plan, 0 to 2^31 − 1. */
export function requestSeed(planSeed: number, request: number): number {
  return Math.floor(randomly(planSeed ^ Math.imul(request + 1, 0x9e3779b1))() * 2 ** 31);
}

/**
 * Times at which requests arrive that know nothing of each other (a Poisson process), in milliseconds, in order.
 * @param perSecond how many arrive in a second on average
 */
export function* arrivals(
  perSecond: number,
  seconds: number,
  random: () => number,
): Generator<number, void> {
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) / perSecond) * 1000;
    if (at >= seconds * 1000) return;
    yield at;
  }
}
