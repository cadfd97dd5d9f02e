import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  BufferTarget,
  type OutputFormat as Container,
  EncodedAudioPacketSource,
  EncodedPacket,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from "mediabunny";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createOggEncoder } from "wasm-media-encoders";
import { type DecodedAudio, decodeAudio } from "./decode.ts";
import { encodeAll } from "./encode.ts";
import { AudioError } from "./error.ts";
import { concatBytes, rms } from "./pcm.ts";
import { adtsFrame, sniffAudio } from "./sniff.ts";
import { frequency, RECORDINGS, randomNumbers, sine } from "./test-audio.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const SHAPE = { sampleRate: 48_000, channels: 1 } as const;
const TONE = sine(440, 1);
const text = new TextEncoder();
/** Mutations a file; the formats that are not named cost most and share one decoder. */
const ROUNDS: Record<string, number> = {
  wav: 120,
  flac: 30,
  mp3: 30,
  opus: 30,
  "ogg-vorbis": 30,
  webm: 30,
};

/** The packets of an Ogg Opus file without its two headers. */
function oggPackets(bytes: Uint8Array): Uint8Array[] {
  const packets: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const segments = bytes[at + 26] ?? 0;
    let body = at + 27 + segments;
    let start = body;
    for (let i = 0; i < segments; i++) {
      const lacing = bytes[at + 27 + i] ?? 0;
      body += lacing;
      if (lacing < 255) packets.push(bytes.slice(start, body));
      if (lacing < 255) start = body;
    }
    at = body;
  }
  return packets.slice(2);
}

function adtsPackets(bytes: Uint8Array): Uint8Array[] {
  const packets: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = adtsFrame(bytes, at)?.bytes ?? bytes.length;
    packets.push(bytes.slice(at + 7, at + length));
    at += length;
  }
  return packets;
}

async function mux(
  format: Container,
  codec: "aac" | "opus",
  description: Uint8Array,
  packets: Uint8Array[],
  seconds: number,
): Promise<Uint8Array> {
  const output = new Output({ format, target: new BufferTarget() });
  const source = new EncodedAudioPacketSource(codec);
  output.addAudioTrack(source);
  await output.start();
  const decoderConfig = {
    codec: codec === "aac" ? "mp4a.40.2" : "opus",
    sampleRate: 48_000,
    numberOfChannels: 1,
    description,
  };
  for (const [i, packet] of packets.entries()) {
    await source.add(new EncodedPacket(packet, "key", i * seconds, seconds), { decoderConfig });
  }
  await output.finalize();
  return new Uint8Array(output.target.buffer ?? new ArrayBuffer(0));
}

const files = new Map<string, Uint8Array>();

beforeAll(async () => {
  for (const format of ["wav", "flac", "mp3", "aac", "opus"] as const) {
    files.set(format, await encodeAll(format, TONE, SHAPE));
  }
  const vorbis = await createOggEncoder();
  vorbis.configure({ channels: 1, sampleRate: 48_000, vbrQuality: 4 });
  const head = vorbis.encode([TONE]).slice();
  files.set("ogg-vorbis", concatBytes([head, vorbis.finalize().slice()]));
  const opus = files.get("opus") ?? new Uint8Array(0);
  const opusHead = opus.slice(28, 47);
  files.set("webm", await mux(new WebMOutputFormat(), "opus", opusHead, oggPackets(opus), 0.02));
  const aac = adtsPackets(files.get("aac") ?? new Uint8Array(0));
  const setup = Uint8Array.of(0x11, 0x88);
  const frame = 1024 / 48_000;
  files.set("m4a", await mux(new Mp4OutputFormat(), "aac", setup, aac, frame));
  const fragmented = new Mp4OutputFormat({ fastStart: "fragmented" });
  files.set("fragmented mp4", await mux(fragmented, "aac", setup, aac, frame));
});

function file(name: string): Uint8Array {
  return files.get(name) ?? new Uint8Array(0);
}

async function refusal(bytes: Uint8Array, options = {}): Promise<AudioError> {
  const error = await decodeAudio(bytes, options).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(AudioError);
  return error as AudioError;
}

function expectTone(audio: DecodedAudio): void {
  const seconds = audio.pcm.length / audio.channels / audio.sampleRate;
  expect(seconds).toBeGreaterThan(0.98);
  expect(seconds).toBeLessThan(1.08);
  expect([audio.channels, audio.sampleRate]).toEqual([1, 48_000]);
  const middle = audio.pcm.subarray(12_000, 36_000);
  expect(rms(middle)).toBeCloseTo(0.3 / Math.SQRT2, 1);
  expect(frequency(middle, 48_000)).toBeCloseTo(440, 0);
}

