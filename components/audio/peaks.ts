/** What a waveform is drawn from: lowest and highest sample of every bucket, kept up while sound arrives. Pure. */
import type { Samples } from "./take-audio.ts";

const FULL_SCALE = 32_768;

/** Samples from -1 to 1. */
export interface Bucket {
  readonly min: number;
  readonly max: number;
}

/** Peaks of a growing stream, over all channels. */
export class Peaks {
  readonly bucketFrames: number;
  readonly #channels: number;
  #min = new Float32Array(256);
  #max = new Float32Array(256);
  #frames = 0;

  /** @param bucketFrames frames in a bucket, the finest that can be drawn */
  constructor(bucketFrames: number, channels: number) {
    this.bucketFrames = bucketFrames;
    this.#channels = channels;
  }

  get frames(): number {
    return this.#frames;
  }

  /** Buckets that hold anything, the last one perhaps partly. */
  get length(): number {
    return Math.ceil(this.#frames / this.bucketFrames);
  }

  /** Whole frames that follow the ones before, interleaved. */
  add(samples: Samples): void {
    const scale = samples instanceof Int16Array ? 1 / FULL_SCALE : 1;
    const frames = Math.floor(samples.length / this.#channels);
    this.#makeRoom(Math.ceil((this.#frames + frames) / this.bucketFrames));
    for (let i = 0; i < frames; i++) {
      const frame = this.#frames + i;
      const bucket = Math.floor(frame / this.bucketFrames);
      const isNew = frame % this.bucketFrames === 0;
      let min = isNew ? Number.POSITIVE_INFINITY : (this.#min[bucket] ?? 0);
      let max = isNew ? Number.NEGATIVE_INFINITY : (this.#max[bucket] ?? 0);
      for (let channel = 0; channel < this.#channels; channel++) {
        const sample = (samples[i * this.#channels + channel] ?? 0) * scale;
        if (sample < min) min = sample;
        if (sample > max) max = sample;
      }
      this.#min[bucket] = min;
      this.#max[bucket] = max;
    }
    this.#frames += frames;
  }

  /** The peaks of the frames from `start` to `end`, widened to whole buckets; flat where there are none. */
  between(start: number, end: number): Bucket {
    const first = Math.max(0, Math.floor(start / this.bucketFrames));
    const last = Math.min(this.length, Math.ceil(end / this.bucketFrames));
    if (first >= last) return { min: 0, max: 0 };
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    for (let i = first; i < last; i++) {
      min = Math.min(min, this.#min[i] ?? 0);
      max = Math.max(max, this.#max[i] ?? 0);
    }
    return { min, max };
  }

  #makeRoom(buckets: number): void {
    if (buckets <= this.#min.length) return;
    const length = Math.max(buckets, this.#min.length * 2);
    const [min, max] = [new Float32Array(length), new Float32Array(length)];
    min.set(this.#min);
    max.set(this.#max);
    this.#min = min;
    this.#max = max;
  }
}

/** A range of frames, end not included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface SilenceOptions {
  /** Peaks up to this level are silence, in dBFS. */
  readonly thresholdDb?: number;
  /** Shortest silence that counts, in frames. */
  readonly minFrames: number;
}

/** Where nothing is heard, to the accuracy of a bucket. */
export function silenceSpans(
  peaks: Peaks,
  { thresholdDb = -50, minFrames }: SilenceOptions,
): Span[] {
  const threshold = 10 ** (thresholdDb / 20);
  const spans: Span[] = [];
  let start = -1;
  for (let i = 0; i <= peaks.length; i++) {
    const from = i * peaks.bucketFrames;
    const { min, max } = peaks.between(from, from + 1);
    const isSilent = i < peaks.length && Math.max(-min, max) <= threshold;
    if (isSilent && start < 0) start = from;
    if (isSilent || start < 0) continue;
    const end = Math.min(from, peaks.frames);
    if (end - start >= minFrames) spans.push({ start, end });
    start = -1;
  }
  return spans;
}
