/**
 * Plays raw 16-bit stereo PCM without gaps while it arrives: every piece is scheduled to start on the very sample where
 * the piece before it ends.
 */

const CHANNELS = 2;
const BYTES_PER_FRAME = 2 * CHANNELS;

/** The first sample is scheduled this far ahead, so that it is never late and the next piece joins on the very sample. */
const LEAD_SECONDS = 0.02;

/** After an underrun, playback waits for this much audio before it goes on, so that it does not stutter. */
const CUSHION_SECONDS = 0.3;

export class Player {
  /** @param {number} sampleRate in Hz; the context runs at this rate, so nothing is resampled here */
  constructor(sampleRate) {
    this.context = new AudioContext({ sampleRate, latencyHint: "interactive" });
    this.analyser = new AnalyserNode(this.context, { fftSize: 1024 });
    this.analyser.connect(this.context.destination);
    this.underruns = 0;
    this.seconds = 0;
    this.nextTime = 0;
    this.rest = new Uint8Array(0);
  }

  /**
   * Schedules bytes; a sample split between two pieces is put together again.
   * @param {Uint8Array} bytes
   * @returns {number | undefined} for the first piece, the milliseconds until its first sample is heard
   */
  push(bytes) {
    const joined = new Uint8Array(this.rest.length + bytes.length);
    joined.set(this.rest);
    joined.set(bytes, this.rest.length);
    const frames = Math.floor(joined.length / BYTES_PER_FRAME);
    this.rest = joined.slice(frames * BYTES_PER_FRAME);
    if (frames === 0) return undefined;

    const { context } = this;
    const view = new DataView(joined.buffer);
    const buffer = context.createBuffer(CHANNELS, frames, context.sampleRate);
    for (let channel = 0; channel < CHANNELS; channel++) {
      const samples = buffer.getChannelData(channel);
      for (let i = 0; i < frames; i++) {
        samples[i] = view.getInt16(i * BYTES_PER_FRAME + channel * 2, true) / 32768;
      }
    }

    const isFirst = this.seconds === 0;
    if (this.nextTime < context.currentTime) {
      if (!isFirst) this.underruns++;
      this.nextTime = context.currentTime + (isFirst ? LEAD_SECONDS : CUSHION_SECONDS);
    }
    const start = this.nextTime;
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(this.analyser);
    source.start(start);
    this.nextTime += buffer.duration;
    this.seconds += buffer.duration;
    const delay = start - context.currentTime + (context.outputLatency || context.baseLatency);
    return isFirst ? Math.max(0, delay) * 1000 : undefined;
  }

  /** The loudest sample of the last 20 ms or so, 0 to 1. */
  level() {
    const samples = new Float32Array(this.analyser.fftSize);
    this.analyser.getFloatTimeDomainData(samples);
    return samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0);
  }

  /** Seconds of audio that are scheduled and not yet played. */
  ahead() {
    return Math.max(0, this.nextTime - this.context.currentTime);
  }

  /** Silences everything at once and frees the audio device. */
  async close() {
    if (this.context.state !== "closed") await this.context.close();
  }
}
