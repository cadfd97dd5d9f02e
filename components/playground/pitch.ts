/** Pitch of a voice, from a sample of it: what orders the rail and draws each voice's print. Pure. */

/** Hertz; speaking voices lie well inside. */
const LOWEST = 60;
const HIGHEST = 420;
/** Analysis rate in hertz: pitch needs no more, and it is 36 times less work than at 48 kHz. */
const RATE = 8_000;
const WINDOW_SECONDS = 0.04;
const HOP_SECONDS = 0.02;
/** Normalised autocorrelation above which a window counts as voiced. */
const VOICED = 0.6;

export interface Pitch {
  /** Middle pitch of the voiced parts in hertz; undefined if nothing is voiced. */
  readonly median: number | undefined;
  /** Pitch in hertz every 20 ms; 0 where nothing is voiced. */
  readonly trace: readonly number[];
}

/**
 * Pitch by normalised autocorrelation.
 * @param mono samples of one channel, -1 to 1
 * @param sampleRate in hertz, at least 8000
 */
export function pitchOf(mono: Float32Array, sampleRate: number): Pitch {
  const samples = decimate(mono, sampleRate);
  const size = Math.round(WINDOW_SECONDS * RATE);
  const hop = Math.round(HOP_SECONDS * RATE);
  const trace: number[] = [];
  for (let start = 0; start + 2 * size < samples.length; start += hop) {
    trace.push(pitchAt(samples, start, size));
  }
  const voiced = trace.filter((hertz) => hertz > 0).sort((a, b) => a - b);
  return { median: voiced[Math.floor(voiced.length / 2)], trace };
}

/** Averages neighbouring samples down to the analysis rate. */
function decimate(mono: Float32Array, sampleRate: number): Float32Array {
  const step = sampleRate / RATE;
  const result = new Float32Array(Math.floor(mono.length / step));
  for (let i = 0; i < result.length; i++) {
    const from = Math.floor(i * step);
    const to = Math.max(from + 1, Math.floor((i + 1) * step));
    let sum = 0;
    for (let j = from; j < to; j++) sum += mono[j] ?? 0;
    result[i] = sum / (to - from);
  }
  return result;
}

function pitchAt(samples: Float32Array, start: number, size: number): number {
  const energy = (offset: number) => {
    let sum = 0;
    for (let i = 0; i < size; i++) sum += (samples[start + offset + i] ?? 0) ** 2;
    return sum;
  };
  const own = energy(0);
  if (own / size < 1e-5) return 0;
  const first = Math.floor(RATE / HIGHEST);
  const last = Math.min(Math.ceil(RATE / LOWEST), size);
  const scores: number[] = [];
  for (let lag = first; lag <= last; lag++) {
    let product = 0;
    for (let i = 0; i < size; i++) {
      product += (samples[start + i] ?? 0) * (samples[start + lag + i] ?? 0);
    }
    scores.push(product / Math.sqrt(own * energy(lag) + 1e-12));
  }
  const best = Math.max(...scores);
  if (best < VOICED) return 0;
  // The first peak that is nearly as good: later ones are multiples of the period.
  const index = scores.findIndex(
    (score, i) =>
      score > 0.9 * best && score >= (scores[i - 1] ?? -1) && score >= (scores[i + 1] ?? -1),
  );
  return RATE / (first + Math.max(0, index));
}
