/**
 * Records the microphone as it is: no echo cancellation, noise suppression or gain control unless asked for, since all
 * three change a voice. Holds the device only between `start` and the end, whichever way that comes.
 */
import { Emitter } from "./events.ts";
import { RecorderError, toRecorderError } from "./recorder-error.ts";

export interface RecorderOptions {
  readonly channels?: 1 | 2;
  /** The recording ends by itself at this length. */
  readonly maxSeconds?: number;
  readonly deviceId?: string;
  readonly echoCancellation?: boolean;
  readonly noiseSuppression?: boolean;
  readonly autoGainControl?: boolean;
  readonly workletUrl?: string;
}

export interface Recording {
  /** Samples from -1 to 1, one plane a channel. */
  readonly planes: readonly Float32Array[];
  readonly sampleRate: number;
  readonly seconds: number;
  /** Whether a sample reached full scale. */
  readonly isClipped: boolean;
  readonly endedBy: "stop" | "max_length" | "device_lost";
}

/** Told about 23 times a second. Samples from 0 to 1, over all channels. */
export interface RecorderLevel {
  readonly peak: number;
  readonly rms: number;
  /** Whether any sample so far reached full scale. */
  readonly isClipped: boolean;
  readonly seconds: number;
  readonly remainingSeconds: number;
}

export type RecorderState = "idle" | "starting" | "recording";

export interface RecorderEvents {
  state: RecorderState;
  level: RecorderLevel;
  /** The recording is over, whether stopped or ended by itself. */
  ended: Recording;
}

const DEFAULT_MAX_SECONDS = 30;
const WORKLET_URL = "/worklets/recorder.js";
const PROCESSOR = "sonant-recorder";
const CLIP_LEVEL = 0.999;

type FromWorklet =
  | { readonly type: "block"; readonly planes: readonly Float32Array[] }
  | { readonly type: "done" };

interface Device {
  readonly stream: MediaStream;
  readonly context: AudioContext;
  readonly node: AudioWorkletNode;
}

export class Recorder extends Emitter<RecorderEvents> {
  readonly #options: RecorderOptions;
  readonly #channels: 1 | 2;
  #state: RecorderState = "idle";
  #device: Device | undefined;
  /** Counts starts, so that one that was cancelled while the person was asked is recognised. */
  #attempt = 0;
  #blocks: (readonly Float32Array[])[] = [];
  #frames = 0;
  #isClipped = false;
  #endedBy: Recording["endedBy"] = "stop";
  #onDone: (() => void) | undefined;

  constructor(options: RecorderOptions = {}) {
    super();
    this.#options = options;
    this.#channels = options.channels ?? 1;
  }

  get state(): RecorderState {
    return this.#state;
  }

  /**
   * Asks for the microphone and records. Call it in a gesture.
   * @throws RecorderError
   */
  async start(): Promise<void> {
    if (this.#state !== "idle") throw new RecorderError("already_recording");
    const attempt = ++this.#attempt;
    this.#setState("starting");
    this.#blocks = [];
    this.#frames = 0;
    this.#isClipped = false;
    this.#endedBy = "stop";
    try {
      const device = await this.#openDevice(attempt);
      if (attempt !== this.#attempt) {
        release(device);
        throw new RecorderError("cancelled");
      }
      this.#device = device;
      this.#setState("recording");
    } catch (error) {
      if (attempt === this.#attempt) this.#setState("idle");
      throw toRecorderError(error);
    }
  }

  /**
   * Ends the recording and gives the device back.
   * @throws RecorderError `not_recording`
   */
  async stop(): Promise<Recording> {
    const device = this.#device;
    if (device === undefined) throw new RecorderError("not_recording");
    this.#device = undefined;
    const isDone = new Promise<void>((resolve) => {
      this.#onDone = resolve;
    });
    device.node.port.postMessage("stop");
    // A context that the system suspended would never answer.
    if (device.context.state === "running") await isDone;
    release(device);
    const recording = this.#recording(device.context.sampleRate);
    this.#setState("idle");
    this.emit("ended", recording);
    return recording;
  }

  /** Throws the recording away and gives the device back. */
  cancel(): void {
    this.#attempt++;
    if (this.#device) release(this.#device);
    this.#device = undefined;
    this.#blocks = [];
    this.#setState("idle");
  }

  async #openDevice(attempt: number): Promise<Device> {
    if (globalThis.isSecureContext === false) throw new RecorderError("insecure_context");
    if (!navigator.mediaDevices?.getUserMedia || typeof AudioWorkletNode === "undefined") {
      throw new RecorderError("unsupported");
    }
    const { deviceId, echoCancellation, noiseSuppression, autoGainControl } = this.#options;
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: {
        channelCount: this.#channels,
        echoCancellation: echoCancellation ?? false,
        noiseSuppression: noiseSuppression ?? false,
        autoGainControl: autoGainControl ?? false,
        ...(deviceId === undefined ? {} : { deviceId: { exact: deviceId } }),
      },
    });
    let context: AudioContext | undefined;
    try {
      context = new AudioContext({ latencyHint: "interactive" });
      const node = await this.#listen(stream, context, attempt);
      return { stream, context, node };
    } catch (error) {
      stopTracks(stream);
      context?.close().catch(() => undefined);
      throw error;
    }
  }

