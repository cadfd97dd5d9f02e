/**
 * A FLAC encoder for streams: 16 bit, fixed predictors, Rice coding, blocks of 1152 frames so that the first bytes leave
 * after 24 ms at 48 kHz. It keeps one block and never goes back, so the header states neither length nor checksum.
 */
import { BitWriter, crc8, crc16 } from "./bits.ts";
import type { Encoder } from "./encoder.ts";
import { concatBytes, toIntegers } from "./pcm.ts";

const FLAC_BLOCK_FRAMES = 1152;
const BITS = 16;
const MAX_ORDER = 4;
const MAX_PARTITION_ORDER = 4;
const MAX_RICE = 14;

const RATE_CODES: Record<number, number> = {
  8000: 4,
  16000: 5,
  22050: 6,
  24000: 7,
  32000: 8,
  44100: 9,
  48000: 10,
  96000: 11,
};

/** How two channels are stored: as they are, or one of them as the difference. */
const STEREO = { leftRight: 1, leftSide: 8, rightSide: 9, midSide: 10 } as const;

/** Creates an encoder for one stream of one or two channels. */
export function createFlacEncoder(sampleRate: number, channels: 1 | 2): Encoder {
  const block = new Int32Array(FLAC_BLOCK_FRAMES * channels);
  let filled = 0;
  let frameNumber = 0;
  let header: Uint8Array | undefined = streamHeader(sampleRate, channels);

  const takeHeader = () => {
    const parts = header === undefined ? [] : [header];
    header = undefined;
    return parts;
  };
  const encodeBlock = () => {
    const bytes = encodeFrame(block.subarray(0, filled), sampleRate, channels, frameNumber);
    frameNumber++;
    filled = 0;
    return bytes;
  };
  return {
    contentType: "audio/flac",
    push(pcm) {
      const out = takeHeader();
      for (const integer of toIntegers(pcm)) {
        block[filled++] = integer;
        if (filled === block.length) out.push(encodeBlock());
      }
      return concatBytes(out);
    },
    end() {
      const out = takeHeader();
      if (filled > 0) out.push(encodeBlock());
      return concatBytes(out);
    },
    close() {},
  };
}

/** The marker and the one metadata block: sizes of blocks, rate, channels; length and checksum unknown. */
function streamHeader(sampleRate: number, channels: number): Uint8Array {
  const bits = new BitWriter();
  for (const byte of new TextEncoder().encode("fLaC")) bits.write(byte, 8);
  bits.write(0x80, 8);
  bits.write(34, 24);
  bits.write(FLAC_BLOCK_FRAMES, 16);
  bits.write(FLAC_BLOCK_FRAMES, 16);
  bits.write(0, 24);
  bits.write(0, 24);
  bits.write(sampleRate, 20);
  bits.write(channels - 1, 3);
  bits.write(BITS - 1, 5);
  const unknown = 36 + 128;
  for (let i = 0; i < unknown; i += 4) bits.write(0, 4);
  return bits.bytes();
}

function encodeFrame(
  block: Int32Array,
  sampleRate: number,
  channels: number,
  frameNumber: number,
): Uint8Array {
  const frames = block.length / channels;
  const { assignment, subframes } =
    channels === 1 ? { assignment: 0, subframes: [{ samples: block, bits: BITS }] } : pair(block);
  const full = frames === FLAC_BLOCK_FRAMES;
  const out = new BitWriter();
  out.write(0xfff8, 16);
  out.write(full ? 3 : 7, 4);
  out.write(RATE_CODES[sampleRate] ?? 0, 4);
  out.write(assignment, 4);
  out.write(0b1000, 4);
  writeFrameNumber(out, frameNumber);
  if (!full) out.write(frames - 1, 16);
  out.write(crc8(out.bytes()), 8);
  for (const { samples, bits } of subframes) writeSubframe(out, samples, bits);
  out.align();
  out.write(crc16(out.bytes()), 16);
  return out.bytes();
}

interface Subframe {
  readonly samples: Int32Array;
  /** Bits a sample; a difference of two channels needs one more. */
  readonly bits: number;
}

