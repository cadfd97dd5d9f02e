/**
 * One play of one take: hands its sound to the worklet in bounded batches, and turns what the worklet reports into states,
 * positions and figures. Once stopped or replaced it stays silent for good.
 */
import type { AudioOutput } from "./audio-output.ts";
import { Emitter } from "./events.ts";
import { PlayClock } from "./play-clock.ts";
import type { FromWorklet, PlayoutEvent, Report } from "./player-messages.ts";
import type { TakeAudio } from "./take-audio.ts";

/**
 * `starting` until the first sample; `waiting` for sound, after an underrun or because it comes too slowly; `blocked` until a
 * gesture, and `interrupted` by the system, see the output's states; `ended` once the last sample was heard; `stopped` by
 * the page or by another play; `failed` when the output broke.
 */
export type PlaybackState =
  | "starting"
  | "playing"
  | "waiting"
  | "paused"
  | "blocked"
  | "interrupted"
  | "ended"
  | "stopped"
  | "failed";

export interface PlayOptions {
  /** Frame to start at, 0 if left out. */
  readonly from?: number;
  /** Change of level in dB for this play alone, 0 if left out: then samples leave unchanged. */
  readonly gainDb?: number;
  readonly paused?: boolean;
  /** Estimated length of the take, which helps if it is made more slowly than it is heard. */
  readonly expectedSeconds?: number;
  /** Sound to collect before the start, 0 if left out: for lines that are known to be uneven. */
  readonly cushionSeconds?: number;
}

/** A pause that nobody asked for. */
export interface Underrun {
  /** Frame of the take before which it was silent. */
  readonly frame: number;
  readonly seconds: number;
}

/** The wait for more sound. */
export interface Waiting {
  /** Seconds of sound that will be collected. */
  readonly wantedSeconds: number;
  /** Seconds of sound that arrive in a second; infinite while unknown. */
  readonly arrivalRate: number;
}

/** Sent up to 30 times a second while there is something to tell. Samples from 0 to 1, [left, right]. */
export interface Level {
  readonly peak: readonly [number, number];
  readonly rms: readonly [number, number];
  /** Next frame to leave the worklet. */
  readonly frame: number;
  /** Sound that is received and has not left. */
  readonly leadSeconds: number;
  readonly cushionSeconds: number;
}

/** Moments on the clock of `performance.now()`. */
export interface PlaybackTimes {
  /** `play` was called. */
  readonly requestedMs: number;
  /** The first sound was there. */
  readonly firstPushMs?: number;
  /** The first sample left the worklet. */
  readonly firstSampleOutMs?: number;
  /** The first sample is heard; an estimate of the browser, and a little in the future when it is told. */
  readonly audibleMs?: number;
}

export interface PlaybackEvents {
  state: PlaybackState;
  firstSampleOut: { readonly atMs: number };
  audible: { readonly atMs: number };
  waiting: Waiting;
  underrun: Underrun;
  level: Level;
}

/** What a playback needs of its player. */
export interface PlaybackHost {
  readonly output: AudioOutput;
  nextStream(): number;
  /** Makes a playback the one that is heard. */
  activate(playback: Playback): void;
}

/** How far the worklet is supplied ahead; it holds more, and waits for less. */
const AHEAD_SECONDS = 16;
/** Longest piece in one message. */
const BATCH_SECONDS = 1;
const SILENT = { peak: [0, 0], rms: [0, 0] } as const;

export class Playback extends Emitter<PlaybackEvents> {
  readonly audio: TakeAudio;
  readonly #host: PlaybackHost;
  readonly #options: PlayOptions;
  readonly #underruns: Underrun[] = [];
  #stream = -1;
  #state: PlaybackState = "starting";
  #toldState: PlaybackState | undefined;
  #clock: PlayClock;
  #times: PlaybackTimes;
  #unsubscribe: (() => void) | undefined;
  /** Frames that were handed to the worklet, counted from the start of the take. */
  #sent = 0;
  /** Frames that the take had when it last changed. */
  #seen = 0;
  #isFinishSent = false;
  #isPumpDue = false;
  /** Next frame to leave, as last reported. */
  #position: number;
  /** Frame of the output after the last sample. */
  #drainedAt: number | undefined;

  constructor(audio: TakeAudio, host: PlaybackHost, options: PlayOptions) {
    super();
    this.audio = audio;
    this.#host = host;
    this.#options = options;
    this.#position = this.#clamp(options.from ?? 0);
    this.#clock = new PlayClock(audio.sampleRate, audio.sampleRate);
    this.#times = { requestedMs: performance.now() };
  }

