/**
 * MP3 through LAME in WebAssembly. The module is compiled once; every stream has an instance of its own, so that streams
 * cannot disturb each other and memory goes with the stream.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createEncoder as createWasmEncoder } from "wasm-media-encoders";
import { CONTENT_TYPES, type Encoder, type EncoderOptions } from "./encoder.ts";
import { AudioError } from "./error.ts";
import { clamp, deinterleave, toFloats } from "./pcm.ts";

const RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
/** Bitrates in kbit/s of MPEG-1 (32 kHz and up), MPEG-2 (16 kHz and up) and MPEG-2.5. */
const MPEG1_KBPS = [32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320] as const;
const MPEG2_KBPS = [8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160] as const;
const MPEG25_KBPS = [8, 16, 24, 32, 40, 48, 64] as const;

/** LAME makes everything quieter by this factor, so that rounding cannot clip; levels should stay what they are. */
const LAME_SCALE = 0.95;

let compiled: Promise<WebAssembly.Module> | undefined;

/** @throws AudioError `unsupported_output` for a rate or bitrate that MP3 does not have. */
export async function createMp3Encoder(options: EncoderOptions): Promise<Encoder> {
  const { sampleRate, channels } = options;
  const rate = RATES.find((known) => known === sampleRate);
  if (rate === undefined) {
    throw new AudioError(
      "unsupported_output",
      `mp3 has no sample rate of ${sampleRate} Hz; use ${RATES.join(", ")}.`,
    );
  }
  const allowed = rate >= 32_000 ? MPEG1_KBPS : rate >= 16_000 ? MPEG2_KBPS : MPEG25_KBPS;
  const kbps = options.bitrate === undefined ? defaultKbps(rate) : options.bitrate / 1000;
  const bitrate = allowed.find((known) => known === kbps);
  if (bitrate === undefined) {
    throw new AudioError(
      "unsupported_output",
      `mp3 at ${rate} Hz has no bitrate of ${kbps} kbit/s; use ${allowed.join(", ")}.`,
    );
  }
  compiled ??= compile();
  const lame = await createWasmEncoder("audio/mpeg", await compiled);
  lame.configure({ channels, sampleRate: rate, outputSampleRate: rate, bitrate });
  return {
    contentType: CONTENT_TYPES.mp3,
    push(pcm) {
      const limited = toFloats(pcm).map((sample) => clamp(sample) / LAME_SCALE);
      return lame.encode(deinterleave(limited, channels)).slice();
    },
    end: () => lame.finalize().slice(),
    close() {},
  };
}

function defaultKbps(rate: number): number {
  return rate >= 32_000 ? 128 : rate >= 16_000 ? 64 : 32;
}

async function compile(): Promise<WebAssembly.Module> {
  const path = createRequire(import.meta.url).resolve("wasm-media-encoders/wasm/mp3");
  return WebAssembly.compile(await readFile(path));
}
