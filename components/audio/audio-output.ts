/**
 * Owns the one AudioContext of the page with the player's worklet in it, and knows why there is no sound when there is
 * none: not allowed yet, interrupted by the system, or broken. Never closes a context between takes.
 */
import { Emitter } from "./events.ts";
import type { FromWorklet, ToWorklet } from "./player-messages.ts";

/**
 * `none` before the first use; `starting`; `running`; `blocked` until a gesture calls `unlock`; `interrupted` by the system
 * or a device that went away, resumed as soon as possible; `resting` after `rest`; `failed`, which see `OutputError`.
 */
export type OutputState =
  | "none"
  | "starting"
  | "running"
  | "blocked"
  | "interrupted"
  | "resting"
  | "failed";

/**
 * `insecure_context`: worklets need https or localhost. `unsupported`: a browser without worklets. `worklet_failed`: the
 * worklet's files did not load or broke. `device_failed`: the output device did.
 */
export type OutputErrorCode =
  | "insecure_context"
  | "unsupported"
  | "worklet_failed"
  | "device_failed";

export class OutputError extends Error {
  constructor(
    readonly code: OutputErrorCode,
    message: string,
  ) {
    super(message);
    this.name = "OutputError";
  }
}

export interface OutputEvents {
  state: OutputState;
  error: OutputError;
  /** Output devices came or went; playback goes on. */
  devices: undefined;
  /** The browser closed the output, which had run. The next use builds a new one that knows nothing of the old. */
  lost: { readonly audibleFrame: number };
  message: FromWorklet;
}

/** A context that may start has started by then. */
const BLOCKED_AFTER_MS = 400;
const VOLUME_SECONDS = 0.01;
const PROCESSOR = "sonant-player";

export class AudioOutput extends Emitter<OutputEvents> {
  readonly #workletUrl: string;
  #context: AudioContext | undefined;
  #node: AudioWorkletNode | undefined;
  #gain: GainNode | undefined;
  #ready: Promise<void> | undefined;
  /** Messages for a worklet that is still loading. */
  #waiting: { message: ToWorklet; transfer: Transferable[] }[] = [];
  #state: OutputState = "none";
  #hasRun = false;
  #volume = 1;

  constructor(workletUrl: string) {
    super();
    this.#workletUrl = workletUrl;
  }

  get state(): OutputState {
    return this.#state;
  }

  get context(): AudioContext | undefined {
    return this.#context;
  }

  /** From 0 to 1, in amplitude. */
  get volume(): number {
    return this.#volume;
  }

  set volume(volume: number) {
    this.#volume = Math.min(1, Math.max(0, volume));
    const now = this.#context?.currentTime ?? 0;
    this.#gain?.gain.setTargetAtTime(this.#volume, now, VOLUME_SECONDS);
  }

