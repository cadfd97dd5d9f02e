/**
 * The player's end in the audio thread: takes messages with sound, fills the output, and reports what has left. The
 * logic is in playout.js. Never keeps time of its own: everything is driven by the output and by messages, so that a
 * throttled page plays on.
 */
import { Playout } from "./playout.js";

/**
 * @typedef {object} WorkletScope
 * @property {new () => { readonly port: MessagePort }} AudioWorkletProcessor
 * @property {(name: string, processor: unknown) => void} registerProcessor
 * @property {number} currentFrame
 * @property {number} sampleRate
 *
 * @typedef {{ type: "open" } & import("./playout.js").StreamOptions} Open
 * @typedef {{ type: "data", stream: number, samples: Float32Array | Int16Array, live: boolean }} Data
 * @typedef {{ type: "finish", stream: number, frames: number }} Finish
 * @typedef {{ type: "pause" | "resume" | "stop", stream: number }} Control
 * @typedef {{ type: "tap", on: boolean }} Tap asks for a copy of everything that leaves
 * @typedef {Open | Data | Finish | Control | Tap} ToPlayer
 *
 * @typedef {object} PlayerOptions
 * @property {readonly { at: number, message: ToPlayer }[]} [script] messages that arrive by themselves at a frame of the
 *   output; an offline context renders faster than messages travel
 */

const scope = /** @type {WorkletScope} */ (/** @type {unknown} */ (globalThis));

const REPORTS_PER_SECOND = 30;
const TAP_FRAMES = 4096;

class Player extends scope.AudioWorkletProcessor {
  #playout = new Playout(scope.sampleRate);
  #script;
  #nextReport = 0;
  /** Next frame that is expected; more have passed when the audio thread was late. */
  #nextFrame = -1;
  #skippedFrames = 0;
  /** Of the frames since the last report. */
  #peak = [0, 0];
  #squares = [0, 0];
  #measured = 0;
  /** @type {{ at: number, planes: [Float32Array, Float32Array], filled: number } | undefined} */
  #tap;

  /** @param {{ processorOptions?: PlayerOptions }} options */
  constructor(options) {
    super();
    this.#script = [...(options.processorOptions?.script ?? [])];
    this.port.onmessage = ({ data }) => this.#receive(data);
  }

  /**
   * @param {unknown} _inputs
   * @param {Float32Array[][]} outputs
   */
  process(_inputs, outputs) {
    const [left, right] = outputs[0] ?? [];
    if (left === undefined || right === undefined) return true;
    const now = scope.currentFrame;
    if (this.#nextFrame >= 0) this.#skippedFrames += now - this.#nextFrame;
    this.#nextFrame = now + left.length;
    for (let next = this.#script[0]; next && next.at <= now; next = this.#script[0]) {
      this.#receive(next.message);
      this.#script.shift();
    }
    this.#playout.render([left, right], now);
    this.#measure(left, right);
    this.#copyToTap(left, right, now);
    this.#post(now + left.length);
    return true;
  }

  /** @param {ToPlayer} message */
  #receive(message) {
    const playout = this.#playout;
    switch (message.type) {
      case "open":
        playout.open(message);
        break;
      case "data":
        if (!playout.write(message.stream, message.samples, message.live)) {
          this.port.postMessage({ type: "overflow", stream: message.stream });
        }
        break;
      case "finish":
        playout.finish(message.stream, message.frames);
        break;
      case "pause":
        playout.pause(message.stream);
        break;
      case "resume":
        playout.resume(message.stream);
        break;
      case "stop":
        playout.stop(message.stream);
        break;
      case "tap":
        this.#flushTap();
        this.#tap = message.on ? emptyTap() : undefined;
        break;
    }
  }

  /**
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  #measure(left, right) {
    for (const [channel, samples] of [left, right].entries()) {
      let peak = this.#peak[channel] ?? 0;
      let sum = 0;
      for (let i = 0; i < samples.length; i++) {
        const sample = samples[i] ?? 0;
        peak = Math.max(peak, Math.abs(sample));
        sum += sample * sample;
      }
      this.#peak[channel] = peak;
      this.#squares[channel] = (this.#squares[channel] ?? 0) + sum;
    }
    this.#measured += left.length;
  }

  /** @param {number} now */
  #post(now) {
    const playout = this.#playout;
    const events = playout.takeEvents();
    // The audio thread has no clock of the page; the wall clock is what both can read.
    for (const event of events) this.port.postMessage({ ...event, wallMs: Date.now() });
    const isMoving = playout.state !== "idle" && playout.state !== "paused";
    if (!isMoving) this.#clearMeasures();
    if (now < this.#nextReport || (!isMoving && events.length === 0)) return;
    this.#nextReport = now + scope.sampleRate / REPORTS_PER_SECOND;
    const measured = Math.max(1, this.#measured);
    this.port.postMessage({
      type: "report",
      stream: playout.stream,
      state: playout.state,
      at: now,
      position: playout.position,
      end: playout.end,
      cushionSeconds: playout.cushionSeconds,
      arrivalRate: playout.arrivalRate,
      skippedFrames: this.#skippedFrames,
      peak: this.#peak,
      rms: this.#squares.map((sum) => Math.sqrt(sum / measured)),
    });
    this.#clearMeasures();
  }

  #clearMeasures() {
    this.#peak = [0, 0];
    this.#squares = [0, 0];
    this.#measured = 0;
  }

  /**
   * @param {Float32Array} left
   * @param {Float32Array} right
   * @param {number} now
   */
  #copyToTap(left, right, now) {
    if (this.#tap === undefined) return;
    // A block has no holes, also where the audio thread was late.
    if (this.#tap.filled > 0 && now !== this.#tap.at + this.#tap.filled) {
      this.#flushTap();
      this.#tap = emptyTap();
    }
    if (this.#tap.filled === 0) this.#tap.at = now;
    this.#tap.planes[0].set(left, this.#tap.filled);
    this.#tap.planes[1].set(right, this.#tap.filled);
    this.#tap.filled += left.length;
    if (this.#tap.filled + left.length <= TAP_FRAMES) return;
    this.#flushTap();
    this.#tap = emptyTap();
  }

  #flushTap() {
    if (this.#tap === undefined || this.#tap.filled === 0) return;
    const { at, planes, filled } = this.#tap;
    const [left, right] = planes.map((plane) => plane.slice(0, filled));
    this.port.postMessage({ type: "tap", at, left, right });
  }
}

/** @returns {{ at: number, planes: [Float32Array, Float32Array], filled: number }} */
function emptyTap() {
  return {
    at: 0,
    planes: [new Float32Array(TAP_FRAMES), new Float32Array(TAP_FRAMES)],
    filled: 0,
  };
}

scope.registerProcessor("sonant-player", Player);
