/**
 * What leaves the loudspeaker next: one stream at a time, started, held, broken off and ended. Gapless inside a stream; a
 * fade of 3 ms stands only where sound really begins or ends in the middle of something (pause, seek, stop, underrun),
 * never where chunks meet. Has no clock of its own: the caller says which frame of the output it is at.
 */
import { Cushion } from "./cushion.js";
import { Reader } from "./reader.js";
import { Ring } from "./ring.js";

const FADE_SECONDS = 0.003;
/** Less than this is not worth starting with; it would run dry before the next message can come. */
const MIN_START_SECONDS = 0.01;
/** Sound below this (-50 dBFS) for 10 ms is a gap between words. */
const QUIET_PEAK = 0.003;
const QUIET_SECONDS = 0.01;
/** A change of the wait by this is worth telling. */
const NEWS_SECONDS = 0.5;

/**
 * @typedef {"idle" | "filling" | "playing" | "paused" | "drained"} PlayoutState
 *
 * @typedef {object} StreamOptions
 * @property {number} stream id; whatever carries another one later is ignored
 * @property {1 | 2} channels
 * @property {number} sampleRate Hz
 * @property {number} from frame of the stream at which playing starts
 * @property {number} [gain] factor, 1 if left out
 * @property {boolean} [paused]
 * @property {number} [cushionSeconds] start with at least this cushion
 * @property {number} [expectedSeconds] length of the whole stream, if there is an estimate
 * @property {boolean} [continues] the same take goes on elsewhere: what was learned about its arrival still holds
 *
 * @typedef {object} PlayoutEvent
 * @property {"first" | "playing" | "waiting" | "underrun" | "paused" | "drained" | "stopped"} type
 * @property {number} stream
 * @property {number} at frame of the output
 * @property {number} position frame of the stream that is next to leave
 * @property {number} [frames] of an underrun: how long nothing was heard, in output frames
 * @property {number} [wanted] of waiting: seconds of sound that are waited for
 * @property {number} [rate] of waiting: seconds of sound that arrive in a second
 */

export class Playout {
  /** @type {PlayoutEvent[]} */
  #events = [];
  /** @type {PlayoutState} */
  #state = "idle";
  #ring = new Ring();
  #cushion = new Cushion();
  #reader;
  #stream = -1;
  #sourceRate;
  #gain = 1;
  /** Frames of the whole stream, once that is known. */
  #total = Number.POSITIVE_INFINITY;
  /** @type {number | undefined} */
  #expectedSeconds;
  /** Output frame at which the stream ran dry, while it waits for that reason. */
  #dryAt = -1;
  #hasStarted = false;
  /** Seconds of sound that were last said to be waited for; negative while nothing waits. */
  #announced = -1;
  /** Frames of fading in that are done; `#fadeFrames` when it is over. */
  #fadedIn;
  #fadeFrames;
  /** The dying rest of what was broken off, [2][fade frames]; it is added to what comes next. */
  #tail;
  #tailAt;
  /** The last output of each channel. */
  #last = [0, 0];
  #now = 0;

  /** @param {number} outputRate Hz */
  constructor(outputRate) {
    this.outputRate = outputRate;
    this.#sourceRate = outputRate;
    this.#reader = new Reader(outputRate, outputRate);
    this.#fadeFrames = Math.round(FADE_SECONDS * outputRate);
    this.#fadedIn = this.#fadeFrames;
    this.#tail = [new Float32Array(this.#fadeFrames), new Float32Array(this.#fadeFrames)];
    this.#tailAt = this.#fadeFrames;
  }

  get state() {
    return this.#state;
  }

  get stream() {
    return this.#stream;
  }

