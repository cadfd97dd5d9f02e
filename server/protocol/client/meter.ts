/**
 * How a stream would play: when its first sound came, how far the buffer was ahead, and where a listener would have heard
 * silence. A model of a player and not a player; pure, so that a page, a test and a load tool judge alike.
 */
import { type Continuity, ContinuityMeter } from "../continuity.ts";

export interface MeterOptions {
  /** Milliseconds on a clock that does not jump. */
  readonly now?: () => number;
  /** The player starts this long after the first chunk, and has that much more in hand. */
  readonly cushionMs?: number;
  /** Arrivals that are kept; the oldest go first. */
  readonly maxArrivals?: number;
}

/** One chunk. Times are milliseconds since the request. */
export interface Arrival {
  readonly atMs: number;
  /** Length of its sound. */
  readonly audioMs: number;
  /** Sound received up to and with it. */
  readonly totalMs: number;
  /** Sound that was received and not played yet, with this chunk. */
  readonly leadMs: number;
  /** Silence that the listener heard in front of it. */
  readonly gapMs: number;
}

export interface MeterReading {
  /** From the request to the first sound; undefined before it comes. */
  readonly ttfpMs: number | undefined;
  /** From the request to the end, or to now. */
  readonly elapsedMs: number;
  /** Sound received. */
  readonly audioMs: number;
  readonly chunks: number;
  /** Sound that has been played. */
  readonly playedMs: number;
  /** Sound in hand; 0 while the player has run dry. */
  readonly leadMs: number;
  /** Least sound in hand when a chunk came, after the first one; undefined before there are two. */
  readonly minLeadMs: number | undefined;
  /** How often and for how long the player ran dry before more came. */
  readonly underruns: number;
  readonly underrunMs: number;
  /** The published measure: a player without a cushion, judged by its largest shortfall. */
  readonly continuity: Continuity;
  /** Time from the request to the last chunk over the length of the sound; undefined before there is any. */
  readonly rtf: number | undefined;
  readonly arrivals: readonly Arrival[];
}

/** Shorter gaps are rounding of clocks. */
const EPSILON_MS = 1e-3;
const MAX_ARRIVALS = 4096;

export class PlaybackMeter {
  readonly #now: () => number;
  readonly #cushionMs: number;
  readonly #maxArrivals: number;
  #continuity = new ContinuityMeter();
  #arrivals: Arrival[] = [];
  #begunAt: number;
  #endedAt: number | undefined;
  #firstAt: number | undefined;
  #lastAt = 0;
  /** When everything received will have been played. */
  #until = 0;
  #audioMs = 0;
  #chunks = 0;
  #underruns = 0;
  #underrunMs = 0;
  #minLeadMs: number | undefined;

  /** The request counts as sent now, until `begin` says otherwise. */
  constructor(options: MeterOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#cushionMs = options.cushionMs ?? 0;
    this.#maxArrivals = options.maxArrivals ?? MAX_ARRIVALS;
    this.#begunAt = this.#now();
  }

  /** The request is being sent; forgets everything before. @param at on the meter's clock */
  begin(at = this.#now()): void {
    this.#continuity = new ContinuityMeter();
    this.#arrivals = [];
    this.#begunAt = at;
    this.#endedAt = undefined;
    this.#firstAt = undefined;
    this.#audioMs = 0;
    this.#chunks = 0;
    this.#underruns = 0;
    this.#underrunMs = 0;
    this.#minLeadMs = undefined;
  }

  /** A chunk came. Chunks without sound do not count. @param at on the meter's clock */
  chunk(audioMs: number, at = this.#now()): void {
    if (audioMs <= 0) return;
    let gapMs = 0;
    if (this.#firstAt === undefined) {
      this.#firstAt = at;
      this.#until = at + this.#cushionMs;
    } else {
      const missingMs = at - this.#until;
      const leadMs = this.#leadMs(at);
      this.#minLeadMs = Math.min(this.#minLeadMs ?? leadMs, leadMs);
      gapMs = missingMs > EPSILON_MS ? missingMs : 0;
    }
    if (gapMs > 0) {
      this.#underruns += 1;
      this.#underrunMs += gapMs;
    }
    this.#until = Math.max(this.#until, at) + audioMs;
    this.#lastAt = at;
    this.#audioMs += audioMs;
    this.#chunks += 1;
    this.#continuity.add(at / 1000, audioMs / 1000);
    this.#arrivals.push({
      atMs: at - this.#begunAt,
      audioMs,
      totalMs: this.#audioMs,
      leadMs: this.#leadMs(at),
      gapMs,
    });
    if (this.#arrivals.length > this.#maxArrivals) this.#arrivals.shift();
  }

  /** Nothing more will come. @param at on the meter's clock */
  end(at = this.#now()): void {
    this.#endedAt ??= at;
  }

  /** @param at on the meter's clock */
  read(at = this.#now()): MeterReading {
    const leadMs = this.#leadMs(at);
    const end = this.#endedAt ?? at;
    return {
      ttfpMs: this.#firstAt === undefined ? undefined : this.#firstAt - this.#begunAt,
      elapsedMs: end - this.#begunAt,
      audioMs: this.#audioMs,
      chunks: this.#chunks,
      playedMs: this.#audioMs - leadMs,
      leadMs,
      minLeadMs: this.#minLeadMs,
      underruns: this.#underruns,
      underrunMs: this.#underrunMs,
      continuity: this.#continuity.result(),
      rtf: this.#audioMs === 0 ? undefined : (this.#lastAt - this.#begunAt) / this.#audioMs,
      arrivals: this.#arrivals,
    };
  }

  /** Until the cushion is used up, the time to the end is longer than the sound in hand. */
  #leadMs(at: number): number {
    return Math.min(this.#audioMs, Math.max(0, this.#until - at));
  }
}