  async #listen(
    stream: MediaStream,
    context: AudioContext,
    attempt: number,
  ): Promise<AudioWorkletNode> {
    const url = this.#options.workletUrl ?? WORKLET_URL;
    await context.audioWorklet.addModule(url).catch((error: unknown) => {
      throw new RecorderError("worklet_failed", `${url} did not load: ${String(error)}`);
    });
    const node = new AudioWorkletNode(context, PROCESSOR, {
      numberOfInputs: 1,
      numberOfOutputs: 0,
      channelCount: this.#channels,
      channelCountMode: "explicit",
      processorOptions: { channels: this.#channels },
    });
    node.port.onmessage = ({ data }: MessageEvent<FromWorklet>) => {
      // What a cancelled recording still sends belongs to nobody.
      if (attempt !== this.#attempt) return;
      if (data.type === "done") this.#onDone?.();
      else this.#take(data.planes);
    };
    for (const track of stream.getAudioTracks()) {
      track.addEventListener("ended", () => this.#end("device_lost"));
    }
    new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(node);
    await context.resume();
    return node;
  }

  #take(planes: readonly Float32Array[]): void {
    const sampleRate = this.#device?.context.sampleRate;
    this.#blocks.push(planes);
    this.#frames += planes[0]?.length ?? 0;
    let peak = 0;
    let squares = 0;
    let count = 0;
    for (const plane of planes) {
      for (const sample of plane) {
        peak = Math.max(peak, Math.abs(sample));
        squares += sample * sample;
      }
      count += plane.length;
    }
    this.#isClipped ||= peak >= CLIP_LEVEL;
    if (sampleRate === undefined) return;
    const seconds = this.#frames / sampleRate;
    const maxSeconds = this.#options.maxSeconds ?? DEFAULT_MAX_SECONDS;
    this.emit("level", {
      peak,
      rms: Math.sqrt(squares / Math.max(1, count)),
      isClipped: this.#isClipped,
      seconds: Math.min(seconds, maxSeconds),
      remainingSeconds: Math.max(0, maxSeconds - seconds),
    });
    if (seconds >= maxSeconds) this.#end("max_length");
  }

  #end(by: Recording["endedBy"]): void {
    if (this.#device === undefined) return;
    this.#endedBy = by;
    this.stop().catch(() => undefined);
  }

  #recording(sampleRate: number): Recording {
    const maxSeconds = this.#options.maxSeconds ?? DEFAULT_MAX_SECONDS;
    const frames = Math.min(this.#frames, Math.round(maxSeconds * sampleRate));
    const planes = Array.from({ length: this.#channels }, (_, channel) => {
      const plane = new Float32Array(frames);
      let filled = 0;
      for (const block of this.#blocks) {
        const part = block[channel]?.subarray(0, frames - filled) ?? [];
        plane.set(part, filled);
        filled += part.length;
      }
      return plane;
    });
    this.#blocks = [];
    const seconds = frames / sampleRate;
    return { planes, sampleRate, seconds, isClipped: this.#isClipped, endedBy: this.#endedBy };
  }

  #setState(state: RecorderState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.emit("state", state);
  }
}

function stopTracks(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function release({ stream, context }: Device): void {
  stopTracks(stream);
  context.close().catch(() => undefined);
}
