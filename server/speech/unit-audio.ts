/**
 * From the engine's audio of one unit to what the listener asked for: silence in front, channels, speed, sample rate.
 * Every unit begins and ends for itself. So its samples do not depend on how many units there are, on chunks, or
 * on the door, and a unit is complete when its last frame is.
 */
import { createConverter, type PcmStage } from "../audio/convert.ts";
import { concatSamples, type Samples } from "../audio/pcm.ts";
import { createTimeStretch } from "../audio/speed.ts";
import type { AudioFormat } from "../models/types.ts";
import type { SpeechSettings } from "./types.ts";

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

export class UnitAudio {
  readonly #stages: readonly PcmStage[];
  /** Samples of silence that are still to come in front, as the engine counts them. */
  #pause: number;
  /** Samples of silence that is of its length whatever the speed and the rate. */
  #silence: number;

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
    this.#pause = Math.round((pauseMs / 1000) * sampleRate) * channels;
    this.#silence = Math.round((silenceMs / 1000) * target.sampleRate) * target.channels;
  }

  /** Gives `pcm` itself where nothing was changed. Integers only where `leavesSamples`: no stage has anything to do then. */
  push(pcm: Samples): Samples {
    const [pause, silence] = [this.#pause, this.#silence];
    [this.#pause, this.#silence] = [0, 0];
    if (pcm instanceof Int16Array) return behindSilence(pause + silence, pcm);
    const whole = behindSilence(pause, pcm);
    return behindSilence(
      silence,
      this.#stages.reduce((samples, stage) => stage.push(samples), whole),
    );
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

function behindSilence<T extends Samples>(samples: number, pcm: T): T {
  if (samples === 0) return pcm;
  const whole = pcm instanceof Int16Array ? new Int16Array(samples) : new Float32Array(samples);
  return concatSamples([whole, pcm]) as T;
}
