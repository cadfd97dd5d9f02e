/**
 * Holds the stretch of a stream around the play head, addressed by the frame's number in the stream. Writing never moves
 * what is there, and old frames make room only when they lie behind the play head. Knows nothing about time or playing.
 */

/** Frames; 21.8 s at 48 kHz. A power of two, so that a frame's place is a mask away. */
export const RING_FRAMES = 2 ** 20;
/** Frames behind the play head that are kept for the resampler, at the least. */
const HISTORY_FRAMES = 1024;
const MASK = RING_FRAMES - 1;
const FULL_SCALE = 32768;

export class Ring {
  #planes = [new Float32Array(RING_FRAMES), new Float32Array(RING_FRAMES)];
  #channels = 1;
  #first = 0;
  #end = 0;

  /** One past the newest frame. */
  get end() {
    return this.#end;
  }

  get channels() {
    return this.#channels;
  }

  /**
   * Forgets everything; the next write starts at `frame`.
   * @param {number} frame
   * @param {1 | 2} channels
   */
  reset(frame, channels) {
    this.#first = frame;
    this.#end = frame;
    this.#channels = channels;
  }

  /**
   * Appends interleaved samples, as floats or as 16-bit integers, of which n becomes exactly n / 32768.
   * @param {Float32Array | Int16Array} samples
   * @param {number} playHead nothing from here on may be overwritten
   * @returns {number} frames that found room; the rest is not taken
   */
  write(samples, playHead) {
    const channels = this.#channels;
    const room = RING_FRAMES - HISTORY_FRAMES - (this.#end - playHead);
    const frames = Math.max(0, Math.min(Math.floor(samples.length / channels), room));
    const scale = samples instanceof Int16Array ? 1 / FULL_SCALE : 1;
    for (let channel = 0; channel < channels; channel++) {
      const plane = this.#planes[channel];
      if (plane === undefined) continue;
      for (let i = 0; i < frames; i++) {
        plane[(this.#end + i) & MASK] = (samples[i * channels + channel] ?? 0) * scale;
      }
    }
    this.#end += frames;
    this.#first = Math.max(this.#first, this.#end - RING_FRAMES);
    return frames;
  }

  /**
   * The sample of a frame; 0 before the stretch and after it.
   * @param {number} channel
   * @param {number} frame
   */
  sample(channel, frame) {
    if (frame < this.#first || frame >= this.#end) return 0;
    return this.#planes[channel]?.[frame & MASK] ?? 0;
  }

  /**
   * Copies `count` frames that are there, from `frame` on, to `target`.
   * @param {number} channel
   * @param {number} frame
   * @param {Float32Array} target
   * @param {number} offset
   * @param {number} count
   */
  copy(channel, frame, target, offset, count) {
    const plane = this.#planes[channel];
    if (plane === undefined) return;
    const start = frame & MASK;
    const straight = Math.min(count, RING_FRAMES - start);
    target.set(plane.subarray(start, start + straight), offset);
    if (straight < count) target.set(plane.subarray(0, count - straight), offset + straight);
  }

  /**
   * The largest absolute sample of `count` frames from `frame` on.
   * @param {number} frame
   * @param {number} count
   */
  peak(frame, count) {
    let peak = 0;
    for (let channel = 0; channel < this.#channels; channel++) {
      for (let i = 0; i < count; i++) {
        peak = Math.max(peak, Math.abs(this.sample(channel, frame + i)));
      }
    }
    return peak;
  }
}
