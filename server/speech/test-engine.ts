/**
 * An engine without a model, for tests: a deterministic tone for each prompt, seed and segment, one frame a turn of the
 * event loop, paused by slow readers like the real one, and faults on demand. Everything that it was asked is kept.
 */
import { setImmediate as turn } from "node:timers/promises";
import { convertChannels } from "../audio/convert.ts";
import { toIntegers } from "../audio/pcm.ts";
import { NO_STATS } from "../engine/delivery.ts";
import { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/errors.ts";
import type { EventListener, NativeEngine } from "../engine/native.ts";
import type { EngineInfo, EngineStats, GenerateOptions } from "../engine/types.ts";

export const TONE_FORMAT = {
  sampleRate: 8000,
  channels: 2,
  frameSamples: 640,
  nCodebooks: 4,
  codebookSize: 64,
} as const;

/** What happens to a generation: how long it is, and where it fails. */
export interface Fate {
  readonly frames?: number;
  /** Fails in front of this frame. */
  readonly failAt?: number;
  readonly failure?: EngineError;
  /** Resolves when the frame may be made. */
  readonly before?: (frame: number) => Promise<unknown>;
}

interface Generation {
  readonly options: GenerateOptions;
  consumed: number;
  made: number;
  isCancelled: boolean;
  /** Ends the wait for the next frame. */
  wake(): void;
}

/** A failure that does not make the engine suspect, which would then be tried and replaced. */
export const passingFailure = (message: string) => new EngineError("out_of_memory", message);

const DEFAULT_BUFFER = 125;

export class ToneEngine implements NativeEngine {
  readonly generations: Generation[] = [];
  /** Decides about each generation; the index counts them. */
  fate: (index: number, options: GenerateOptions) => Fate = () => ({});
  live = 0;
  mostLive = 0;
  isClosed = false;
  /** How it makes the integers that it is asked for; a test may make them recognisable. */
  integers: (pcm: Float32Array) => Int16Array = toIntegers;
  generate(options: GenerateOptions, onEvent: EventListener): number {
    if (this.isClosed) throw new EngineError("closed", "The engine was closed.");
    const generation = { options, consumed: 0, made: 0, isCancelled: false, wake: () => {} };
    const id = this.generations.push(generation) - 1;
    const fate = this.fate(id, options);
    this.live += 1;
    this.mostLive = Math.max(this.mostLive, this.live);
    void this.#speak(generation, fate, onEvent);
    return id;
  }

  cancel(id: number): void {
    const generation = this.generations[id];
    if (generation === undefined) return;
    generation.isCancelled = true;
    generation.wake();
  }

  consumed(id: number, frames: number): void {
    const generation = this.generations[id];
    if (generation !== undefined) generation.consumed += frames;
  }

  /** Prompts of the generations, as the text they were made from. */
  get texts(): string[] {
    return this.generations.map(({ options }) => String.fromCodePoint(...options.textRows));
  }

  encode = () => -1;
  decode = () => -1;
  stats = () => ({ live: this.live, waiting: 0 }) as EngineStats;
  info = () =>
    ({
      device: "cpu",
      description: "tones",
      note: null,
      limits: { maxSequences: 6 },
      codec: TONE_FORMAT,
    }) as EngineInfo;
  async close(): Promise<void> {
    this.isClosed = true;
    for (const { wake } of this.generations) wake();
    while (this.live > 0) await turn();
  }

  async #speak(generation: Generation, fate: Fate, onEvent: EventListener): Promise<void> {
    const { options } = generation;
    const cap = options.maxFrames ?? 1000;
    const frames = Math.min(fate.frames ?? 6, cap);
    const lag = options.bufferFrames ?? DEFAULT_BUFFER;
    const isWanted = () => !generation.isCancelled && !this.isClosed;
    const stats = () => ({ ...NO_STATS, frames: generation.made, firstAudioMs: 1, frameMs: 10 });
    while (generation.made < frames && isWanted()) {
      await turn();
      if (generation.made === fate.failAt) {
        this.live -= 1;
        const { code, message } = fate.failure ?? new EngineError("engine_failed", "boom");
        onEvent({
          kind: "done",
          reason: "error",
          errorCode: code,
          errorMessage: message,
          stats: stats(),
        });
        return;
      }
      if (generation.made - generation.consumed >= lag) continue;
      if (fate.before) {
        const woken = new Promise<void>((resolve) => {
          generation.wake = resolve;
        });
        await Promise.race([fate.before(generation.made), woken]);
      }
      if (!isWanted()) break;
      const firstFrame = generation.made++;
      const stereo = tone(options, firstFrame);
      const pcm = options.channels === 1 ? convertChannels(stereo, 2, 1) : stereo;
      const samples = options.pcm16 === true ? { pcm16: this.integers(pcm) } : { pcm };
      onEvent({ kind: "chunk", frames: 1, firstFrame, ...samples });
    }
    this.live -= 1;
    const reason = !isWanted() ? "cancelled" : frames === cap ? "length" : "stop";
    onEvent({ kind: "done", reason, stats: stats() });
  }
}

/** One frame; its pitch follows from prompt, seed and segment, its phase from its place. */
function tone({ textRows, sampling }: GenerateOptions, frame: number): Float32Array {
  const { frameSamples, channels } = TONE_FORMAT;
  const seed = Number(BigInt(sampling?.seed ?? 0) % 97n);
  const pitch = 0.05 + ((textRows.length * 7 + seed * 3 + (sampling?.segment ?? 0)) % 50) / 200;
  return Float32Array.from({ length: frameSamples * channels }, (_, i) => {
    const at = frame * frameSamples + Math.floor(i / channels);
    return Math.sin(at * pitch) * (i % channels === 0 ? 0.5 : 0.3);
  });
}

/** The engine as the server sees it, over a new or a given fake. */
export function toneEngine(native = new ToneEngine()): Engine {
  return new Engine(native);
}
