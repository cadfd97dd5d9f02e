/** What every encoder of this folder is: samples in, bytes out, a tail at the end. */
import type { Samples } from "./pcm.ts";

/** Formats of `response_format`. */
export const OUTPUT_FORMATS = ["wav", "pcm", "flac", "mp3", "aac", "opus"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const CONTENT_TYPES: Record<OutputFormat, string> = {
  wav: "audio/wav",
  pcm: "audio/pcm",
  flac: "audio/flac",
  mp3: "audio/mpeg",
  aac: "audio/aac",
  opus: "audio/ogg",
};

const OF_INTEGERS: ReadonlySet<OutputFormat> = new Set(["wav", "pcm", "flac"]);

/** Whether a format holds 16-bit integers as they are: then samples may come as such, which spares their making. */
export function holdsIntegers(format: OutputFormat): boolean {
  return OF_INTEGERS.has(format);
}

export interface EncoderOptions {
  /** Hz */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  /** Bits a second, for mp3, aac and opus. */
  readonly bitrate?: number | undefined;
  /** pcm: 16-bit integers (the default) or 32-bit floats, both little-endian. */
  readonly sampleFormat?: "s16" | "f32" | undefined;
  /** wav: frames to come, where they are known; otherwise the header says that they are not. */
  readonly totalFrames?: number | undefined;
}

/** One stream. Bytes leave as early as the format allows; an empty array means that more samples are needed. */
export interface Encoder {
  readonly contentType: string;
  /** Whole frames of interleaved samples; floats beyond [-1, 1] are clipped. */
  push(pcm: Samples): Uint8Array;
  /** The tail, without which the last milliseconds are lost. Call it once; it closes the encoder. */
  end(): Uint8Array;
  /** Frees memory of a stream that will not be ended; harmless otherwise. */
  close(): void;
}
