/**
 * From the engine's audio of one unit to what the listener asked for: silence in front, channels, speed, sample rate.
 * Every unit begins and ends for itself. So its samples do not depend on how many units there are, on chunks, or
 * on the door, and a unit is complete when its last frame is.
 */
import { createConverter, type PcmStage } from "../audio/convert.ts";
import { concatBytes, concatSamples } from "../audio/pcm.ts";
import { createTimeStretch } from "../audio/speed.ts";
import type { AudioChunk } from "../engine/types.ts";
import type { AudioFormat } from "../models/types.ts";
import type { AudioReady, SpeechSettings } from "./types.ts";

export type OutputShape = Pick<SpeechSettings, "speed" | "sampleRate" | "channels">;

/** What the engine is asked to make: one channel out of two is mixed there, where it costs least. */
export function madeFor(native: AudioFormat, { channels }: OutputShape) {
  return { ...native, channels: Math.min(native.channels, channels) as 1 | 2 };
}

/** Whether samples are given on as they are made, but for silence in front. */
export function leavesSamples(made: ReturnType<typeof madeFor>, target: OutputShape): boolean {
  return (
    target.speed === 1 && target.sampleRate === made.sampleRate && target.channels === made.channels
  );
}

/** Chunks as one; integers only where each of them has some. */
export function joined(chunks: readonly AudioChunk[]): Pick<AudioReady, "pcm" | "pcm16"> {
  const pcm = concatSamples(chunks.map((chunk) => chunk.pcm));
  const integers = chunks.flatMap((chunk) => chunk.pcm16 ?? []);
  return { pcm, pcm16: integers.length === chunks.length ? concatBytes(integers) : undefined };
}

export class UnitAudio implements PcmStage {
  readonly #stages: readonly PcmStage[];
  #silence: Float32Array | undefined;
  /** Silence that is of its length whatever the speed and the rate. */
  #exactSilence: Float32Array | undefined;

  /**
   * @param source as `madeFor` says
   * @param pauseMs pause in front, which is part of the speech: faster speech has shorter ones
   * @param silenceMs silence in front, to the sample
   * @throws AudioError `unsupported_output` for a speed or rate that cannot be made
   */
  constructor(
    source: ReturnType<typeof madeFor>,
    target: OutputShape,
    pauseMs: number,
    silenceMs = 0,
  ) {
    const { sampleRate, channels } = source;
    this.#stages = [
      createTimeStretch(target.speed, sampleRate, channels),
      createConverter({ sampleRate, channels }, target),
    ];
    const samples = Math.round((pauseMs / 1000) * sampleRate) * channels;
    if (samples > 0) this.#silence = new Float32Array(samples);
    const exact = Math.round((silenceMs / 1000) * target.sampleRate) * target.channels;
    if (exact > 0) this.#exactSilence = new Float32Array(exact);
  }

  /** Gives `pcm` itself where nothing was changed. */
  push(pcm: Float32Array): Float32Array {
    const whole = this.#silence === undefined ? pcm : concatSamples([this.#silence, pcm]);
    this.#silence = undefined;
    return this.#behindSilence(this.#stages.reduce((samples, stage) => stage.push(samples), whole));
  }

  #behindSilence(pcm: Float32Array): Float32Array {
    if (this.#exactSilence === undefined) return pcm;
    const whole = concatSamples([this.#exactSilence, pcm]);
    this.#exactSilence = undefined;
    return whole;
  }

  end(): Float32Array {
    let tail: Float32Array = new Float32Array(0);
    for (const stage of this.#stages) {
      const last = tail.length > 0 ? stage.push(tail) : tail;
      tail = concatSamples([last, stage.end()]);
    }
    return tail;
  }
}
