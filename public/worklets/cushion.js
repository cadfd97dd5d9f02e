/**
 * Decides how much sound must lie ready before playback starts or goes on. A stream that comes faster than it is heard
 * starts at once; one that ran dry waits for a cushion; one that is made slower than it is heard waits for so much that
 * it will probably not run dry again. Remembers across takes, since the next one comes over the same line. All times are
 * in seconds on the clock of the caller.
 */

/** What one underrun adds to the cushion, and what good times take away again. */
const STEP = 0.3;
const MAX_CUSHION = 1.5;
/** A lead this far above the cushion for this long, all in all since the last underrun, lowers it by one step. */
const GOOD_LEAD = 0.5;
const GOOD_TIME = 5;
/** Arrivals are measured over this time; no judgement before half a second of it, unless playback ran dry. */
const WINDOW = 4;
const MIN_SPAN = 0.5;
/** Slower arrival than this share of real time counts as slow. */
const SLOW_RATE = 0.95;
/** Where nobody told how long the take will be: as much again as has come, and this at the least. */
const MIN_GUESS = 10;
/** An estimate that was passed by more than this factor is worth nothing. */
const MAX_EXCESS = 1.2;
/** Arrival varies, so a slow take waits for a little more than the arithmetic asks for. */
const MARGIN = 1.1;
/** Longest wait for a slow take, in seconds of sound; less than the ring holds. */
const MAX_HOLD = 15;
/** With less than this ahead, a slow take had better pause between words than inside one. */
const DRY_SOON = 0.25;

export class Cushion {
  #level = 0;
  #good = 0;
  #hasRunDry = false;
  /** @type {{at: number, seconds: number}[]} */
  #arrivals = [];
  /** Rate of the last take that could be measured. */
  #before = Number.POSITIVE_INFINITY;

  /** Seconds that must lie ready after an underrun, and at the start of the next take. */
  get level() {
    return this.#level;
  }

  /** Seconds of sound that arrive in a second, as far as this or the last take could tell. */
  get rate() {
    const [first] = this.#arrivals;
    const last = this.#arrivals.at(-1);
    if (first === undefined || last === undefined || first === last) return this.#before;
    if (last.at - first.at < MIN_SPAN && !this.#hasRunDry) return this.#before;
    let sum = -first.seconds;
    for (const { seconds } of this.#arrivals) sum += seconds;
    return sum / (last.at - first.at);
  }

  /** Whether the sound is made more slowly than it is heard. */
  get slow() {
    return this.rate < SLOW_RATE;
  }

  /**
   * A new take begins.
   * @param {number} atLeast seconds of cushion that the caller knows to be needed
   */
  begin(atLeast) {
    this.#before = this.rate;
    this.#arrivals = [];
    this.#hasRunDry = false;
    this.#level = Math.min(MAX_CUSHION, Math.max(this.#level, atLeast));
  }

  /**
   * Sound came in from outside.
   * @param {number} seconds of sound
   * @param {number} at
   */
  arrived(seconds, at) {
    const last = this.#arrivals.at(-1);
    if (last !== undefined && last.at === at) last.seconds += seconds;
    else this.#arrivals.push({ at, seconds });
    while ((this.#arrivals[1]?.at ?? at) < at - WINDOW) this.#arrivals.shift();
  }

  /** Playback ran dry. */
  ranDry() {
    this.#level = Math.min(MAX_CUSHION, inTenths(this.#level + STEP));
    this.#hasRunDry = true;
    this.#good = 0;
  }

  /**
   * Time passed while sound was played.
   * @param {number} seconds
   * @param {number} lead seconds of sound that lay ready
   */
  played(seconds, lead) {
    // Counted across takes: each begins with little lead, and short ones would never be good for long.
    if (lead >= this.#level + GOOD_LEAD) this.#good += seconds;
    if (this.#good < GOOD_TIME) return;
    this.#good = 0;
    this.#level = Math.max(0, inTenths(this.#level - STEP));
  }

  /**
   * Seconds of sound that must lie ready before playback starts or goes on.
   * @param {number} playedSeconds
   * @param {number} receivedSeconds
   * @param {number | undefined} expectedSeconds length of the whole take, if there is an estimate
   */
  wanted(playedSeconds, receivedSeconds, expectedSeconds) {
    if (!this.slow) return this.#level;
    const missing = this.#missing(playedSeconds, receivedSeconds, expectedSeconds) * MARGIN;
    // What comes in pieces is late by up to a piece.
    const piece = Math.max(...this.#arrivals.map(({ seconds }) => seconds), 0);
    return Math.max(this.#level, Math.min(MAX_HOLD, missing + piece));
  }

  /**
   * Whether a slow take should rather stop here, where it is quiet, than run dry in the middle of a word soon after.
   * @param {number} playedSeconds
   * @param {number} receivedSeconds
   * @param {number | undefined} expectedSeconds
   */
  breakHere(playedSeconds, receivedSeconds, expectedSeconds) {
    const lead = receivedSeconds - playedSeconds;
    if (!this.slow || lead >= DRY_SOON) return false;
    return lead < this.#missing(playedSeconds, receivedSeconds, expectedSeconds);
  }

  /**
   * Seconds of sound that will be missing until the end if nothing waits.
   * @param {number} playedSeconds
   * @param {number} receivedSeconds
   * @param {number | undefined} expectedSeconds
   */
  #missing(playedSeconds, receivedSeconds, expectedSeconds) {
    const guess = receivedSeconds + Math.max(MIN_GUESS, receivedSeconds);
    const isOutdated = receivedSeconds > (expectedSeconds ?? 0) * MAX_EXCESS;
    const whole = isOutdated ? guess : Math.max(receivedSeconds, expectedSeconds ?? 0);
    return (1 - this.rate) * (whole - playedSeconds);
  }
}

/**
 * Sums of 0.3 are not what they seem in binary.
 * @param {number} seconds
 */
function inTenths(seconds) {
  return Math.round(seconds * 10) / 10;
}
