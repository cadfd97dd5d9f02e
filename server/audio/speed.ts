/**
 * Faster or slower speech at the same pitch, while streaming: waveform-similarity overlap-add. The input is cut into
 * overlapping grains; each grain is taken near its place in time where it best continues the one before, and crossfaded
 * into it. The result does not depend on how the input is chunked.
 */
import type { PcmStage } from "./convert.ts";
import { AudioError } from "./error.ts";
import { concatSamples } from "./pcm.ts";

export const MIN_SPEED = 0.25;
export const MAX_SPEED = 4;

/** Length of one crossfade; a grain is two of them. */
const HOP_SECONDS = 0.015;
/** How far a grain may move to fit: more than one period of a deep voice in total. */
const SEARCH_SECONDS = 0.01;
/** Step of the first, coarse search, in samples. */
const COARSE = 4;

/**
 * Creates the stage for one stream of interleaved audio. Its whole output has trunc(frames / speed) frames; speed 1
 * returns every chunk as it came.
 * @throws AudioError `unsupported_output` outside of 0.25 to 4.
 */
export function createTimeStretch(speed: number, sampleRate: number, channels: number): PcmStage {
  if (!(speed >= MIN_SPEED && speed <= MAX_SPEED)) {
    throw new AudioError(
      "unsupported_output",
      `A speed of ${speed} is not supported; allowed are ${MIN_SPEED} to ${MAX_SPEED}.`,
    );
  }
  if (speed === 1) return { push: (pcm) => pcm, end: () => new Float32Array(0) };
  return new TimeStretch(speed, sampleRate, channels);
}

class TimeStretch implements PcmStage {
  readonly #speed: number;
  readonly #channels: number;
  readonly #hop: number;
  readonly #search: number;
  /** [hop], rising from 0 to 1 */
  readonly #fade: Float32Array;
  /** Interleaved input from frame `#start` on. */
  #input: Float32Array = new Float32Array(0);
  /** The same input as the sum of its channels, for the search. */
  #mix: Float32Array = new Float32Array(0);
  #start = 0;
  #framesIn = 0;
  #framesOut = 0;
  #grains = 0;
  /** Input frame that would continue the last grain. */
  #next = 0;

  constructor(speed: number, sampleRate: number, channels: number) {
    this.#speed = speed;
    this.#channels = channels;
    this.#hop = Math.round(sampleRate * HOP_SECONDS);
    this.#search = Math.round(sampleRate * SEARCH_SECONDS);
    this.#fade = Float32Array.from(
      { length: this.#hop },
      (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * (i + 0.5)) / this.#hop),
    );
  }

  push(pcm: Float32Array): Float32Array {
    this.#framesIn += pcm.length / this.#channels;
    return this.#run(pcm, Number.POSITIVE_INFINITY);
  }

  end(): Float32Array {
    const padding = 2 * this.#search + Math.ceil((3 + this.#speed) * this.#hop);
    return this.#run(new Float32Array(padding * this.#channels), this.#total());
  }

  #total(): number {
    return Math.trunc(this.#framesIn / this.#speed);
  }

  /**
   * Adds input and makes every grain that it allows, up to `limit` frames of output in all. A grain waits for all the
   * input that it stands for, so that a stream which ends here has not given too much.
   */
  #run(pcm: Float32Array, limit: number): Float32Array {
    this.#append(pcm);
    const available = this.#start + this.#mix.length;
    const out: Float32Array[] = [];
    while (this.#framesOut < limit) {
      const target = Math.round(this.#grains * this.#hop * this.#speed);
      const reach = Math.max(target + this.#search, this.#next) + 2 * this.#hop;
      const covered = (this.#grains + 1) * this.#hop * this.#speed;
      if (Math.max(reach, covered) > available) break;
      const at = this.#grains === 0 ? 0 : this.#bestStart(target);
      const grain = this.#crossfade(this.#next, at);
      out.push(grain.subarray(0, Math.min(this.#hop, limit - this.#framesOut) * this.#channels));
      this.#framesOut += this.#hop;
      this.#next = at + this.#hop;
      this.#grains++;
    }
    this.#discard();
    return concatSamples(out.length > 0 ? out : [new Float32Array(0)]);
  }

  #append(pcm: Float32Array): void {
    const mix = new Float32Array(pcm.length / this.#channels);
    for (let i = 0; i < pcm.length; i++) {
      const frame = Math.floor(i / this.#channels);
      mix[frame] = (mix[frame] ?? 0) + (pcm[i] ?? 0);
    }
    this.#input = concatSamples([this.#input, pcm]);
    this.#mix = concatSamples([this.#mix, mix]);
  }

  /** Drops input that no later grain can reach. */
  #discard(): void {
    const target = Math.round(this.#grains * this.#hop * this.#speed) - this.#search;
    const used = Math.min(target, this.#next) - this.#start;
    if (used <= 0) return;
    this.#input = this.#input.slice(used * this.#channels);
    this.#mix = this.#mix.slice(used);
    this.#start += used;
  }

  /** The frame near `target` whose following hop is most like the continuation of the last grain. */
  #bestStart(target: number): number {
    const first = Math.max(0, target - this.#search);
    const coarse = this.#searchRange(first, target + this.#search, COARSE);
    return this.#searchRange(
      Math.max(first, coarse - COARSE + 1),
      Math.min(target + this.#search, coarse + COARSE - 1),
      1,
    );
  }

  #searchRange(first: number, last: number, step: number): number {
    let best = first;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (let at = first; at <= last; at += step) {
      const score = this.#similarity(at - this.#start, this.#next - this.#start, step);
      if (score > bestScore) {
        best = at;
        bestScore = score;
      }
    }
    return best;
  }

  /** Correlation of two hops divided by the level of the candidate, over every `step`-th sample. */
  #similarity(candidate: number, wanted: number, step: number): number {
    const mix = this.#mix;
    let product = 0;
    let energy = 1e-9;
    for (let i = 0; i < this.#hop; i += step) {
      const sample = mix[candidate + i] ?? 0;
      product += sample * (mix[wanted + i] ?? 0);
      energy += sample * sample;
    }
    return product / Math.sqrt(energy);
  }

  /** One hop that leads from the audio at frame `from` to the audio at frame `to`. */
  #crossfade(from: number, to: number): Float32Array {
    const channels = this.#channels;
    const out = new Float32Array(this.#hop * channels);
    const [a, b] = [(from - this.#start) * channels, (to - this.#start) * channels];
    for (let i = 0; i < out.length; i++) {
      const fade = this.#fade[Math.floor(i / channels)] ?? 0;
      const old = this.#input[a + i] ?? 0;
      out[i] = old + ((this.#input[b + i] ?? 0) - old) * fade;
    }
    return out;
  }
}