/** Splits stereo and chooses the cheapest way to store it, judged by second differences. */
function pair(block: Int32Array): { assignment: number; subframes: Subframe[] } {
  const frames = block.length / 2;
  const [left, right] = [new Int32Array(frames), new Int32Array(frames)];
  const [mid, side] = [new Int32Array(frames), new Int32Array(frames)];
  for (let i = 0; i < frames; i++) {
    const [l, r] = [block[i * 2] ?? 0, block[i * 2 + 1] ?? 0];
    left[i] = l;
    right[i] = r;
    mid[i] = (l + r) >> 1;
    side[i] = l - r;
  }
  const [l, r, m, s] = [left, right, mid, side].map((samples) => ({
    samples,
    bits: samples === side ? BITS + 1 : BITS,
    cost: magnitude(residual(samples, Math.min(2, frames)), 0, frames),
  })) as [Costed, Costed, Costed, Costed];
  const choices = [
    { assignment: STEREO.leftRight, subframes: [l, r] },
    { assignment: STEREO.leftSide, subframes: [l, s] },
    { assignment: STEREO.rightSide, subframes: [s, r] },
    { assignment: STEREO.midSide, subframes: [m, s] },
  ];
  const cost = (choice: { subframes: Costed[] }) =>
    choice.subframes.reduce((sum, subframe) => sum + subframe.cost, 0);
  return choices.reduce((a, b) => (cost(b) < cost(a) ? b : a));
}

interface Costed extends Subframe {
  readonly cost: number;
}

function writeSubframe(out: BitWriter, samples: Int32Array, bits: number): void {
  const first = samples[0] ?? 0;
  if (samples.every((sample) => sample === first)) {
    out.write(0, 8);
    out.write(first, bits);
    return;
  }
  let best = { order: 0, values: samples, cost: magnitude(samples, 0, samples.length) };
  for (let order = 1; order <= Math.min(MAX_ORDER, samples.length - 1); order++) {
    const values = residual(samples, order);
    const cost = magnitude(values, order, values.length);
    if (cost < best.cost) best = { order, values, cost };
  }
  out.write((8 | best.order) << 1, 8);
  for (let i = 0; i < best.order; i++) out.write(samples[i] ?? 0, bits);
  writeResidual(out, best.values, best.order);
}

/** Differences of the given order; the first `order` entries are not used. */
function residual(samples: Int32Array, order: number): Int32Array {
  let values = samples;
  for (let pass = 1; pass <= order; pass++) {
    const previous = values;
    values = previous.map((value, i) => (i >= pass ? value - (previous[i - 1] ?? 0) : 0));
  }
  return values;
}

function magnitude(values: Int32Array, start: number, end: number): number {
  let sum = 0;
  for (let i = start; i < end; i++) sum += Math.abs(values[i] ?? 0);
  return sum;
}

/** Rice-codes a residual in the number of partitions that costs least. */
function writeResidual(out: BitWriter, values: Int32Array, order: number): void {
  let best = partition(values, order, 0);
  for (let power = 1; power <= MAX_PARTITION_ORDER; power++) {
    const size = values.length >> power;
    if (size << power !== values.length || size <= order) break;
    const next = partition(values, order, power);
    if (next.cost < best.cost) best = next;
  }
  out.write(0, 2);
  out.write(best.power, 4);
  const size = values.length >> best.power;
  best.parameters.forEach((parameter, i) => {
    out.write(parameter, 4);
    for (let at = Math.max(order, i * size); at < (i + 1) * size; at++) {
      const value = values[at] ?? 0;
      const folded = value >= 0 ? value * 2 : -value * 2 - 1;
      out.unary(folded >>> parameter);
      if (parameter > 0) out.write(folded & ((1 << parameter) - 1), parameter);
    }
  });
}

/** Rice parameter of each of 2^power partitions and the bits they take, estimated from mean magnitudes. */
function partition(values: Int32Array, order: number, power: number) {
  const size = values.length >> power;
  const parameters: number[] = [];
  let cost = 0;
  for (let start = 0; start < values.length; start += size) {
    const from = Math.max(order, start);
    const count = start + size - from;
    const total = magnitude(values, from, start + size) * 2;
    const mean = total / Math.max(1, count);
    const parameter = mean < 1 ? 0 : Math.min(MAX_RICE, Math.floor(Math.log2(mean)));
    parameters.push(parameter);
    cost += 4 + count * (parameter + 1) + total / 2 ** parameter;
  }
  return { power, parameters, cost };
}

/** The number of the frame, coded like UTF-8 but with up to 36 bits. */
function writeFrameNumber(out: BitWriter, value: number): void {
  if (value < 0x80) {
    out.write(value, 8);
    return;
  }
  let more = 1;
  while (value >= 2 ** (5 * more + 6)) more++;
  out.write((0xff << (7 - more)) | Math.floor(value / 64 ** more), 8);
  for (let i = more - 1; i >= 0; i--) out.write(0x80 | (Math.floor(value / 64 ** i) & 63), 8);
}
