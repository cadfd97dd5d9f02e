/**
 * Plays takes, one at a time, through the one output of the page: live ones while they arrive, finished ones again. A new
 * take replaces the one before; what still arrives for that one is kept by its TakeAudio and never heard.
 */
import { AudioOutput, type OutputError, type OutputState } from "./audio-output.ts";
import { Emitter } from "./events.ts";
import { Playback, type PlaybackHost, type PlayOptions } from "./playback.ts";
import type { FromWorklet, TapBlock } from "./player-messages.ts";
import type { TakeAudio } from "./take-audio.ts";

export interface PlayerEvents {
  output: OutputState;
  error: OutputError;
  /** Output devices came or went. */
  devices: undefined;
  /** Another playback is the current one, or none is. */
  current: Playback | undefined;
}

/** What a page shows about its own machine, so that a bad figure is not blamed on the server. */
export interface OutputHealth {
  readonly state: OutputState;
  /** Rate of the context in Hz; 0 before the first use. */
  readonly contextRate: number;
  /** From the worklet to the ear, as the browser estimates it. */
  readonly outputLatencyMs: number;
  /** Sound that the audio thread came too late for, since the context started. */
  readonly skippedMs: number;
  /** Whether the current stream is resampled by the worklet. */
  readonly isResampled: boolean;
}

const DEFAULT_RATE = 48_000;
const WORKLET_URL = "/worklets/player.js";

export class StreamPlayer extends Emitter<PlayerEvents> {
  readonly #output: AudioOutput;
  readonly #host: PlaybackHost;
  #current: Playback | undefined;
  #streams = 0;
  #skippedFrames = 0;
  #isTapped = false;
  #onTap: ((block: TapBlock) => void) | undefined;

  constructor(workletUrl = WORKLET_URL) {
    super();
    const output = new AudioOutput(workletUrl);
    this.#output = output;
    this.#host = {
      output,
      nextStream: () => ++this.#streams,
      activate: (playback) => this.#activate(playback),
    };
    output.on("message", (message) => this.#receive(message));
    output.on("error", (error) => this.emit("error", error));
    output.on("devices", () => this.emit("devices", undefined));
    output.on("lost", ({ audibleFrame }) => {
      if (this.#isTapped) output.post({ type: "tap", on: true });
      this.#current?.outputLost(audibleFrame);
    });
    output.on("state", (state) => {
      this.emit("output", state);
      this.#current?.outputChanged();
    });
  }

  /** The playback that is heard, or was last. */
  get current(): Playback | undefined {
    return this.#current;
  }

  get outputState(): OutputState {
    return this.#output.state;
  }

  /** From 0 to 1, in amplitude. */
  get volume(): number {
    return this.#output.volume;
  }

  set volume(volume: number) {
    this.#output.volume = volume;
  }

  /**
   * Loads the worklet ahead of the first play, so that the first click does not pay for it.
   * @throws OutputError
   */
  prepare(sampleRate = DEFAULT_RATE): Promise<void> {
    return this.#output.prepare(sampleRate);
  }

  /** Call first thing inside a click, tap or key press, before anything is awaited. */
  unlock(sampleRate = DEFAULT_RATE): void {
    this.#output.unlock(sampleRate);
  }

  /** Plays a take from the start, or from `options.from`, in place of whatever is playing. */
  play(audio: TakeAudio, options: PlayOptions = {}): Playback {
    const playback = new Playback(audio, this.#host, options);
    playback.start();
    return playback;
  }

  health(): OutputHealth {
    const { context, state } = this.#output;
    const contextRate = context?.sampleRate ?? 0;
    const streamRate = this.#current?.audio.sampleRate ?? contextRate;
    return {
      state,
      contextRate,
      outputLatencyMs: 1000 * (context?.outputLatency || context?.baseLatency || 0),
      skippedMs: contextRate > 0 ? (1000 * this.#skippedFrames) / contextRate : 0,
      isResampled: streamRate !== contextRate,
    };
  }

  /**
   * Hands copies of everything that leaves the worklet to `listener`, in blocks of about 80 ms; asking again brings the
   * block that is under way at once, and without a listener it ends.
   */
  tap(listener?: (block: TapBlock) => void): void {
    if (listener !== undefined) this.#onTap = listener;
    this.#isTapped = listener !== undefined;
    this.#output.post({ type: "tap", on: this.#isTapped });
  }

  /** Suspends the output, which frees the device; the next play wakes it. */
  rest(): Promise<void> {
    return this.#output.rest();
  }

  /** Ends everything. The player may be used again. */
  async close(): Promise<void> {
    this.#current?.stop();
    this.#activate(undefined);
    await this.#output.close();
  }

  #activate(playback: Playback | undefined): void {
    if (playback === this.#current) return;
    const before = this.#current;
    this.#current = playback;
    before?.replaced();
    this.emit("current", playback);
  }

  #receive(message: FromWorklet): void {
    if (message.type === "tap") {
      this.#onTap?.(message);
      return;
    }
    if (message.type === "report") this.#skippedFrames = message.skippedFrames;
    if (message.stream === this.#current?.stream) this.#current.receive(message);
  }
}

let shared: StreamPlayer | undefined;

/** The page's player. It lives as long as the page, whatever is mounted and unmounted meanwhile. */
export function sharedPlayer(): StreamPlayer {
  shared ??= new StreamPlayer();
  return shared;
}
