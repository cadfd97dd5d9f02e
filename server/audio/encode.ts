/** Encoders for streamed output, by the name of the format. Only what needs a library is loaded, when it is first used. */
import { createAacEncoder } from "./aac.ts";
import type { Encoder, EncoderOptions, OutputFormat } from "./encoder.ts";
import { CONTENT_TYPES, OUTPUT_FORMATS } from "./encoder.ts";
import { AudioError } from "./error.ts";
import { createFlacEncoder } from "./flac.ts";
import { createMp3Encoder } from "./mp3.ts";
import { createOpusEncoder } from "./opus.ts";
import { concatBytes, toFloat32Bytes, toFloats, toPcm16 } from "./pcm.ts";
import { wavHeader } from "./wav.ts";

/**
 * Creates the encoder for one stream.
 * @throws AudioError `unsupported_output` for an unknown format, rate or bitrate.
 */
export async function createEncoder(
  format: OutputFormat,
  options: EncoderOptions,
): Promise<Encoder> {
  const { sampleRate, channels } = options;
  switch (format) {
    case "pcm":
      return createPcmEncoder(options.sampleFormat ?? "s16");
    case "wav":
      return createWavEncoder(options);
    case "flac":
      return createFlacEncoder(sampleRate, channels);
    case "mp3":
      return createMp3Encoder(options);
    case "opus":
      return createOpusEncoder(options);
    case "aac":
      return createAacEncoder(options);
    default:
      throw new AudioError(
        "unsupported_output",
        `The format ${JSON.stringify(format)} is not supported; use ${OUTPUT_FORMATS.join(", ")}.`,
      );
  }
}

/** Encodes a whole recording [frames * channels] at once; a wav gets its true length. */
export async function encodeAll(
  format: OutputFormat,
  pcm: Float32Array,
  options: EncoderOptions,
): Promise<Uint8Array> {
  const totalFrames = pcm.length / options.channels;
  const encoder = await createEncoder(format, { ...options, totalFrames });
  return concatBytes([encoder.push(pcm), encoder.end()]);
}

function createPcmEncoder(sampleFormat: "s16" | "f32"): Encoder {
  return {
    contentType: CONTENT_TYPES.pcm,
    push: sampleFormat === "s16" ? toPcm16 : (pcm) => toFloat32Bytes(toFloats(pcm)),
    end: () => new Uint8Array(0),
    close() {},
  };
}

function createWavEncoder({ sampleRate, channels, totalFrames }: EncoderOptions): Encoder {
  let header: Uint8Array | undefined = wavHeader(sampleRate, channels, totalFrames);
  const withHeader = (samples: Uint8Array) => {
    if (header === undefined) return samples;
    const bytes = concatBytes([header, samples]);
    header = undefined;
    return bytes;
  };
  return {
    contentType: CONTENT_TYPES.wav,
    push: (pcm) => withHeader(toPcm16(pcm)),
    end: () => withHeader(new Uint8Array(0)),
    close() {},
  };
}
