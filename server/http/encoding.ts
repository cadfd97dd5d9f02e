/** A session's audio as bytes of a format: piece by piece while it is being made, or as one file. */
import { createEncoder } from "../audio/encode.ts";
import type { Encoder } from "../audio/encoder.ts";
import { AudioError } from "../audio/error.ts";
import { concatBytes } from "../audio/pcm.ts";
import { wavHeader } from "../audio/wav.ts";
import { ApiError } from "../protocol/envelope.ts";
import { type AudioFormat, CONTENT_TYPES } from "../protocol/formats.ts";
import type { AudioReady } from "../speech/types.ts";
import { timedEncoder } from "./timed-encoder.ts";

export interface EncodedPiece {
  /** Never empty. */
  readonly bytes: Uint8Array;
  /** Where its audio begins, and how much there is of it. */
  readonly startMs: number;
  readonly durationMs: number;
}

export interface AudioShape {
  readonly format: AudioFormat;
  /** Hz */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
}

/** Hears how long audio took to encode. */
export interface EncodingMetrics {
  encoded(format: AudioFormat, seconds: number): void;
}

/** @throws ApiError `unsupported_format` for a rate that the format cannot carry */
export async function encoderFor(
  { format, sampleRate, channels }: AudioShape,
  metrics: EncodingMetrics,
): Promise<Encoder> {
  try {
    const encoder = await createEncoder(format, { sampleRate, channels });
    return timedEncoder(encoder, (seconds) => metrics.encoded(format, seconds));
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    const details = { param: "response_format", cause: error };
    throw new ApiError("unsupported_format", error.message, details);
  }
}

/** Encodes while audio arrives; the encoder's tail is the last piece. Frees the encoder however it ends. */
export async function* encodedAudio(
  audio: AsyncIterable<AudioReady>,
  encoder: Encoder,
): AsyncGenerator<EncodedPiece, void> {
  let startMs = 0;
  let durationMs = 0;
  const piece = (bytes: Uint8Array): EncodedPiece => {
    const made = { bytes, startMs, durationMs };
    startMs += durationMs;
    durationMs = 0;
    return made;
  };
  try {
    for await (const { pcm, sampleRate, channels } of audio) {
      durationMs += (1000 * pcm.length) / (channels * sampleRate);
      const bytes = encoder.push(pcm);
      if (bytes.length > 0) yield piece(bytes);
    }
    const tail = encoder.end();
    if (tail.length > 0) yield piece(tail);
  } finally {
    encoder.close();
  }
}

/** A whole file. Encoded while audio arrives as well, so that a long text never holds up other requests. */
export async function encodedFile(
  audio: AsyncIterable<AudioReady>,
  shape: AudioShape,
  metrics: EncodingMetrics,
): Promise<{ readonly bytes: Uint8Array; readonly contentType: string }> {
  const { format, sampleRate, channels } = shape;
  // The length in a WAV header is only known at the end.
  const encoder = await encoderFor(format === "wav" ? { ...shape, format: "pcm" } : shape, {
    encoded: (_, seconds) => metrics.encoded(format, seconds),
  });
  const parts: Uint8Array[] = [];
  for await (const { bytes } of encodedAudio(audio, encoder)) parts.push(bytes);
  if (format === "wav") {
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    parts.unshift(wavHeader(sampleRate, channels, size / (2 * channels)));
  }
  return { bytes: concatBytes(parts), contentType: CONTENT_TYPES[format] };
}
