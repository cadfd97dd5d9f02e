/**
 * Reads a ring at the rate of the output: sample for sample where the rates agree, else through a windowed sinc. Each
 * output frame is computed from its own place in the stream alone, so that nothing can happen at the borders of chunks.
 */

/** Zero crossings of the sinc on each side of a sample. */
const CROSSINGS = 48;
/** Where the filter cuts, as a share of the lower of the two Nyquist frequencies; its stop band starts at that one. */
const CUTOFF = 0.94;
/** Kaiser window with a stop band of about -90 dB. */
const KAISER_BETA = 9;
/** Ratios that need more phases than this use the nearest one. */
const MAX_PHASES = 1024;

export class Reader {
  #up;
  #down;
  #phases;
  /** Frames of the stream that the filter reaches to each side; 0 where nothing is filtered. */
  #reach = 0;
  /** Filter taps, [phases, 2 * reach] */
  #kernel = new Float32Array(0);
  #frame = 0;
  /** Parts of a frame past `#frame`, in 1 / `#up`. */
  #part = 0;

  /**
   * @param {number} sourceRate Hz
   * @param {number} outputRate Hz
   */
  constructor(sourceRate, outputRate) {
    const divisor = greatestDivisor(sourceRate, outputRate);
    this.#up = outputRate / divisor;
    this.#down = sourceRate / divisor;
    this.#phases = Math.min(this.#up, MAX_PHASES);
    if (sourceRate !== outputRate) {
      const ratio = Math.min(1, outputRate / sourceRate);
      this.#reach = Math.ceil(CROSSINGS / ratio);
      this.#kernel = makeKernel(this.#phases, this.#reach, ratio * CUTOFF);
    }
  }

  /** The next frame of the stream to leave, rounded down. */
  get frame() {
    return this.#frame;
  }

  /** @param {number} frame */
  seek(frame) {
    this.#frame = frame;
    this.#part = 0;
  }

  /**
   * Output frames that can be made of what is in the ring.
   * @param {import("./ring.js").Ring} ring
   * @param {boolean} complete whether nothing more will come, so that silence may stand in for it
   */
  available(ring, complete) {
    const limit = complete ? ring.end : ring.end - this.#reach;
    const parts = (limit - this.#frame) * this.#up - this.#part;
    return Math.max(0, Math.ceil(parts / this.#down));
  }

  /**
   * Makes `count` available frames of each channel and moves on.
   * @param {import("./ring.js").Ring} ring
   * @param {readonly Float32Array[]} targets one for each channel of the ring
   * @param {number} offset
   * @param {number} count
   */
  read(ring, targets, offset, count) {
    const parts = this.#part + count * this.#down;
    for (const [channel, target] of targets.entries()) {
      if (this.#reach === 0) ring.copy(channel, this.#frame, target, offset, count);
      else this.#interpolate(ring, channel, target, offset, count);
    }
    this.#frame += Math.floor(parts / this.#up);
    this.#part = parts % this.#up;
  }

  /**
   * As `read`, without moving on.
   * @param {import("./ring.js").Ring} ring
   * @param {readonly Float32Array[]} targets
   * @param {number} count
   */
  peek(ring, targets, count) {
    const { frame } = this;
    const part = this.#part;
    this.read(ring, targets, 0, count);
    this.#frame = frame;
    this.#part = part;
  }

  /**
   * @param {import("./ring.js").Ring} ring
   * @param {number} channel
   * @param {Float32Array} target
   * @param {number} offset
   * @param {number} count
   */
  #interpolate(ring, channel, target, offset, count) {
    const taps = 2 * this.#reach;
    let frame = this.#frame;
    let part = this.#part;
    for (let i = 0; i < count; i++) {
      const row = Math.floor((part * this.#phases) / this.#up) * taps;
      const start = frame - this.#reach + 1;
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) {
        sum += (this.#kernel[row + tap] ?? 0) * ring.sample(channel, start + tap);
      }
      target[offset + i] = sum;
      part += this.#down;
      frame += Math.floor(part / this.#up);
      part %= this.#up;
    }
  }
}

/**
 * One row of taps for every phase, each with a sum of 1.
 * @param {number} phases
 * @param {number} reach
 * @param {number} cutoff as a share of the stream's Nyquist frequency
 */
function makeKernel(phases, reach, cutoff) {
  const taps = 2 * reach;
  const kernel = new Float32Array(phases * taps);
  const row = new Float64Array(taps);
  for (let phase = 0; phase < phases; phase++) {
    let sum = 0;
    for (let tap = 0; tap < taps; tap++) {
      const distance = tap - reach + 1 - phase / phases;
      const x = Math.PI * cutoff * distance;
      const sinc = x === 0 ? 1 : Math.sin(x) / x;
      const value = sinc * kaiser(distance / reach);
      row[tap] = value;
      sum += value;
    }
    for (let tap = 0; tap < taps; tap++) kernel[phase * taps + tap] = (row[tap] ?? 0) / sum;
  }
  return kernel;
}

/** @param {number} x from -1 to 1 */
function kaiser(x) {
  return bessel(KAISER_BETA * Math.sqrt(Math.max(0, 1 - x * x))) / bessel(KAISER_BETA);
}

/**
 * The modified Bessel function of order 0.
 * @param {number} x
 */
function bessel(x) {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/**
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
function greatestDivisor(a, b) {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