  /** The next frame of the stream to leave. */
  get position() {
    return Math.min(this.#reader.frame, this.#total);
  }

  /** One past the newest frame that is here. */
  get end() {
    return this.#ring.end;
  }

  /** Seconds of sound that must lie ready after an underrun. */
  get cushionSeconds() {
    return this.#cushion.level;
  }

  /** Seconds of sound that arrive in a second; infinite while nothing was measured. */
  get arrivalRate() {
    return this.#cushion.rate;
  }

  /** What happened since the last call. */
  takeEvents() {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  /**
   * Starts a stream in place of the one before, which dies away within 3 ms.
   * @param {StreamOptions} options
   */
  open(options) {
    this.#breakOff();
    this.#countUnderrun();
    const { stream, channels, sampleRate, from } = options;
    if (sampleRate !== this.#sourceRate) {
      this.#reader = new Reader(sampleRate, this.outputRate);
      this.#sourceRate = sampleRate;
    }
    this.#ring.reset(from, channels);
    this.#reader.seek(from);
    if (!options.continues) this.#cushion.begin(options.cushionSeconds ?? 0);
    this.#stream = stream;
    this.#gain = options.gain ?? 1;
    this.#total = Number.POSITIVE_INFINITY;
    this.#expectedSeconds = options.expectedSeconds;
    this.#hasStarted = from > 0;
    this.#announced = -1;
    this.#fadedIn = this.#fadeFrames;
    this.#state = options.paused ? "paused" : "filling";
  }

  /**
   * The next sound of a stream.
   * @param {number} stream
   * @param {Float32Array | Int16Array} samples interleaved
   * @param {boolean} live whether it has just come from outside, so that it tells how fast things arrive
   * @returns {boolean} whether all of it was taken
   */
  write(stream, samples, live) {
    if (stream !== this.#stream || this.#state === "idle") return true;
    const frames = this.#ring.write(samples, this.#reader.frame);
    if (live) this.#cushion.arrived(frames / this.#sourceRate, this.#now / this.outputRate);
    return frames * this.#ring.channels === samples.length;
  }

  /**
   * The length of the stream is known; what is still missing is on its way.
   * @param {number} stream
   * @param {number} frames of the whole stream
   */
  finish(stream, frames) {
    if (stream === this.#stream) this.#total = frames;
  }

  /** @param {number} stream */
  pause(stream) {
    if (stream !== this.#stream) return;
    if (this.#state !== "playing" && this.#state !== "filling") return;
    this.#breakOff();
    this.#countUnderrun();
    this.#state = "paused";
    this.#tell("paused", this.#now);
  }

  /** @param {number} stream */
  resume(stream) {
    if (stream === this.#stream && this.#state === "paused") this.#state = "filling";
  }

  /** @param {number} stream */
  stop(stream) {
    if (stream !== this.#stream || this.#state === "idle") return;
    this.#breakOff();
    this.#countUnderrun();
    this.#tell("stopped", this.#now);
    this.#state = "idle";
  }

  /**
   * Fills the next frames of the output, two channels.
   * @param {readonly [Float32Array, Float32Array]} outputs of equal length
   * @param {number} now number of the first of these frames in the output
   */
  render(outputs, now) {
    this.#now = now;
    const frames = outputs[0].length;
    for (const output of outputs) output.fill(0);
    if (this.#state === "filling") this.#startIfReady();
    const played = this.#state === "playing" ? this.#play(outputs, frames) : 0;
    for (const [channel, output] of outputs.entries()) this.#last[channel] = output.at(-1) ?? 0;
    this.#addTail(outputs, played);
    this.#now = now + frames;
  }

  get #isComplete() {
    return this.#ring.end >= this.#total;
  }

  get #leadSeconds() {
    return (this.#ring.end - this.#reader.frame) / this.#sourceRate;
  }

  /**
   * Seconds played, received and expected.
   * @returns {[number, number, number | undefined]}
   */
  get #progress() {
    const rate = this.#sourceRate;
    return [this.#reader.frame / rate, this.#ring.end / rate, this.#expectedSeconds];
  }

  #startIfReady() {
    if (!this.#isComplete) {
      // A stream of known length lies with the caller, who hands it over as fast as it is asked for.
      const isKnown = Number.isFinite(this.#total);
      const wanted = isKnown ? 0 : this.#cushion.wanted(...this.#progress);
      if (this.#leadSeconds < Math.max(wanted, MIN_START_SECONDS)) {
        this.#announce(wanted);
        return;
      }
    }
    this.#state = "playing";
    this.#announced = -1;
    if (this.#hasStarted) this.#fadedIn = 0;
    if (this.position >= this.#total) return;
    this.#tell(this.#hasStarted ? "playing" : "first", this.#now);
    this.#hasStarted = true;
    this.#countUnderrun();
  }

  /**
   * Says that playback waits, and again when it will wait much longer or shorter than was said.
   * @param {number} wanted seconds of sound
   */
  #announce(wanted) {
    if (!this.#hasStarted && wanted < MIN_START_SECONDS) return;
    if (this.#announced >= 0 && Math.abs(wanted - this.#announced) < NEWS_SECONDS) return;
    this.#announced = wanted;
    this.#tell("waiting", this.#now, { wanted, rate: this.arrivalRate });
  }

  /** An underrun counts when it is over; one that turns out to be the end of the stream is none. */
  #countUnderrun() {
    if (this.#dryAt >= 0) this.#tell("underrun", this.#now, { frames: this.#now - this.#dryAt });
    this.#dryAt = -1;
  }

  /**
   * @param {readonly [Float32Array, Float32Array]} outputs
   * @param {number} frames
   * @returns {number} frames that were played
   */
  #play(outputs, frames) {
    this.#cushion.played(frames / this.outputRate, this.#leadSeconds);
    const isKnown = Number.isFinite(this.#total);
    if (!isKnown && this.#cushion.breakHere(...this.#progress) && this.#isQuiet()) {
      this.#breakOff();
      this.#runDry(this.#now);
      return 0;
    }
    const count = Math.min(frames, this.#reader.available(this.#ring, this.#isComplete));
    this.#produce(outputs, count);
    if (count < frames) {
      const at = this.#now + count;
      if (this.#isComplete) {
        this.#state = "drained";
        this.#tell("drained", at);
      } else {
        for (const [channel, output] of outputs.entries()) {
          if (count > 0) this.#last[channel] = output[count - 1] ?? 0;
        }
        this.#holdLast();
        this.#runDry(at);
      }
    }
    return count;
  }

  /** @param {number} at */
  #runDry(at) {
    this.#cushion.ranDry();
    this.#dryAt = at;
    this.#announced = -1;
    this.#state = "filling";
  }

  #isQuiet() {
    const frames = Math.round(QUIET_SECONDS * this.#sourceRate);
    return this.#ring.peak(this.#reader.frame, frames) < QUIET_PEAK;
  }

  /**
   * Sound of the stream at its own level, faded in where it starts in the middle.
   * @param {readonly [Float32Array, Float32Array]} outputs
   * @param {number} count
   */
  #produce(outputs, count) {
    const channels = this.#ring.channels;
    this.#reader.read(this.#ring, outputs.slice(0, channels), 0, count);
    if (channels === 1) outputs[1].set(outputs[0].subarray(0, count));
    const fades = Math.min(count, this.#fadeFrames - this.#fadedIn);
    if (this.#gain === 1 && fades === 0) return;
    for (const output of outputs) {
      for (let i = 0; i < count; i++) {
        const fade = i < fades ? this.#rise(this.#fadedIn + i) : 1;
        output[i] = (output[i] ?? 0) * this.#gain * fade;
      }
    }
    this.#fadedIn += fades;
  }

  /** Turns what would have been heard next into the dying rest. */
  #breakOff() {
    if (this.#state !== "playing") return;
    const available = this.#reader.available(this.#ring, this.#isComplete);
    const count = Math.min(this.#fadeFrames, available);
    if (count < this.#fadeFrames && !this.#isComplete) return this.#holdLast();
    const channels = this.#ring.channels;
    const next = [new Float32Array(this.#fadeFrames), new Float32Array(this.#fadeFrames)];
    this.#reader.peek(this.#ring, next.slice(0, channels), count);
    if (channels === 1) next[1]?.set(next[0] ?? []);
    const level = this.#gain * this.#rise(this.#fadedIn);
    this.#die((channel, i) => (next[channel]?.[i] ?? 0) * level);
  }

  /** Lets the last output die away, where nothing is there that could be faded out. */
  #holdLast() {
    const last = this.#last.slice();
    this.#die((channel) => last[channel] ?? 0);
  }

  /** @param {(channel: number, i: number) => number} sound */
  #die(sound) {
    const frames = this.#fadeFrames;
    for (const [channel, tail] of this.#tail.entries()) {
      for (let i = 0; i < frames; i++) {
        const rest = tail[this.#tailAt + i] ?? 0;
        tail[i] = rest + sound(channel, i) * (1 - this.#rise(i + 1));
      }
    }
    this.#tailAt = 0;
  }

  /**
   * Adds the dying rest; what died in the middle of these frames starts there.
   * @param {readonly [Float32Array, Float32Array]} outputs
   * @param {number} played
   */
  #addTail(outputs, played) {
    const frames = outputs[0].length;
    const offset = this.#dryAt === this.#now + played ? played : 0;
    const count = Math.min(frames - offset, this.#fadeFrames - this.#tailAt);
    if (count <= 0) return;
    for (const [channel, output] of outputs.entries()) {
      const tail = this.#tail[channel];
      for (let i = 0; i < count; i++) {
        output[offset + i] = (output[offset + i] ?? 0) + (tail?.[this.#tailAt + i] ?? 0);
      }
    }
    this.#tailAt += count;
  }

  /**
   * From 0 to 1 along half a cosine.
   * @param {number} done frames of the fade
   */
  #rise(done) {
    return 0.5 - 0.5 * Math.cos((Math.PI * Math.min(done, this.#fadeFrames)) / this.#fadeFrames);
  }

  /**
   * @param {PlayoutEvent["type"]} type
   * @param {number} at
   * @param {Partial<PlayoutEvent>} [more]
   */
  #tell(type, at, more) {
    this.#events.push({ type, stream: this.#stream, at, position: this.position, ...more });
  }
}
