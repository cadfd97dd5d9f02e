/**
 * Chunk sizes that follow the listener's buffer: as much audio as is buffered may be spent on making the next chunk, so
 * sizes grow as fast as generation allows. The least growth is unconditional: shrinking chunks when late would
 * multiply the cost of each frame and make things later still.
 */

export interface AdaptiveOptions {
  /** Largest chunk, in frames. */
  readonly steady: number;
  readonly minFrames: number;
  /** Audio that stays in the listener's buffer, in milliseconds. */
  readonly marginMs: number;
  readonly rampDivisor: number;
  /** Least growth from one chunk to the next, in frames. */
  readonly deltaMin: number;
  /** Sound in a frame, in milliseconds. */
  readonly frameMs: number;
}

/** Weight of the newest measurement of milliseconds per frame. */
const NEWEST = 0.3;
/** A later arrival than this is counted as a gap, in seconds. */
const GAP_S = 0.005;

function atLeastOne(value: number): number {
  return Math.max(1, Math.trunc(value));
}

/** Decides for one request. Times in seconds on any clock that does not jump. */
export class AdaptiveController {
  private readonly options: AdaptiveOptions;
  private target: number;
  /** Smoothed generation time of a frame in milliseconds; 0 while unknown. */
  private frameCostMs = 0;
  private firstAt = 0;
  private lastAt = 0;
  private emitted = 0;
  private settled = false;
  private cursor = 0;
  private gapCount = 0;
  private gapSum = 0;

  /** @param first frames of the first chunk */
  constructor(first: number, options: AdaptiveOptions) {
    this.target = first;
    this.options = {
      ...options,
      steady: atLeastOne(options.steady),
      minFrames: atLeastOne(options.minFrames),
      rampDivisor: atLeastOne(options.rampDivisor),
      deltaMin: atLeastOne(options.deltaMin),
    };
  }

  /** Frames that the next chunk should have. */
  nextSize(now: number): number {
    if (this.emitted === 0) return this.target;
    const { steady, minFrames, marginMs, rampDivisor, deltaMin, frameMs } = this.options;
    const cost = this.frameCostMs;
    const buffered = this.emitted * frameMs - (now - this.firstAt) * 1000;
    if (cost > 0 && buffered >= steady * cost + marginMs) this.settled = true;
    if (this.settled) return steady;
    const affordable = cost > 0 ? Math.trunc(Math.max(0, buffered - marginMs) / cost) : minFrames;
    const greedy = Math.min(Math.max(affordable, minFrames), steady);
    const delta = cost > 0 ? Math.max(deltaMin, Math.trunc(cost / rampDivisor)) : deltaMin;
    return Math.min(Math.max(this.target + delta, greedy), steady);
  }

  /**
   * Asks whether pending frames leave now, all of them, and notes it if they do. Undefined: hold them. Zero: nothing is
   * left, only the end is to be told.
   */
  take(pending: number, finished: boolean, now: number): number | undefined {
    if (pending === 0) return finished ? 0 : undefined;
    const size = this.nextSize(now);
    if (pending < size && !finished) return undefined;
    this.note(pending, size, now);
    return pending;
  }

  /** Notes that pending frames leave before there are as many as the next chunk should have; sizes go on as intended. */
  release(pending: number, now: number): void {
    this.note(pending, this.target, now);
  }

  private note(frames: number, intended: number, now: number): void {
    if (this.emitted > 0) {
      const cost = ((now - this.lastAt) * 1000) / frames;
      const known = this.frameCostMs > 0;
      this.frameCostMs = known ? NEWEST * cost + (1 - NEWEST) * this.frameCostMs : cost;
      const gap = Math.max(0, now - this.cursor);
      if (gap > GAP_S) {
        this.gapCount += 1;
        this.gapSum += gap;
      }
      this.cursor = Math.max(now, this.cursor);
    } else {
      this.firstAt = now;
      this.cursor = now;
    }
    this.cursor += (frames * this.options.frameMs) / 1000;
    this.lastAt = now;
    this.emitted += frames;
    // The intention and not `frames`, so that one stall does not make all later chunks large.
    this.target = intended;
  }

  /** Gaps that a listener without a buffer of his own heard so far. */
  gaps(): { readonly count: number; readonly seconds: number } {
    return { count: this.gapCount, seconds: this.gapSum };
  }
}
