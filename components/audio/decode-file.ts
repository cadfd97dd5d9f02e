/** Turns an uploaded file into samples with the browser's own decoders. Keeps nothing and sends nothing anywhere. */

/** `too_large`: in bytes. `unreadable`: not audio, damaged, or a format that this browser does not decode. */
export type DecodeErrorCode = "empty" | "too_large" | "unreadable" | "too_long" | "no_sound";

export class DecodeError extends Error {
  override readonly name = "DecodeError";

  constructor(
    readonly code: DecodeErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export interface DecodeLimits {
  readonly maxBytes?: number;
  readonly maxSeconds?: number;
}

export interface DecodedFile {
  /** Samples, mostly from -1 to 1, one plane a channel. */
  readonly planes: readonly Float32Array[];
  /** Hz: the file's own for WAV, else the one that everything is decoded to. */
  readonly sampleRate: number;
  readonly seconds: number;
}

const DEFAULT_RATE = 48_000;
const MIN_RATE = 8000;
const MAX_RATE = 96_000;
const DEFAULT_MAX_BYTES = 50 * 2 ** 20;
/** A long file can be trimmed to what a voice needs, within reason. */
const DEFAULT_MAX_SECONDS = 600;

/**
 * Decodes a file.
 * @throws DecodeError
 */
export async function decodeFile(file: Blob, limits: DecodeLimits = {}): Promise<DecodedFile> {
  const { maxBytes = DEFAULT_MAX_BYTES, maxSeconds = DEFAULT_MAX_SECONDS } = limits;
  if (file.size === 0) throw new DecodeError("empty", "The file is empty.");
  if (file.size > maxBytes) {
    const [size, most] = [file.size, maxBytes].map((bytes) => (bytes / 2 ** 20).toFixed(1));
    throw new DecodeError("too_large", `The file has ${size} MiB; at most ${most} are read.`);
  }
  const bytes = await file.arrayBuffer();
  const context = new OfflineAudioContext(1, 1, wavRate(new DataView(bytes)) ?? DEFAULT_RATE);
  const audio = await context.decodeAudioData(bytes).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DecodeError("unreadable", `This browser cannot decode the file: ${reason}`);
  });
  if (audio.length === 0) throw new DecodeError("no_sound", "The file holds no samples.");
  if (audio.duration > maxSeconds) {
    throw new DecodeError(
      "too_long",
      `The file lasts ${audio.duration.toFixed(1)} s; at most ${maxSeconds} s are read.`,
    );
  }
  const planes = Array.from({ length: audio.numberOfChannels }, (_, channel) =>
    audio.getChannelData(channel),
  );
  return { planes, sampleRate: audio.sampleRate, seconds: audio.duration };
}

/** The rate that a WAV file states, if it is one that browsers can decode to. */
function wavRate(file: DataView): number | undefined {
  const tag = (at: number) =>
    String.fromCharCode(...new Uint8Array(file.buffer, at, Math.min(4, file.byteLength - at)));
  if (file.byteLength < 44 || tag(0) !== "RIFF" || tag(8) !== "WAVE" || tag(12) !== "fmt ") {
    return undefined;
  }
  const rate = file.getUint32(24, true);
  return rate >= MIN_RATE && rate <= MAX_RATE ? rate : undefined;
}
