/** WAV files: built for download, and read while they arrive, so that a header is never taken for sound. Pure. */
import type { Samples } from "./take-audio.ts";

const HEADER_BYTES = 44;
const PCM_16 = 1;
const FLOAT_32 = 3;
/** Formats that are spelled out in a longer chunk begin with this; the true format follows. */
const EXTENSIBLE = 0xfffe;
/** More than this in front of the sound is not a header. */
const MAX_HEADER_BYTES = 2 ** 20;

/** A file of interleaved samples: 16-bit ones as they are, floats as 32-bit floats. */
export function buildWav(samples: Samples, sampleRate: number, channels: number): Blob {
  const isFloat = samples instanceof Float32Array;
  const bytesPerSample = isFloat ? 4 : 2;
  const dataBytes = samples.length * bytesPerSample;
  const file = new DataView(new ArrayBuffer(HEADER_BYTES + dataBytes));
  writeTag(file, 0, "RIFF");
  file.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  writeTag(file, 8, "WAVEfmt ");
  file.setUint32(16, 16, true);
  file.setUint16(20, isFloat ? FLOAT_32 : PCM_16, true);
  file.setUint16(22, channels, true);
  file.setUint32(24, sampleRate, true);
  file.setUint32(28, sampleRate * channels * bytesPerSample, true);
  file.setUint16(32, channels * bytesPerSample, true);
  file.setUint16(34, bytesPerSample * 8, true);
  writeTag(file, 36, "data");
  file.setUint32(40, dataBytes, true);
  for (let i = 0; i < samples.length; i++) {
    const at = HEADER_BYTES + i * bytesPerSample;
    if (isFloat) file.setFloat32(at, samples[i] ?? 0, true);
    else file.setInt16(at, samples[i] ?? 0, true);
  }
  return new Blob([file.buffer], { type: "audio/wav" });
}

export interface WavShape {
  readonly sampleRate: number;
  readonly channels: 1 | 2;
}

/** Thrown for a stream that is not a WAV file of 16-bit PCM with one or two channels. */
export class WavError extends Error {
  override readonly name = "WavError";
}

/** Takes the header off a WAV file of 16-bit PCM that arrives in pieces of any size, also one of unknown length. */
export class WavReader {
  #head = new Uint8Array(0);
  #shape: WavShape | undefined;
  /** Bytes of sound that are still to come. */
  #left = 0;

  /** Known as soon as `push` has returned sound. */
  get shape(): WavShape | undefined {
    return this.#shape;
  }

  /**
   * The next bytes of the file.
   * @returns the bytes of sound among them, none of the header and none of what follows the sound
   * @throws WavError
   */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#shape !== undefined) return this.#take(bytes);
    const head = new Uint8Array(this.#head.length + bytes.length);
    head.set(this.#head);
    head.set(bytes, this.#head.length);
    this.#head = head;
    const start = this.#parse(new DataView(head.buffer));
    if (start === undefined) {
      if (head.length > MAX_HEADER_BYTES) throw new WavError("No sound in the first MiB.");
      return new Uint8Array(0);
    }
    this.#head = new Uint8Array(0);
    return this.#take(head.subarray(start));
  }

  #take(bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, this.#left);
    this.#left -= taken.length;
    return taken;
  }

  /** Where sound starts; undefined as long as that is not known. */
  #parse(head: DataView): number | undefined {
    if (head.byteLength < 12) return undefined;
    if (readTag(head, 0) !== "RIFF" || readTag(head, 8) !== "WAVE") {
      throw new WavError("This is not a WAV file.");
    }
    let shape: WavShape | undefined;
    for (let at = 12; at + 8 <= head.byteLength; ) {
      const tag = readTag(head, at);
      const size = head.getUint32(at + 4, true);
      const body = at + 8;
      if (tag === "data") {
        if (shape === undefined) throw new WavError("The WAV file does not say what it holds.");
        this.#shape = shape;
        // A stream of unknown length says 0 or the largest number.
        this.#left = size === 0 || size === 0xffffffff ? Number.POSITIVE_INFINITY : size;
        return body;
      }
      if (body + size > head.byteLength) return undefined;
      if (tag === "fmt ") shape = readShape(head, body, size);
      at = body + size + (size % 2);
    }
    return undefined;
  }
}

function readShape(head: DataView, at: number, size: number): WavShape {
  if (size < 16) throw new WavError("The WAV file's format is cut short.");
  const named = head.getUint16(at, true);
  const format = named === EXTENSIBLE && size >= 26 ? head.getUint16(at + 24, true) : named;
  const channels = head.getUint16(at + 2, true);
  const bits = head.getUint16(at + 14, true);
  if (format !== PCM_16 || bits !== 16 || (channels !== 1 && channels !== 2)) {
    throw new WavError(
      `Only 16-bit PCM with one or two channels can be played as it comes; this is format ${format}, ${bits} bits, ${channels} channels.`,
    );
  }
  return { sampleRate: head.getUint32(at + 4, true), channels };
}

function writeTag(view: DataView, at: number, tag: string): void {
  for (let i = 0; i < tag.length; i++) view.setUint8(at + i, tag.charCodeAt(i));
}

function readTag(view: DataView, at: number): string {
  return String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at, 4));
}
