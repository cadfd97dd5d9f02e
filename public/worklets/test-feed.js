/** Drives the playout under a mocked clock: sound arrives when the test says, and every output frame is kept. */
import { Playout } from "./playout.js";

export const RATE = 48_000;
const QUANTUM = 128;

/**
 * @typedef {{ atSeconds: number, samples: Float32Array | Int16Array }} Arrival interleaved
 * @typedef {import("./playout.js").PlayoutEvent} PlayoutEvent
 */

export class Bench {
  #left = new Float32Array(RATE);
  #right = new Float32Array(RATE);
  #frames = 0;
  /** @type {PlayoutEvent[]} */
  events = [];

  /** @param {number} [outputRate] Hz */
  constructor(outputRate = RATE) {
    this.outputRate = outputRate;
    this.playout = new Playout(outputRate);
  }

  get seconds() {
    return this.#frames / this.outputRate;
  }

  /** What left on the left. */
  get left() {
    return this.#left.subarray(0, this.#frames);
  }

  get right() {
    return this.#right.subarray(0, this.#frames);
  }

  /** @param {Partial<import("./playout.js").StreamOptions>} [options] */
  open(options = {}) {
    this.playout.open({ stream: 1, channels: 2, sampleRate: RATE, from: 0, ...options });
  }

  /**
   * Renders until the output is that long.
   * @param {number} seconds
   */
  renderUntil(seconds) {
    while (this.#frames < seconds * this.outputRate - 0.5) this.#quantum();
  }

  /**
   * Feeds a whole stream and renders until it is drained.
   * @param {readonly Arrival[]} arrivals in order of time
   * @param {number} [finishSeconds] when the end is known; with the last arrival if left out
   */
  run(arrivals, finishSeconds) {
    let frames = 0;
    for (const { atSeconds, samples } of arrivals) {
      this.renderUntil(atSeconds);
      this.playout.write(1, samples, true);
      frames += samples.length / 2;
    }
    this.renderUntil(finishSeconds ?? 0);
    this.playout.finish(1, frames);
    for (let i = 0; this.playout.state !== "drained"; i++) {
      if (i > 1e6) throw new Error("The stream never ended");
      this.#quantum();
    }
  }

  /** @param {PlayoutEvent["type"]} type */
  of(type) {
    return this.events.filter((event) => event.type === type);
  }

  #quantum() {
    const end = this.#frames + QUANTUM;
    if (end > this.#left.length) {
      this.#left = twiceAsLong(this.#left);
      this.#right = twiceAsLong(this.#right);
    }
    const left = this.#left.subarray(this.#frames, end);
    const right = this.#right.subarray(this.#frames, end);
    this.playout.render([left, right], this.#frames);
    this.#frames = end;
    this.events.push(...this.playout.takeEvents());
  }
}

/** @param {Float32Array} samples */
function twiceAsLong(samples) {
  const longer = new Float32Array(samples.length * 2);
  longer.set(samples);
  return longer;
}

/**
 * Interleaved stereo in which every frame is another number, so that any mistake shows.
 * @param {number} frames
 * @param {number} [seed]
 */
export function distinctFrames(frames, seed = 1) {
  const random = randomNumbers(seed);
  return Int16Array.from({ length: frames * 2 }, () => Math.floor(random() * 65_536) - 32_768);
}

/**
 * A sine in both channels.
 * @param {number} seconds
 * @param {number} hertz
 * @param {number} [amplitude]
 * @param {number} [rate] Hz
 */
export function sine(seconds, hertz, amplitude = 0.5, rate = RATE) {
  const samples = new Float32Array(Math.round(seconds * rate) * 2);
  for (let i = 0; i < samples.length; i++) {
    samples[i] = amplitude * Math.sin((2 * Math.PI * hertz * Math.floor(i / 2)) / rate);
  }
  return samples;
}

/**
 * Cuts a stream into chunks that arrive one after the other, each late by up to `jitterSeconds`, never out of order.
 * @param {Float32Array | Int16Array} samples interleaved stereo
 * @param {{ chunkSeconds: number, speed: number, jitterSeconds?: number, seed?: number }} how
 * @returns {Arrival[]}
 */
export function arrivals(samples, { chunkSeconds, speed, jitterSeconds = 0, seed = 1 }) {
  const random = randomNumbers(seed);
  const length = Math.round(chunkSeconds * RATE) * 2;
  let atSeconds = 0;
  return Array.from({ length: Math.ceil(samples.length / length) }, (_, i) => {
    const due = (i * chunkSeconds) / speed + random() * jitterSeconds;
    atSeconds = Math.max(atSeconds, due);
    return { atSeconds, samples: samples.slice(i * length, (i + 1) * length) };
  });
}

/**
 * Numbers from 0 to 1, the same ones for the same seed.
 * @param {number} seed
 */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
