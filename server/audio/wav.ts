/**
 * WAV files: a tolerant reader and a header writer. The reader trusts no size in the file, because recorders that stream
 * write 0 or 0xFFFFFFFF and uploads get cut; it refuses what contradicts itself. It never allocates more than the bytes
 * that are there can hold.
 */
import { wavHeader as header } from "../protocol/wav.ts";
import { corrupt, tooLong } from "./error.ts";

/** Interleaved samples of one file. */
export interface WavAudio {
  /** [frames * channels]; integers scaled to [-1, 1), floats as stored with NaN and infinities replaced by 0. */
  readonly pcm: Float32Array;
  readonly channels: number;
  /** Hz */
  readonly sampleRate: number;
}

export const MAX_CHANNELS = 8;
export const MIN_SAMPLE_RATE = 4_000;
export const MAX_SAMPLE_RATE = 384_000;

const FORMAT_PCM = 1;
const FORMAT_FLOAT = 3;
const FORMAT_A_LAW = 6;
const FORMAT_MU_LAW = 7;
const FORMAT_EXTENSIBLE = 0xfffe;
const UNKNOWN_SIZE = 0xffffffff;

interface WavFormat {
  readonly tag: number;
  readonly channels: number;
  readonly sampleRate: number;
  /** Bytes that one sample of one channel takes. */
  readonly sampleBytes: number;
}

/**
 * Reads a RIFF, RF64 or WAVE file.
 * @throws AudioError `corrupt` when the header is not one, `too_long` when there is more than `maxSeconds` of audio.
 */
export function readWav(bytes: Uint8Array, maxSeconds = Number.POSITIVE_INFINITY): WavAudio {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { format, data } = findChunks(view);
  const frameBytes = format.channels * format.sampleBytes;
  const frames = Math.floor(data.byteLength / frameBytes);
  if (frames === 0) throw corrupt("wav", "holds no samples");
  if (frames > maxSeconds * format.sampleRate) throw tooLong(maxSeconds);
  const pcm = new Float32Array(frames * format.channels);
  const read = sampleReader(format);
  for (let i = 0; i < pcm.length; i++) {
    const value = read(data, i * format.sampleBytes);
    pcm[i] = Number.isFinite(value) ? value : 0;
  }
  return { pcm, channels: format.channels, sampleRate: format.sampleRate };
}

/** Walks the chunks up to the samples; chunks of odd size are followed by one byte of padding. */
function findChunks(view: DataView): { format: WavFormat; data: DataView } {
  const magic = view.byteLength >= 12 ? ascii(view, 0) : "";
  if ((magic !== "RIFF" && magic !== "RF64") || ascii(view, 8) !== "WAVE") {
    throw corrupt("wav", "does not begin with a RIFF/WAVE header");
  }
  let format: WavFormat | undefined;
  let longSize: number | undefined;
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const id = ascii(view, at);
    const size = view.getUint32(at + 4, true);
    const body = at + 8;
    if (id === "data") {
      if (format === undefined) throw corrupt("wav", "has no fmt chunk before its samples");
      return { format, data: sampleBytes(view, body, size, longSize) };
    }
    if (body + size > view.byteLength) break;
    if (id === "fmt ") format = readFormat(new DataView(view.buffer, view.byteOffset + body, size));
    if (id === "ds64" && size >= 16) longSize = Number(view.getBigUint64(body + 8, true));
    at = body + size + (size % 2);
  }
  throw corrupt("wav", "has no data chunk");
}

/** The sample bytes that are really there, whatever the header says about their number. */
function sampleBytes(
  view: DataView,
  body: number,
  size: number,
  longSize: number | undefined,
): DataView {
  const there = view.byteLength - body;
  const stated = size === UNKNOWN_SIZE ? (longSize ?? there) : size;
  const streamed = stated === 0 && !isChunkList(view, body);
  return new DataView(
    view.buffer,
    view.byteOffset + body,
    streamed ? there : Math.min(stated, there),
  );
}

/** Whether well-formed chunks follow from `at` to the end: then a size of 0 means empty and not unknown. */
function isChunkList(view: DataView, at: number): boolean {
  while (at + 8 <= view.byteLength) {
    const size = view.getUint32(at + 4, true);
    at += 8 + size + (size % 2);
  }
  return at >= view.byteLength && at <= view.byteLength + 1;
}

