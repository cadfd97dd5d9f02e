/**
 * The sound of one take, as it was received: grows while chunks arrive, and is read for playing, drawing and saving. Never
 * changes a sample and never plays.
 */

/** What arrived together. `tag` is whatever the page wants to find again, a segment's index for example. */
export interface TakeChunk<Tag = unknown> {
  /** Frame at which it starts. */
  readonly start: number;
  readonly frames: number;
  /** On the clock of `performance.now()`. */
  readonly arrivedMs: number;
  readonly tag: Tag | undefined;
}

export interface TakeShape {
  /** Frames a second. */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  /** How samples are kept: as they came from the server, or as a decoder or microphone made them. */
  readonly format?: "int16" | "float32";
}

export type Samples = Int16Array | Float32Array;

const BLOCK_FRAMES = 2 ** 16;

export class TakeAudio<Tag = unknown> {
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  readonly format: "int16" | "float32";
  readonly #blocks: Samples[] = [];
  readonly #chunks: TakeChunk<Tag>[] = [];
  readonly #listeners = new Set<() => void>();
  /** Bytes of a frame that was cut between two pieces. */
  #rest = new Uint8Array(0);
  #frames = 0;
  #finished = false;

  constructor({ sampleRate, channels, format = "int16" }: TakeShape) {
    this.sampleRate = sampleRate;
    this.channels = channels;
    this.format = format;
  }

  /** A finished take of samples that are all there, interleaved. */
  static of(samples: Samples, sampleRate: number, channels: 1 | 2): TakeAudio {
    const format = samples instanceof Int16Array ? "int16" : "float32";
    const audio = new TakeAudio({ sampleRate, channels, format });
    audio.push(samples);
    audio.finish();
    return audio;
  }

  get frames(): number {
    return this.#frames;
  }

  get seconds(): number {
    return this.#frames / this.sampleRate;
  }

  /** Whether no more will come. */
  get finished(): boolean {
    return this.#finished;
  }

  get chunks(): readonly TakeChunk<Tag>[] {
    return this.#chunks;
  }

  /**
   * Appends what arrived: bytes of interleaved little-endian 16-bit PCM, cut anywhere, or whole frames of samples in the
   * take's format. What comes after `finish` is ignored.
   * @returns frames that this completed
   */
  push(piece: Uint8Array | Samples, tag?: Tag): number {
    if (this.#finished) return 0;
    const samples = piece instanceof Uint8Array ? this.#samplesOf(piece) : piece;
    if (samples instanceof Int16Array !== (this.format === "int16")) {
      throw new TypeError(`This take holds ${this.format} samples, and was given others.`);
    }
    const start = this.#frames;
    const frames = Math.floor(samples.length / this.channels);
    this.#append(samples.subarray(0, frames * this.channels));
    if (frames > 0) {
      this.#chunks.push({ start, frames, arrivedMs: performance.now(), tag });
      this.#changed();
    }
    return frames;
  }

  /** No more will come. Bytes of an incomplete frame are dropped. */
  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#changed();
  }

  /** Up to `frames` frames from `start` on, as a copy, interleaved. */
  read(start: number, frames: number): Samples {
    const from = Math.max(0, Math.min(start, this.#frames));
    const end = Math.max(from, Math.min(start + frames, this.#frames));
    const copy = this.#make((end - from) * this.channels);
    for (let at = from; at < end; ) {
      const block = this.#blocks[Math.floor(at / BLOCK_FRAMES)];
      const inBlock = at % BLOCK_FRAMES;
      const count = Math.min(end - at, BLOCK_FRAMES - inBlock);
      const part = block?.subarray(inBlock * this.channels, (inBlock + count) * this.channels);
      copy.set(part ?? [], (at - from) * this.channels);
      at += count;
    }
    return copy;
  }

  /** Largest sample from frame `start` to `end`, 0 to 1, judged by up to `looks` frames. Copies nothing, for drawing. */
  peakBetween(start: number, end: number, looks = 32): number {
    const from = Math.max(0, Math.floor(start));
    const to = Math.min(this.#frames, Math.floor(end));
    const step = Math.max(1, Math.ceil((to - from) / looks));
    let peak = 0;
    for (let frame = from; frame < to; frame += step) {
      const block = this.#blocks[Math.floor(frame / BLOCK_FRAMES)];
      const place = (frame % BLOCK_FRAMES) * this.channels;
      for (let channel = 0; channel < this.channels; channel++) {
        peak = Math.max(peak, Math.abs(block?.[place + channel] ?? 0));
      }
    }
    return this.format === "int16" ? peak / 32_768 : peak;
  }

  /** The chunk that holds a frame. */
  chunkAt(frame: number): TakeChunk<Tag> | undefined {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const chunk = this.#chunks[middle];
      if (chunk === undefined) return undefined;
      if (frame < chunk.start) high = middle - 1;
      else if (frame >= chunk.start + chunk.frames) low = middle + 1;
      else return chunk;
    }
    return undefined;
  }

  /** Calls `listener` when sound was added or the take was finished, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #make(length: number): Samples {
    return this.format === "int16" ? new Int16Array(length) : new Float32Array(length);
  }

  #append(samples: Samples): void {
    for (let at = 0; at < samples.length; ) {
      const inBlock = this.#frames % BLOCK_FRAMES;
      if (inBlock === 0) this.#blocks.push(this.#make(BLOCK_FRAMES * this.channels));
      const count = Math.min(samples.length - at, (BLOCK_FRAMES - inBlock) * this.channels);
      this.#blocks.at(-1)?.set(samples.subarray(at, at + count), inBlock * this.channels);
      this.#frames += count / this.channels;
      at += count;
    }
  }

  #samplesOf(piece: Uint8Array): Int16Array {
    const bytes = new Uint8Array(this.#rest.length + piece.length);
    bytes.set(this.#rest);
    bytes.set(piece, this.#rest.length);
    const whole = bytes.length - (bytes.length % (2 * this.channels));
    this.#rest = bytes.slice(whole);
    const view = new DataView(bytes.buffer);
    const samples = new Int16Array(whole / 2);
    for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true);
    return samples;
  }
}
