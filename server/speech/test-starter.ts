/** The starter model for tests: loaded once a file, spoken to through everything there is. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { Engine } from "../engine/engine.ts";
import type { LoadOptions } from "../engine/types.ts";
import { loadModel } from "../models/registry.ts";
import type { Model } from "../models/types.ts";
import {
  type SpokenChunk,
  type Synthesis,
  type SynthesisOptions,
  synthesise,
} from "./synthesise.ts";

const FOLDER = join(import.meta.dirname, "../../native/models/starter");

/** One sentence of the robustness cases; they repeat it for long texts. */
export const FERRY =
  "The ferry timetable changes on the first weekend of every month, so please check the board before you leave. ";

export interface Spoken {
  readonly speech: Synthesis;
  readonly pcm: Float32Array;
  /** Digest of the samples: equal for equal audio, and quicker to compare. */
  readonly digest: string;
  /** All frames' codes, if they were asked for. */
  readonly codes: readonly number[];
  /** Generated frames; pauses have none. */
  readonly frames: number;
  /** Lengths of the pauses between segments, in samples of one channel. */
  readonly pauses: readonly number[];
  readonly seconds: number;
}

export class Starter {
  private constructor(
    readonly engine: Engine,
    readonly model: Model,
  ) {}

  /**
   * The processor, on machines with a GPU too, since what is expected was measured there. One thread: the suite may share
   * the machine, and threads that wait for each other suffer most.
   */
  static async load(options: Partial<LoadOptions> = {}): Promise<Starter> {
    const engine = await Engine.load({
      lmFolder: join(FOLDER, "lm"),
      codecFolder: join(FOLDER, "codec"),
      device: "cpu",
      threads: 1,
      ...options,
      limits: { maxSequences: 16, ...options.limits },
    });
    return new Starter(engine, await loadModel(FOLDER));
  }

  /** Speech that has not begun. */
  start(options: SynthesisOptions): Synthesis {
    return synthesise(this.engine, this.model, options);
  }

  /** Speaks to the end and keeps everything. `onChunk` hears how many frames there are after each chunk. */
  async speak(options: SynthesisOptions, onChunk?: (frames: number) => void): Promise<Spoken> {
    const speech = this.start(options);
    const chunks: SpokenChunk[] = [];
    let frames = 0;
    for await (const chunk of speech) {
      chunks.push(chunk);
      frames += chunk.frames;
      onChunk?.(frames);
    }
    const pcm = new Float32Array(chunks.reduce((n, chunk) => n + chunk.pcm.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      pcm.set(chunk.pcm, at);
      at += chunk.pcm.length;
    }
    const { channels, sampleRate } = this.model.audio;
    return {
      speech,
      pcm,
      digest: digestOf(pcm),
      codes: chunks.flatMap(({ codes }) => [...(codes ?? [])]),
      frames,
      pauses: chunks
        .filter(({ frames }) => frames === 0)
        .map((pause) => pause.pcm.length / channels),
      seconds: pcm.length / channels / sampleRate,
    };
  }

  /** Resolves when the engine holds no request any more. */
  async idle(): Promise<void> {
    while (this.engine.stats().live + this.engine.stats().waiting > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}

function digestOf(pcm: Float32Array): string {
  const bytes = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  return createHash("sha256").update(bytes).digest("hex");
}

/** Root mean square, in dB below full scale. */
export function levelDb(pcm: Float32Array): number {
  return 10 * Math.log10(pcm.reduce((sum, sample) => sum + sample ** 2, 0) / pcm.length);
}

/** Numbers from 0 to 1 that look random and are the same in every run (mulberry32). */
export function randomly(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