  /** Id under which the worklet knows this play. */
  get stream(): number {
    return this.#stream;
  }

  get state(): PlaybackState {
    const isOver = ["paused", "ended", "stopped", "failed"].includes(this.#state);
    const output = this.#host.output.state;
    if (isOver || (output !== "blocked" && output !== "interrupted")) return this.#state;
    return output;
  }

  get underruns(): readonly Underrun[] {
    return this.#underruns;
  }

  get times(): PlaybackTimes {
    return this.#times;
  }

  /** Frame of the take that is heard now. Cheap enough for every animation frame. */
  get audibleFrame(): number {
    if (this.#state === "ended") return this.audio.frames;
    return Math.min(this.audio.frames, this.#clock.positionAt(this.#host.output.audibleFrame()));
  }

  /** Next frame to leave the worklet, as last reported. */
  get leftFrame(): number {
    return this.#position;
  }

  /** Called once by the player. */
  start(): void {
    this.#open(this.#position, this.#options.paused ?? false, false);
  }

  pause(): void {
    if (!this.#isActive() || this.#state === "paused") return;
    this.#post("pause");
    this.#setState("paused");
  }

  /** Goes on after `pause`; after the end it starts again from the beginning. */
  resume(): void {
    if (this.#state === "ended") this.seek(0);
    if (this.#state !== "paused") return;
    this.#setState("starting");
    this.#host.output.wake();
    this.#post("resume");
  }

  /** Falls silent within a few milliseconds, for good. */
  stop(): void {
    if (!this.#isActive()) return;
    this.#post("stop");
    this.#release("stopped");
  }

  /** Goes on at another frame of what was received; also after the end. Not after `stop`. */
  seek(frame: number): void {
    if (this.#state === "stopped" || this.#state === "failed") return;
    this.#open(this.#clamp(frame), this.#state === "paused", true);
  }

  /** Another playback took the output. */
  replaced(): void {
    if (this.#state !== "ended") this.#release("stopped");
  }

  /** The output's state changed. */
  outputChanged(): void {
    if (this.#host.output.state === "failed" && this.#isActive()) this.#release("failed");
    else this.#tellState();
  }

  /** Frame `heard` was the last one of an output that is gone: goes on there, on a new one. */
  outputLost(heard: number): void {
    const from = this.#clamp(this.#clock.positionAt(heard));
    if (this.#isActive()) this.#open(from, this.#state === "paused", false);
  }

  /** Takes a message of the worklet about this playback's stream. */
  receive(message: Exclude<FromWorklet, { type: "tap" }>): void {
    if (message.type === "overflow") {
      throw new Error("The worklet was given more sound than it holds.");
    }
    this.#position = message.position;
    if (message.type === "report") this.#onReport(message);
    else this.#onEvent(message);
  }

  #clamp(frame: number): number {
    return Math.max(0, Math.min(Math.round(frame), this.audio.frames));
  }

  #isActive(): boolean {
    return !["ended", "stopped", "failed"].includes(this.#state);
  }

  #open(from: number, paused: boolean, continues: boolean): void {
    const { output } = this.#host;
    const { sampleRate, channels } = this.audio;
    this.#unsubscribe ??= this.audio.onChange(() => this.#onAudio());
    this.#stream = this.#host.nextStream();
    this.#host.activate(this);
    output.prepare(sampleRate).catch(() => undefined);
    const outputRate = output.context?.sampleRate ?? sampleRate;
    this.#clock = new PlayClock(sampleRate, outputRate);
    this.#clock.jump(from);
    this.#position = from;
    this.#drainedAt = undefined;
    this.#sent = from;
    this.#seen = this.audio.frames;
    this.#isFinishSent = false;
    output.post({
      type: "open",
      stream: this.#stream,
      channels,
      sampleRate,
      from,
      gain: 10 ** ((this.#options.gainDb ?? 0) / 20),
      paused,
      cushionSeconds: this.#options.cushionSeconds ?? 0,
      expectedSeconds: this.#options.expectedSeconds,
      continues,
    });
    this.#setState(paused ? "paused" : "starting");
    if (!paused) output.wake();
    this.#notePush();
    this.#pump(false);
  }

  #post(type: "pause" | "resume" | "stop"): void {
    this.#host.output.post({ type, stream: this.#stream });
  }

  /** What is pushed within one task goes out together, so that crumbs do not become messages. */
  #onAudio(): void {
    if (!this.#isActive()) return;
    this.#notePush();
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      if (!this.#isActive()) return;
      const isCaughtUp = this.#sent === this.#seen;
      this.#seen = this.audio.frames;
      this.#pump(isCaughtUp);
    });
  }

  #notePush(): void {
    const first = this.audio.chunks[0];
    if (first === undefined || this.#times.firstPushMs !== undefined) return;
    this.#times = { ...this.#times, firstPushMs: first.arrivedMs };
  }

  /** Hands over what is there, up to a bound. `live` if it has only just arrived. */
  #pump(live: boolean): void {
    const { audio } = this;
    const { output } = this.#host;
    const stream = this.#stream;
    const limit = Math.min(audio.frames, this.#position + AHEAD_SECONDS * audio.sampleRate);
    if (audio.finished && !this.#isFinishSent) {
      output.post({ type: "finish", stream, frames: audio.frames });
      this.#isFinishSent = true;
    }
    while (this.#sent < limit) {
      const batch = Math.min(limit - this.#sent, BATCH_SECONDS * audio.sampleRate);
      const samples = audio.read(this.#sent, batch);
      output.post({ type: "data", stream, samples, live }, [samples.buffer]);
      this.#sent += batch;
    }
  }

  #onReport(report: Report): void {
    const isPlaying = report.state === "playing";
    this.#clock.anchor(report.at, report.position, isPlaying);
    if (!this.#isActive() || this.#state === "paused") return;
    this.#pump(false);
    this.emit("level", {
      peak: report.peak,
      rms: report.rms,
      frame: report.position,
      leadSeconds: (this.audio.frames - report.position) / this.audio.sampleRate,
      cushionSeconds: report.cushionSeconds,
    });
    // Reports go on until the last sample has come out of the loudspeaker, not only out of the worklet.
    if (this.#drainedAt !== undefined && this.#host.output.audibleFrame() >= this.#drainedAt) {
      this.#post("stop");
      this.#release("ended");
    }
  }

  #onEvent(event: PlayoutEvent): void {
    const isPlaying = event.type === "first" || event.type === "playing";
    if (event.type !== "underrun") this.#clock.anchor(event.at, event.position, isPlaying);
    if (!this.#isActive()) return;
    switch (event.type) {
      case "first":
      case "playing":
        this.#noteFirst(event);
        if (this.#state !== "paused") this.#setState("playing");
        break;
      case "waiting":
        this.#onWaiting(event);
        break;
      case "underrun":
        this.#onUnderrun(event);
        break;
      case "drained":
        this.#drainedAt = event.at;
        break;
    }
  }

  #onWaiting({ wanted = 0, rate = Number.POSITIVE_INFINITY }: PlayoutEvent): void {
    if (this.#state === "paused") return;
    this.#setState("waiting");
    this.emit("waiting", { wantedSeconds: wanted, arrivalRate: rate });
  }

  #onUnderrun({ position, frames = 0 }: PlayoutEvent): void {
    const outputRate = this.#host.output.context?.sampleRate ?? this.audio.sampleRate;
    const underrun = { frame: position, seconds: frames / outputRate };
    this.#underruns.push(underrun);
    this.emit("underrun", underrun);
  }

  #noteFirst({ at, wallMs }: PlayoutEvent): void {
    if (this.#times.firstSampleOutMs !== undefined) return;
    const now = performance.now();
    const leftMs = wallMs - (Date.now() - now);
    const earliest = this.#times.firstPushMs ?? this.#times.requestedMs;
    const firstSampleOutMs = Math.min(now, Math.max(earliest, leftMs));
    const audibleMs = this.#host.output.audibleMs(at, firstSampleOutMs);
    this.#times = { ...this.#times, firstSampleOutMs, audibleMs };
    this.emit("firstSampleOut", { atMs: firstSampleOutMs });
    this.emit("audible", { atMs: audibleMs });
  }

  #release(state: "ended" | "stopped" | "failed"): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#silence();
    this.#setState(state);
  }

  /** Meters fall to zero at once. */
  #silence(): void {
    const frame = this.#position;
    this.emit("level", { ...SILENT, frame, leadSeconds: 0, cushionSeconds: 0 });
  }

  #setState(state: PlaybackState): void {
    this.#state = state;
    this.#tellState();
  }

  #tellState(): void {
    const { state } = this;
    if (state === this.#toldState) return;
    this.#toldState = state;
    this.emit("state", state);
  }
}