function readFormat(chunk: DataView): WavFormat {
  if (chunk.byteLength < 16) throw corrupt("wav", "has a fmt chunk that is too short");
  const channels = chunk.getUint16(2, true);
  const sampleRate = chunk.getUint32(4, true);
  const frameBytes = chunk.getUint16(12, true);
  const bits = chunk.getUint16(14, true);
  let tag = chunk.getUint16(0, true);
  if (tag === FORMAT_EXTENSIBLE && chunk.byteLength >= 26) tag = chunk.getUint16(24, true);
  if (channels < 1 || channels > MAX_CHANNELS) {
    throw corrupt("wav", `states ${channels} channels; allowed are 1 to ${MAX_CHANNELS}`);
  }
  if (sampleRate < MIN_SAMPLE_RATE || sampleRate > MAX_SAMPLE_RATE) {
    throw corrupt(
      "wav",
      `states a sample rate of ${sampleRate} Hz; allowed are ${MIN_SAMPLE_RATE} to ${MAX_SAMPLE_RATE} Hz`,
    );
  }
  const sampleBytes = Math.ceil(bits / 8);
  const widths: Record<number, readonly number[]> = {
    [FORMAT_PCM]: [1, 2, 3, 4],
    [FORMAT_FLOAT]: [4, 8],
    [FORMAT_A_LAW]: [1],
    [FORMAT_MU_LAW]: [1],
  };
  const allowed = widths[tag];
  if (allowed === undefined) {
    throw corrupt(
      "wav",
      `uses encoding 0x${tag.toString(16)}; allowed are integer PCM, float, A-law and mu-law`,
    );
  }
  if (!allowed.includes(sampleBytes) || frameBytes !== channels * sampleBytes) {
    throw corrupt("wav", `states ${bits} bits a sample in frames of ${frameBytes} bytes`);
  }
  return { tag, channels, sampleRate, sampleBytes };
}

type SampleReader = (data: DataView, at: number) => number;

function sampleReader({ tag, sampleBytes }: WavFormat): SampleReader {
  if (tag === FORMAT_A_LAW) return (data, at) => A_LAW[data.getUint8(at)] ?? 0;
  if (tag === FORMAT_MU_LAW) return (data, at) => MU_LAW[data.getUint8(at)] ?? 0;
  if (tag === FORMAT_FLOAT) {
    return sampleBytes === 4
      ? (data, at) => data.getFloat32(at, true)
      : (data, at) => data.getFloat64(at, true);
  }
  switch (sampleBytes) {
    case 1:
      return (data, at) => (data.getUint8(at) - 128) / 128;
    case 2:
      return (data, at) => data.getInt16(at, true) / 0x8000;
    case 3:
      return (data, at) => ((data.getInt8(at + 2) << 16) | data.getUint16(at, true)) / 0x800000;
    default:
      return (data, at) => data.getInt32(at, true) / 0x80000000;
  }
}

/** G.711 A-law: even bits inverted, 3-bit segment, 4-bit step; 13-bit values scaled to [-1, 1]. */
const A_LAW = Float32Array.from({ length: 256 }, (_, code) => {
  const bits = code ^ 0x55;
  const segment = (bits >> 4) & 7;
  const step = ((bits & 15) << 4) + 8;
  const magnitude = segment === 0 ? step : (step + 0x100) << (segment - 1);
  return (bits & 0x80 ? magnitude : -magnitude) / 0x8000;
});

/** G.711 mu-law: all bits inverted, 3-bit segment, 4-bit step, bias 132; 14-bit values scaled to [-1, 1]. */
const MU_LAW = Float32Array.from({ length: 256 }, (_, code) => {
  const bits = ~code & 0xff;
  const magnitude = ((((bits & 15) << 3) + 132) << ((bits >> 4) & 7)) - 132;
  return (bits & 0x80 ? -magnitude : magnitude) / 0x8000;
});

/**
 * The 44-byte header of a 16-bit PCM file. Without `frames` the length is not known yet, and both sizes become
 * 0xFFFFFFFF: players then read to the end of the stream.
 */
export function wavHeader(sampleRate: number, channels: number, frames?: number): Uint8Array {
  return header({ sampleRate, channels }, frames === undefined ? undefined : frames * channels * 2);
}

function ascii(view: DataView, at: number): string {
  return String.fromCharCode(
    view.getUint8(at),
    view.getUint8(at + 1),
    view.getUint8(at + 2),
    view.getUint8(at + 3),
  );
}