  /**
   * Makes the context and loads the worklet, if that has not happened. Makes no sound and needs no gesture.
   * @param sampleRate Hz, for the first use; a later one finds the context as it is
   */
  prepare(sampleRate: number): Promise<void> {
    this.#ready ??= this.#build(sampleRate).catch((error: unknown) => {
      this.#fail(error);
      throw error;
    });
    return this.#ready;
  }

  /** Asks the browser to let the context run; inside a gesture it will. */
  wake(): void {
    const context = this.#context;
    if (context === undefined || context.state === "closed") return;
    if (context.state === "running") {
      this.#setState("running");
      return;
    }
    if (this.#state !== "blocked") this.#setState("starting");
    context.resume().catch(() => this.#setState("blocked"));
    setTimeout(() => {
      if (context.state !== "running" && this.#state === "starting") this.#setState("blocked");
    }, BLOCKED_AFTER_MS);
  }

  /** Call inside a click, tap or key press: from then on the page may make sound. */
  unlock(sampleRate: number): void {
    this.prepare(sampleRate).catch(() => undefined);
    const context = this.#context;
    if (context === undefined) return;
    this.wake();
    // Older Safari counts a context as unlocked only once something was started inside the gesture.
    const source = new AudioBufferSourceNode(context, {
      buffer: new AudioBuffer({ length: 1, sampleRate: context.sampleRate }),
    });
    source.connect(context.destination);
    source.start();
  }

  /** Frees the device until the next `wake`. */
  async rest(): Promise<void> {
    if (this.#context?.state !== "running") return;
    this.#setState("resting");
    await this.#context.suspend();
  }

  post(message: ToWorklet, transfer: Transferable[] = []): void {
    if (this.#node === undefined) this.#waiting.push({ message, transfer });
    else this.#node.port.postMessage(message, transfer);
  }

  /** Frame of the output that is heard now. */
  audibleFrame(): number {
    const context = this.#context;
    if (context === undefined) return 0;
    const { currentTime } = context;
    const latency = context.outputLatency || context.baseLatency || 0;
    const stamp = context.getOutputTimestamp?.();
    let time = currentTime - latency;
    if (stamp?.contextTime && stamp.performanceTime) {
      time = stamp.contextTime + (performance.now() - stamp.performanceTime) / 1000;
    }
    return Math.min(time, currentTime) * context.sampleRate;
  }

  /** When frame `frame` of the output is heard, on the clock of `performance.now()`; it left the worklet at `leftMs`. */
  audibleMs(frame: number, leftMs: number): number {
    const context = this.#context;
    if (context === undefined) return leftMs;
    const stamp = context.getOutputTimestamp?.();
    const estimate = leftMs + (context.outputLatency || context.baseLatency || 0) * 1000;
    if (!stamp?.contextTime || !stamp.performanceTime) return estimate;
    const ms = stamp.performanceTime + (frame / context.sampleRate - stamp.contextTime) * 1000;
    return ms >= leftMs && ms < leftMs + 2000 ? ms : estimate;
  }

  async close(): Promise<void> {
    const context = this.#context;
    this.#forget();
    this.#setState("none");
    if (context && context.state !== "closed") await context.close();
  }

  async #build(sampleRate: number): Promise<void> {
    if (globalThis.isSecureContext === false) {
      throw new OutputError("insecure_context", "Sound needs https, or the page on localhost.");
    }
    if (typeof AudioContext === "undefined" || typeof AudioWorkletNode === "undefined") {
      throw new OutputError("unsupported", "This browser has no audio worklets.");
    }
    this.#setState("starting");
    const context = makeContext(sampleRate);
    this.#context = context;
    context.addEventListener("statechange", () => this.#onContextState(context));
    context.addEventListener("error", () => {
      this.emit("error", new OutputError("device_failed", "The output device failed."));
    });
    navigator.mediaDevices?.addEventListener("devicechange", this.#onDevices);
    document.addEventListener("visibilitychange", this.#tryAgain);
    try {
      await context.audioWorklet.addModule(this.#workletUrl);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new OutputError("worklet_failed", `${this.#workletUrl} did not load: ${reason}`);
    }
    if (this.#context === context) this.#connect(context);
  }

  #connect(context: AudioContext): void {
    const node = new AudioWorkletNode(context, PROCESSOR, {
      numberOfInputs: 0,
      numberOfOutputs: 1,
      outputChannelCount: [2],
    });
    node.port.onmessage = ({ data }: MessageEvent<FromWorklet>) => this.emit("message", data);
    node.addEventListener("processorerror", () => {
      this.#fail(new OutputError("worklet_failed", "The player's worklet broke."));
    });
    this.#gain = new GainNode(context, { gain: this.#volume });
    node.connect(this.#gain).connect(context.destination);
    this.#node = node;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { message, transfer } of waiting) node.port.postMessage(message, transfer);
    if (context.state === "running") this.#onContextState(context);
  }

  #onContextState(context: AudioContext): void {
    if (context !== this.#context) return;
    if (context.state === "running") {
      this.#hasRun = true;
      this.#setState("running");
    } else if (context.state === "closed") {
      this.#onClosed();
    } else if (this.#hasRun && this.#state !== "resting") {
      this.#setState("interrupted");
      context.resume().catch(() => undefined);
    }
  }

  /** One that has run is replaced; one that never ran would only be closed again. */
  #onClosed(): void {
    if (!this.#hasRun) {
      this.#fail(new OutputError("device_failed", "The browser closed the audio output."));
      return;
    }
    const audibleFrame = this.audibleFrame();
    this.#forget();
    this.#setState("none");
    this.emit("lost", { audibleFrame });
  }

  readonly #onDevices = (): void => {
    this.emit("devices", undefined);
    this.#tryAgain();
  };

  readonly #tryAgain = (): void => {
    if (this.#state === "interrupted") this.#context?.resume().catch(() => undefined);
  };

  #fail(error: unknown): void {
    const known =
      error instanceof OutputError ? error : new OutputError("unsupported", String(error));
    const context = this.#context;
    this.#forget();
    this.#setState("failed");
    this.emit("error", known);
    if (context && context.state !== "closed") context.close().catch(() => undefined);
  }

  /** The next use builds everything anew. */
  #forget(): void {
    globalThis.navigator?.mediaDevices?.removeEventListener("devicechange", this.#onDevices);
    globalThis.document?.removeEventListener("visibilitychange", this.#tryAgain);
    this.#context = undefined;
    this.#node = undefined;
    this.#gain = undefined;
    this.#ready = undefined;
    this.#waiting = [];
    this.#hasRun = false;
  }

  #setState(state: OutputState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.emit("state", state);
  }
}

/** At the stream's own rate, so that nothing is resampled here; at the device's where the browser refuses that. */
function makeContext(sampleRate: number): AudioContext {
  try {
    return new AudioContext({ sampleRate, latencyHint: "interactive" });
  } catch {
    return new AudioContext({ latencyHint: "interactive" });
  }
}