describe("formats", () => {
  it.each([
    ["wav", "wav"],
    ["flac", "flac"],
    ["mp3", "mp3"],
    ["aac", "aac"],
    ["opus", "ogg-opus"],
    ["ogg-vorbis", "ogg-vorbis"],
    ["webm", "webm"],
    ["m4a", "mp4"],
    ["fragmented mp4", "mp4"],
  ])("%s is decoded", async (name, format) => {
    const audio = await decodeAudio(file(name));
    expect(audio.format).toBe(format);
    expectTone(audio);
  });

  it("mp3 may begin with a tag that holds a picture", async () => {
    const tag = new Uint8Array(10 + 3000).fill(0xff, 10);
    tag.set(text.encode("ID3\x04"));
    tag.set([3000 >> 7, 3000 & 127], 8);
    expectTone(await decodeAudio(concatBytes([tag, file("mp3")])));
  });

  it.skipIf(RECORDINGS === undefined)("real recordings are read whatever their names", async () => {
    const folder = RECORDINGS ?? "";
    const found = new Set<string>();
    for (const name of readdirSync(folder)) {
      const audio = await decodeAudio(readFileSync(join(folder, name)));
      found.add(audio.format);
      const seconds = audio.pcm.length / audio.channels / audio.sampleRate;
      expect(seconds, name).toBeGreaterThan(2);
      expect(seconds, name).toBeLessThan(18);
      expect(rms(audio.pcm), name).toBeGreaterThan(0.01);
    }
    expect([...found].sort()).toEqual(["flac", "mp3", "wav"]);
  });
});

describe("refusals", () => {
  it("say what was found and what is allowed", async () => {
    const cases: Array<[Uint8Array, string, string]> = [
      [new Uint8Array(0), "not_audio", "an empty file"],
      [text.encode("this is not audio"), "not_audio", "plain text"],
      [text.encode("%PDF-1.7 "), "not_audio", "a PDF document"],
      [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10), "not_audio", "a PNG image"],
      [text.encode("FORM....AIFFCOMM"), "unsupported_format", "AIFF"],
      [new Uint8Array(5000).map((_, i) => i * 7), "not_audio", "data of an unknown kind"],
    ];
    for (const [bytes, code, found] of cases) {
      const error = await refusal(bytes);
      expect(error.code).toBe(code);
      expect(error.message).toContain("Could not decode audio file: Format not recognised");
      expect(error.message).toContain(found);
      expect(error.message).toContain("flac, mp3");
    }
  });

  it("cover files that are too large or too long, in every format", async () => {
    expect((await refusal(file("wav"), { maxBytes: 1000 })).code).toBe("too_large");
    for (const [name, bytes] of files) {
      expect((await refusal(bytes, { maxSeconds: 0.5 })).code, name).toBe("too_long");
    }
  });

  it("stop a small file that unpacks to more than is allowed", async () => {
    const silence = new Float32Array(8000 * 130);
    const bomb = await encodeAll("flac", silence, { sampleRate: 8000, channels: 1 });
    expect(bomb.length).toBeLessThan(20_000);
    expect((await refusal(bomb)).code).toBe("too_long");
  });

  it("obey an abort signal before and during decoding", async () => {
    expect((await refusal(file("mp3"), { signal: AbortSignal.abort() })).code).toBe("aborted");
    const controller = new AbortController();
    const running = refusal(file("m4a"), { signal: controller.signal });
    controller.abort();
    expect((await running).code).toBe("aborted");
    expectTone(await decodeAudio(file("mp3")));
  });

  it("end decoding that takes too long", async () => {
    expect((await refusal(file("m4a"), { timeoutMs: 0 })).code).toBe("timeout");
    expectTone(await decodeAudio(file("m4a")));
  });
});

describe("damaged files", () => {
  it("are decoded or refused, and never crash the process", async () => {
    const random = randomNumbers(42);
    for (const [name, bytes] of files) {
      for (let round = 0; round < (ROUNDS[name] ?? 12); round++) {
        const damaged = bytes.slice(
          0,
          round % 3 === 0 ? Math.floor(random() * bytes.length) : undefined,
        );
        const edits = 1 + Math.floor(random() * 20);
        const range = round % 2 === 0 ? Math.min(damaged.length, 200) : damaged.length;
        for (let i = 0; i < edits; i++) damaged[Math.floor(random() * range)] = random() * 256;
        const audio = await decodeAudio(damaged, { maxSeconds: 20, timeoutMs: 3000 }).catch(
          (error: unknown) => error,
        );
        if (audio instanceof AudioError) continue;
        expect(audio, name).not.toBeInstanceOf(Error);
        const { pcm } = audio as DecodedAudio;
        expect(pcm.length).toBeGreaterThan(0);
        expect(pcm.every((sample) => sample >= -1 && sample <= 1)).toBe(true);
      }
    }
    expectTone(await decodeAudio(file("mp3")));
  });

  it("are named from their first bytes without failing", () => {
    const random = randomNumbers(3);
    for (let round = 0; round < 500; round++) {
      const bytes = new Uint8Array(Math.floor(random() * 64)).map(() => random() * 256);
      expect(() => sniffAudio(bytes)).not.toThrow();
    }
  });
});
