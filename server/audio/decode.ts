/**
 * Uploaded and fetched recordings to samples. The format is decided by content; sizes, decoded length and time are
 * bounded before memory is spent. Resampling and any judgement about the speech inside are left to others.
 */
import { type CodecJob, runCodec } from "./codec-pool.ts";
import { AudioError, corrupt, READABLE_FORMATS, tooLong } from "./error.ts";
import { clamp, concatBytes } from "./pcm.ts";
import { type AudioFormat, mpegFrame, sniffAudio } from "./sniff.ts";
import { readWav } from "./wav.ts";
import { readWebmOpus } from "./webm.ts";

/** Samples of a recording, clamped to [-1, 1] and finite. */
export interface DecodedAudio {
  /** Interleaved, [frames * channels] */
  readonly pcm: Float32Array;
  readonly channels: number;
  /** Hz, as stored in the file */
  readonly sampleRate: number;
  readonly format: AudioFormat;
  /** Share of samples that were louder than full scale before clamping, 0 to 1. */
  readonly overShare: number;
}

export interface DecodeOptions {
  /** Longest decoded audio, in seconds. */
  readonly maxSeconds?: number;
  /** Largest file, in bytes. */
  readonly maxBytes?: number;
  /** Longest time in the decoder, in milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export const DEFAULT_MAX_DECODED_SECONDS = 120;
export const DEFAULT_MAX_FILE_BYTES = 25 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 10_000;
/** Frames times channels: 120 s of stereo at 96 kHz, 92 MB. */
const MAX_SAMPLES = 23_040_000;

/**
 * Decodes a whole recording.
 * @throws AudioError `not_audio`, `unsupported_format`, `corrupt`, `too_large`, `too_long`, `timeout` or `aborted`.
 */
export async function decodeAudio(
  bytes: Uint8Array,
  options: DecodeOptions = {},
): Promise<DecodedAudio> {
  const { maxSeconds = DEFAULT_MAX_DECODED_SECONDS, maxBytes = DEFAULT_MAX_FILE_BYTES } = options;
  if (bytes.length > maxBytes) {
    const megabytes = (size: number) => (size / (1024 * 1024)).toFixed(1);
    throw new AudioError(
      "too_large",
      `Audio file too large (${megabytes(bytes.length)} MiB). Maximum ${megabytes(maxBytes)} MiB allowed.`,
    );
  }
  if (options.signal?.aborted) throw new AudioError("aborted", "Decoding was cancelled.");
  const sniffed = sniffAudio(bytes);
  if (sniffed.format === undefined) {
    throw new AudioError(
      sniffed.audio ? "unsupported_format" : "not_audio",
      `Could not decode audio file: Format not recognised, found ${sniffed.found}; allowed are ${READABLE_FORMATS}.`,
    );
  }
  const { format, offset } = sniffed;
  const content = bytes.subarray(offset);
  if (format === "wav") return finish(readWav(content, maxSeconds), format, maxSeconds);
  const job = codecJob(format, content, maxSeconds);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const decoded = await runCodec(job, format, timeoutMs, options.signal);
  return finish(format === "mp3" ? foldMono(decoded, content) : decoded, format, maxSeconds);
}

function codecJob(
  format: Exclude<AudioFormat, "wav">,
  content: Uint8Array,
  maxSeconds: number,
): CodecJob {
  const limits = { maxSeconds, maxSamples: MAX_SAMPLES };
  switch (format) {
    case "webm": {
      const { packets, channels, preSkip } = readWebmOpus(content);
      const bytes = concatBytes(packets);
      const packetSizes = packets.map((packet) => packet.length);
      return { codec: "opus-packets", bytes, packetSizes, channels, preSkip, ...limits };
    }
    case "flac":
      checkFlacHeader(content, maxSeconds);
      return { codec: "flac", bytes: content, ...limits };
    case "ogg-flac":
      return { codec: "flac", bytes: content, ...limits };
    case "mp4":
    case "aac":
      return { codec: "ffmpeg", bytes: content, ...limits };
    default:
      return { codec: format, bytes: content, ...limits };
  }
}

/** Refuses a FLAC file by the length that its first block states, before anything is decoded. */
function checkFlacHeader(content: Uint8Array, maxSeconds: number): void {
  if (content.length < 26) throw corrupt("flac", "ends inside its header");
  const byte = (at: number) => content[at] ?? 0;
  const sampleRate = (byte(18) << 12) | (byte(19) << 4) | (byte(20) >> 4);
  const frames =
    (byte(21) & 15) * 2 ** 32 +
    byte(22) * 2 ** 24 +
    ((byte(23) << 16) | (byte(24) << 8) | byte(25));
  if (sampleRate === 0) throw corrupt("flac", "states a sample rate of 0 Hz");
  if (frames > maxSeconds * sampleRate) throw tooLong(maxSeconds);
}

/** The MPEG decoder always answers with two channels; a file of one has them equal. */
function foldMono(
  audio: { pcm: Float32Array; channels: number; sampleRate: number },
  content: Uint8Array,
): { pcm: Float32Array; channels: number; sampleRate: number } {
  if (audio.channels !== 2 || mpegFrame(content, 0)?.channels !== 1) return audio;
  const pcm = new Float32Array(audio.pcm.length / 2);
  for (let i = 0; i < pcm.length; i++) pcm[i] = audio.pcm[i * 2] ?? 0;
  return { pcm, channels: 1, sampleRate: audio.sampleRate };
}

/** Checks what a decoder returned and clamps it; every sample is finite afterwards. */
function finish(
  audio: { pcm: Float32Array; channels: number; sampleRate: number },
  format: AudioFormat,
  maxSeconds: number,
): DecodedAudio {
  const { pcm, channels, sampleRate } = audio;
  if (pcm.length === 0 || channels < 1 || !(sampleRate > 0)) {
    throw corrupt(format, "holds no audio that can be decoded");
  }
  if (pcm.length > MAX_SAMPLES) throw tooLong(maxSeconds);
  let over = 0;
  for (let i = 0; i < pcm.length; i++) {
    const sample = pcm[i] ?? 0;
    if (sample >= -1 && sample <= 1) continue;
    pcm[i] = clamp(sample);
    over++;
  }
  return { pcm, channels, sampleRate, format, overShare: over / pcm.length };
}
