/**
 * Channels and sample rate of streamed output. Converting chunk by chunk gives the same samples as converting the whole:
 * every output sample is the same sum over the same inputs, wherever the chunks were cut.
 */
import { AudioError } from "./error.ts";
import { concatSamples, deinterleave, interleave } from "./pcm.ts";

/** A step between the engine and an encoder. Chunks hold whole frames, interleaved. */
export interface PcmStage {
  push(pcm: Float32Array): Float32Array;
  /** What was held back; the stage is used up afterwards. */
  end(): Float32Array;
}

/** Zero crossings of the sinc on each side: about 90 dB of stop band with the window below. */
const CROSSINGS = 40;
const KAISER_BETA = 9;
/** Pass band edge as a share of the lower Nyquist frequency; leaves room for the filter to fall. */
const PASS_BAND = 0.92;
/** Distinct filter phases; every pair of common rates needs fewer than 700. */
const MAX_PHASES = 1024;

/** Mono to stereo by copying, stereo to mono by the mean; [frames * from] to [frames * to]. */
export function convertChannels(pcm: Float32Array, from: 1 | 2, to: 1 | 2): Float32Array {
  if (from === to) return pcm;
  const frames = pcm.length / from;
  const out = new Float32Array(frames * to);
  for (let i = 0; i < frames; i++) {
    if (to === 1) out[i] = ((pcm[i * 2] ?? 0) + (pcm[i * 2 + 1] ?? 0)) / 2;
    else {
      out[i * 2] = pcm[i] ?? 0;
      out[i * 2 + 1] = pcm[i] ?? 0;
    }
  }
  return out;
}

/** Polyphase filter: `up` phases of `taps` coefficients each. */
interface Filter {
  readonly up: number;
  readonly down: number;
  readonly taps: number;
  /** [up][taps], phase after phase */
  readonly coefficients: Float64Array;
}

const filters = new Map<string, Filter>();

function filterFor(fromRate: number, toRate: number): Filter {
  const divisor = gcd(fromRate, toRate);
  const [up, down] = [toRate / divisor, fromRate / divisor];
  if (!(Number.isInteger(up) && up > 0 && up <= MAX_PHASES && Number.isInteger(down) && down > 0)) {
    throw new AudioError(
      "unsupported_output",
      `A sample rate of ${toRate} Hz cannot be made from ${fromRate} Hz; use 8000, 16000, 22050, 24000, 44100 or 48000 Hz.`,
    );
  }
  const key = `${up}/${down}`;
  const filter = filters.get(key) ?? designFilter(up, down);
  filters.set(key, filter);
  return filter;
}

/** Kaiser-windowed sinc; each phase is scaled to sum to one, so that a constant stays a constant. */
function designFilter(up: number, down: number): Filter {
  const cutoff = Math.min(1, up / down) * PASS_BAND;
  const half = Math.ceil(CROSSINGS / cutoff);
  const taps = 2 * half;
  const coefficients = new Float64Array(up * taps);
  for (let phase = 0; phase < up; phase++) {
    let sum = 0;
    for (let tap = 0; tap < taps; tap++) {
      const t = tap - half + 1 - phase / up;
      const value = sinc(t * cutoff) * kaiser(t / half);
      coefficients[phase * taps + tap] = value;
      sum += value;
    }
    for (let tap = 0; tap < taps; tap++) {
      coefficients[phase * taps + tap] = (coefficients[phase * taps + tap] ?? 0) / sum;
    }
  }
  return { up, down, taps, coefficients };
}

/** Streaming sample-rate conversion without delay; holds back half a filter length until `end`. */
export class Resampler implements PcmStage {
  readonly #filter: Filter;
  readonly #channels: number;
  /** One array a channel; begins with silence so that the first output lies on the first input. */
  #pending: Float32Array[];
  /** Position of the next output, in 1/up input samples from the start of `#pending`. */
  #position = 0;
  #framesIn = 0;
  #framesOut = 0;

  /** @throws AudioError `unsupported_output` for rates without a small common ratio. */
  constructor(fromRate: number, toRate: number, channels: number) {
    this.#filter = filterFor(fromRate, toRate);
    this.#channels = channels;
    const lead = this.#filter.taps / 2 - 1;
    this.#pending = Array.from({ length: channels }, () => new Float32Array(lead));
  }

  push(pcm: Float32Array): Float32Array {
    this.#framesIn += pcm.length / this.#channels;
    return this.#run(pcm);
  }

  end(): Float32Array {
    const { up, down, taps } = this.#filter;
    const missing = Math.ceil((this.#framesIn * up) / down) - this.#framesOut;
    const tail = this.#run(new Float32Array(taps * this.#channels));
    return tail.subarray(0, missing * this.#channels);
  }

  #run(pcm: Float32Array): Float32Array {
    const { up, down, taps, coefficients } = this.#filter;
    const fresh = deinterleave(pcm, this.#channels);
    this.#pending = this.#pending.map((old, i) => concatSamples([old, fresh[i] ?? old]));
    const length = this.#pending[0]?.length ?? 0;
    const last = (length - taps + 1) * up;
    const count = Math.max(0, Math.ceil((last - this.#position) / down));
    const planes = this.#pending.map((input) => {
      const out = new Float32Array(count);
      for (let n = 0; n < count; n++) {
        const at = this.#position + n * down;
        const start = Math.floor(at / up);
        const row = (at % up) * taps;
        let sum = 0;
        for (let tap = 0; tap < taps; tap++) {
          sum += (input[start + tap] ?? 0) * (coefficients[row + tap] ?? 0);
        }
        out[n] = sum;
      }
      return out;
    });
    this.#position += count * down;
    const used = Math.min(length, Math.floor(this.#position / up));
    this.#pending = this.#pending.map((input) => input.slice(used));
    this.#position -= used * up;
    this.#framesOut += count;
    return interleave(planes);
  }
}

/** Rate and channels of audio. */
export interface PcmShape {
  /** Hz */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
}

/**
 * Brings a stream from one shape to another; equal shapes pass through untouched.
 * @throws AudioError `unsupported_output` for rates without a small common ratio.
 */
export function createConverter(from: PcmShape, to: PcmShape): PcmStage {
  const fewer = Math.min(from.channels, to.channels) as 1 | 2;
  const resampler =
    from.sampleRate === to.sampleRate
      ? undefined
      : new Resampler(from.sampleRate, to.sampleRate, fewer);
  const widen = (pcm: Float32Array) => convertChannels(pcm, fewer, to.channels);
  return {
    push(pcm) {
      const narrow = convertChannels(pcm, from.channels, fewer);
      return widen(resampler?.push(narrow) ?? narrow);
    },
    end: () => widen(resampler?.end() ?? new Float32Array(0)),
  };
}

function gcd(a: number, b: number): number {
  return b > 0 ? gcd(b, a % b) : a;
}

function sinc(t: number): number {
  return t === 0 ? 1 : Math.sin(Math.PI * t) / (Math.PI * t);
}

/** Kaiser window at `x` in [-1, 1]; 0 outside. */
function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel0(KAISER_BETA * Math.sqrt(1 - x * x)) / bessel0(KAISER_BETA);
}

/** Modified Bessel function of order 0, by its power series. */
function bessel0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
