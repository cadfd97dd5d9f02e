/**
 * AAC-LC in ADTS frames through the encoder of libavcodec in WebAssembly. One module serves all streams; each has a
 * context in it, which must be closed.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { CONTENT_TYPES, type Encoder, type EncoderOptions } from "./encoder.ts";
import { AudioError } from "./error.ts";
import { clamp, concatBytes, concatSamples, type Samples, toFloats } from "./pcm.ts";

const RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000,
];
const DEFAULT_BITS_PER_SAMPLE = 2;
const MIN_BITRATE = 8_000;
const MAX_BITS_PER_SAMPLE = 6;
const ADTS_BYTES = 7;

/** Functions of the WebAssembly module; `context` and results are addresses in its memory. */
interface LibAac {
  readonly HEAPU8: Uint8Array;
  _init_encoder(channels: number, sampleRate: number, bitrate: number): number;
  _get_encoder_frame_size(context: number): number;
  _get_encode_input_ptr(context: number, bytes: number): number;
  _send_frame(context: number, position: bigint): number;
  _receive_packet(context: number): number;
  _get_encoded_data(context: number): number;
  _flush_encoder_start(context: number): void;
  _close_encoder(context: number): void;
}

let library: Promise<LibAac> | undefined;

/** @throws AudioError `unsupported_output` for a rate or bitrate that AAC does not have. */
export async function createAacEncoder(options: EncoderOptions): Promise<Encoder> {
  const { sampleRate, channels } = options;
  const rateIndex = RATES.indexOf(sampleRate);
  if (rateIndex < 0) {
    throw new AudioError(
      "unsupported_output",
      `aac has no sample rate of ${sampleRate} Hz; use ${RATES.toReversed().join(", ")}.`,
    );
  }
  const bitrate = options.bitrate ?? sampleRate * channels * DEFAULT_BITS_PER_SAMPLE;
  const maxBitrate = sampleRate * channels * MAX_BITS_PER_SAMPLE;
  if (!(bitrate >= MIN_BITRATE && bitrate <= maxBitrate)) {
    throw new AudioError(
      "unsupported_output",
      `aac at ${sampleRate} Hz has no bitrate of ${bitrate} bit/s; use ${MIN_BITRATE} to ${maxBitrate}.`,
    );
  }
  library ??= loadLibrary();
  return new AacEncoder(await library, channels, sampleRate, rateIndex, bitrate);
}

/**
 * The package wraps its module for browsers, with a thread for every stream. The module inside serves any number of
 * streams, but its file is neither CommonJS nor an ES module, and its export is turned into one here.
 */
async function loadLibrary(): Promise<LibAac> {
  const entry = createRequire(import.meta.url).resolve("@mediabunny/aac-encoder");
  const file = new URL("../modules/build/aac.js", pathToFileURL(entry));
  const source = (await readFile(file, "utf8"))
    .replace('Object.defineProperty(exports, "__esModule", { value: true });', "")
    .replace("exports.default =", "export default");
  const url = `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`;
  const module: { default: () => Promise<LibAac> } = await import(url);
  return module.default();
}

class AacEncoder implements Encoder {
  readonly contentType = CONTENT_TYPES.aac;
  readonly #lib: LibAac;
  readonly #channels: number;
  readonly #rateIndex: number;
  readonly #context: number;
  /** Samples of one AAC frame, all channels. */
  readonly #frameSamples: number;
  #pending = new Float32Array(0);
  #position = 0;
  #open = true;

  constructor(
    lib: LibAac,
    channels: number,
    sampleRate: number,
    rateIndex: number,
    bitrate: number,
  ) {
    this.#lib = lib;
    this.#channels = channels;
    this.#rateIndex = rateIndex;
    this.#context = lib._init_encoder(channels, sampleRate, bitrate);
    if (this.#context === 0) throw new Error("The AAC encoder could not be started");
    this.#frameSamples = lib._get_encoder_frame_size(this.#context) * channels;
  }

  push(pcm: Samples): Uint8Array {
    const samples = concatSamples([this.#pending, toFloats(pcm)]);
    const out: Uint8Array[] = [];
    let at = 0;
    for (; at + this.#frameSamples <= samples.length; at += this.#frameSamples) {
      out.push(this.#encode(samples.subarray(at, at + this.#frameSamples)));
    }
    this.#pending = samples.slice(at);
    return concatBytes(out);
  }

  end(): Uint8Array {
    const out: Uint8Array[] = [];
    if (this.#pending.length > 0) {
      const padded = new Float32Array(this.#frameSamples);
      padded.set(this.#pending);
      out.push(this.#encode(padded));
    }
    this.#lib._flush_encoder_start(this.#context);
    out.push(this.#receive());
    this.close();
    return concatBytes(out);
  }

  close(): void {
    if (this.#open) this.#lib._close_encoder(this.#context);
    this.#open = false;
  }

  #encode(frame: Float32Array): Uint8Array {
    const address = this.#lib._get_encode_input_ptr(this.#context, frame.length * 4);
    const input = new Float32Array(this.#lib.HEAPU8.buffer, address, frame.length);
    frame.forEach((sample, i) => {
      input[i] = clamp(sample);
    });
    const status = this.#lib._send_frame(this.#context, BigInt(this.#position));
    if (status < 0) throw new Error(`The AAC encoder failed with status ${status}`);
    this.#position += frame.length / this.#channels;
    return this.#receive();
  }

  /** Every packet that is ready, each behind its header. */
  #receive(): Uint8Array {
    const out: Uint8Array[] = [];
    for (;;) {
      const size = this.#lib._receive_packet(this.#context);
      if (size <= 0) return concatBytes(out);
      const address = this.#lib._get_encoded_data(this.#context);
      out.push(this.#adtsHeader(size), this.#lib.HEAPU8.slice(address, address + size));
    }
  }

  /** MPEG-4, AAC-LC, no checksum, one raw block a frame. */
  #adtsHeader(size: number): Uint8Array {
    const length = size + ADTS_BYTES;
    return Uint8Array.of(
      0xff,
      0xf1,
      (1 << 6) | (this.#rateIndex << 2),
      (this.#channels << 6) | (length >> 11),
      (length >> 3) & 0xff,
      ((length & 7) << 5) | 0x1f,
      0xfc,
    );
  }
}
