/**
 * Opus in Ogg (RFC 7845) through libopus in WebAssembly: packets of 20 ms, one page for every push that completes a
 * packet. The end of the last page says where the audio ends, so the decoded length is exact.
 */
import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { Resampler } from "./convert.ts";
import { CONTENT_TYPES, type Encoder, type EncoderOptions } from "./encoder.ts";
import { AudioError } from "./error.ts";
import { OggWriter } from "./ogg.ts";
import { concatBytes, concatSamples, type Samples, toFloats, toPcm16 } from "./pcm.ts";

/** Granule positions and the header count in this rate, whatever goes in. */
const GRANULE_RATE = 48_000;
const RATES = [8000, 12_000, 16_000, 24_000, 48_000];
const PACKET_SECONDS = 0.02;
const DEFAULT_BITRATE = { 1: 64_000, 2: 96_000 } as const;
const MIN_BITRATE = 6_000;
const MAX_BITRATE = 256_000;
/** Packets a page; each takes at most five lacing values at 256 kbit/s. */
const MAX_PAGE_PACKETS = 50;

const SET_BITRATE = 4002;
const GET_LOOKAHEAD = 4027;

/** The part of the library that is used. It is loaded by path to get WebAssembly and not a prebuilt native file. */
interface LibOpus {
  Encoder: new (options: {
    channels: number;
    sample_rate: number;
    application: "voip" | "audio";
  }) => {
    ctl(command: number, value?: number): number;
    /** 16-bit samples of one packet. */
    encode(pcm: Uint8Array): Uint8Array;
    drop(): void;
  };
}

let library: LibOpus | undefined;

/** @throws AudioError `unsupported_output` for a bitrate outside of 6 to 256 kbit/s. */
export async function createOpusEncoder(options: EncoderOptions): Promise<Encoder> {
  const bitrate = options.bitrate ?? DEFAULT_BITRATE[options.channels];
  if (!(bitrate >= MIN_BITRATE && bitrate <= MAX_BITRATE)) {
    throw new AudioError(
      "unsupported_output",
      `opus has no bitrate of ${bitrate} bit/s; use ${MIN_BITRATE} to ${MAX_BITRATE}.`,
    );
  }
  library ??= createRequire(import.meta.url)("@evan/opus/wasm/index.js") as LibOpus;
  return new OggOpusEncoder(library, options, bitrate);
}

class OggOpusEncoder implements Encoder {
  readonly contentType = CONTENT_TYPES.opus;
  readonly #channels: number;
  readonly #rate: number;
  readonly #resampler: Resampler | undefined;
  readonly #opus: InstanceType<LibOpus["Encoder"]>;
  readonly #ogg = new OggWriter(randomBytes(4).readUInt32LE());
  /** Samples at 48 kHz that the encoder puts in front; the decoder drops them. */
  readonly #preSkip: number;
  readonly #packetFrames: number;
  #headers: Uint8Array[];
  /** Interleaved samples short of a packet. */
  #pending = new Float32Array(0);
  #packets = 0;
  #framesIn = 0;
  #open = true;

  constructor(library: LibOpus, { sampleRate, channels }: EncoderOptions, bitrate: number) {
    this.#channels = channels;
    this.#rate = RATES.includes(sampleRate) ? sampleRate : GRANULE_RATE;
    if (this.#rate !== sampleRate) {
      this.#resampler = new Resampler(sampleRate, this.#rate, channels);
    }
    this.#opus = new library.Encoder({ channels, sample_rate: this.#rate, application: "audio" });
    this.#opus.ctl(SET_BITRATE, bitrate);
    const lookahead = this.#opus.ctl(GET_LOOKAHEAD);
    this.#preSkip = Math.round((lookahead * GRANULE_RATE) / this.#rate);
    this.#packetFrames = this.#rate * PACKET_SECONDS;
    this.#headers = [
      this.#ogg.page([opusHead(channels, this.#preSkip, sampleRate)], 0),
      this.#ogg.page([opusTags()], 0),
    ];
  }

  push(pcm: Samples): Uint8Array {
    const floats = toFloats(pcm);
    const samples = this.#resampler?.push(floats) ?? floats;
    this.#framesIn += samples.length / this.#channels;
    return concatBytes([...this.#takeHeaders(), ...this.#pages(this.#encode(samples))]);
  }

  end(): Uint8Array {
    const tail = this.#resampler?.end() ?? new Float32Array(0);
    this.#framesIn += tail.length / this.#channels;
    const granule = this.#preSkip + this.#toGranule(this.#framesIn);
    const frames = Math.ceil((granule * this.#rate) / GRANULE_RATE);
    const missing = Math.max(1, Math.ceil(frames / this.#packetFrames)) - this.#packets;
    const padded = new Float32Array(missing * this.#packetFrames * this.#channels);
    const rest = concatSamples([this.#pending, tail]);
    padded.set(rest);
    this.#pending = new Float32Array(0);
    const pages = this.#pages(this.#encode(padded), granule);
    this.close();
    return concatBytes([...this.#takeHeaders(), ...pages]);
  }

  close(): void {
    if (this.#open) this.#opus.drop();
    this.#open = false;
  }

  #takeHeaders(): Uint8Array[] {
    const headers = this.#headers;
    this.#headers = [];
    return headers;
  }

  #encode(samples: Float32Array): Uint8Array[] {
    const pcm = concatSamples([this.#pending, samples]);
    const size = this.#packetFrames * this.#channels;
    const packets: Uint8Array[] = [];
    let at = 0;
    for (; at + size <= pcm.length; at += size) {
      packets.push(this.#opus.encode(toPcm16(pcm.subarray(at, at + size))));
    }
    this.#pending = pcm.slice(at);
    return packets;
  }

  /** @param endGranule position of the end of the audio; makes the last page the last of the stream. */
  #pages(packets: Uint8Array[], endGranule?: number): Uint8Array[] {
    const pages: Uint8Array[] = [];
    for (let at = 0; at < packets.length; at += MAX_PAGE_PACKETS) {
      const group = packets.slice(at, at + MAX_PAGE_PACKETS);
      this.#packets += group.length;
      const last = endGranule !== undefined && at + MAX_PAGE_PACKETS >= packets.length;
      const granule = this.#toGranule(this.#packets * this.#packetFrames);
      pages.push(this.#ogg.page(group, last ? endGranule : granule, last));
    }
    return pages;
  }

  #toGranule(frames: number): number {
    return Math.round((frames * GRANULE_RATE) / this.#rate);
  }
}

/** The identification header: version, channels, pre-skip, original rate, no gain, mono or stereo. */
function opusHead(channels: number, preSkip: number, sampleRate: number): Uint8Array {
  const bytes = new Uint8Array(19);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("OpusHead"));
  bytes[8] = 1;
  bytes[9] = channels;
  view.setUint16(10, preSkip, true);
  view.setUint32(12, sampleRate, true);
  return bytes;
}

/** The comment header: who encoded, and no comments. */
function opusTags(): Uint8Array {
  const vendor = new TextEncoder().encode("sonant");
  const bytes = new Uint8Array(16 + vendor.length);
  bytes.set(new TextEncoder().encode("OpusTags"));
  new DataView(bytes.buffer).setUint32(8, vendor.length, true);
  bytes.set(vendor, 12);
  return bytes;
}
