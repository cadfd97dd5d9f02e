import { describe, expect, it, vi } from "vitest";
import { unitCase } from "../protocol/test-cases.ts";
import { decodeAudio } from "./decode.ts";
import { createEncoder, encodeAll } from "./encode.ts";
import { CONTENT_TYPES, OUTPUT_FORMATS, type OutputFormat } from "./encoder.ts";
import {
  concatBytes,
  deinterleave,
  rms,
  type Samples,
  toFloat32Bytes,
  toFloats,
  toInt16,
  toIntegers,
  toPcm16,
} from "./pcm.ts";
import { chunked, frequency, HAS_SOX, runBytes, same, sine, sox } from "./test-audio.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Frames that a lossy format may add at the start and the end. */
const SLACK: Partial<Record<OutputFormat, number>> = { mp3: 3500, aac: 3100 };
const CODED = ["wav", "flac", "mp3", "opus", "aac"] as const;

describe("every format, decoded by another library than the one that encoded it", () => {
  for (const format of CODED) {
    for (const channels of [1, 2] as const) {
      it(`${format} with ${channels} channels keeps length, level and pitch`, async () => {
        const pcm = sine(440, 0.5678, { channels });
        const encoder = await createEncoder(format, { sampleRate: 48_000, channels });
        const decoded = await decodeAudio(runBytes(encoder, chunked(pcm, channels)));
        const frames = decoded.pcm.length / decoded.channels;
        expect(decoded.sampleRate).toBe(48_000);
        expect(decoded.channels).toBe(channels);
        expect(frames).toBeGreaterThanOrEqual(pcm.length / channels);
        expect(frames - pcm.length / channels).toBeLessThanOrEqual(SLACK[format] ?? 0);
        for (const plane of deinterleave(decoded.pcm, channels)) {
          const middle = plane.subarray(7200, 24_000);
          expect(20 * Math.log10(rms(middle) / (0.3 / Math.SQRT2))).toBeCloseTo(0, 0.5);
          expect(frequency(middle, 48_000)).toBeCloseTo(440, 0);
        }
      });
    }
  }

  it("every output rate keeps length and pitch", async () => {
    for (const format of ["opus", "mp3", "flac", "aac"] as const) {
      for (const sampleRate of [8000, 16_000, 22_050, 24_000, 44_100]) {
        const pcm = sine(300, 0.4, { rate: sampleRate });
        const bytes = await encodeAll(format, pcm, { sampleRate, channels: 1 });
        const { pcm: back, sampleRate: rate } = await decodeAudio(bytes);
        expect(back.length / rate).toBeGreaterThanOrEqual(0.3999);
        expect(back.length / rate).toBeLessThan(format === "mp3" || format === "aac" ? 0.85 : 0.41);
        expect(frequency(back.subarray(rate * 0.15, rate * 0.35), rate)).toBeCloseTo(300, 0);
      }
    }
  });

  it.skipIf(!HAS_SOX)("sox reads flac and wav as the same samples", async () => {
    const pcm = sine(997, 0.3, { channels: 2, amplitude: 0.9 });
    const options = { sampleRate: 44_100, channels: 2 } as const;
    const [flac, wav] = await Promise.all([
      encodeAll("flac", pcm, options),
      encodeAll("wav", pcm, options),
    ]);
    const fromFlac = sox(flac, "flac", "s16");
    expect(same(fromFlac, wav.subarray(44))).toBe(true);
  });
});

describe("streams", () => {
  it("do not depend on how the samples are chunked", async () => {
    const pcm = sine(200, 0.3, { channels: 2 });
    for (const format of ["pcm", "wav", "flac", "mp3", "aac"] as const) {
      const options = { sampleRate: 48_000, channels: 2 } as const;
      const whole = runBytes(await createEncoder(format, options), [pcm]);
      const cut = runBytes(await createEncoder(format, options), chunked(pcm, 2));
      expect(same(cut, whole), format).toBe(true);
    }
  });

  it("give their first audio within 100 ms of samples", async () => {
    for (const format of OUTPUT_FORMATS) {
      const encoder = await createEncoder(format, { sampleRate: 48_000, channels: 1 });
      const first = encoder.push(sine(440, 0.04));
      const second = encoder.push(sine(440, 0.06));
      expect(first.length + second.length, format).toBeGreaterThan(100);
      encoder.close();
    }
  });

  it("may be empty", async () => {
    for (const format of OUTPUT_FORMATS) {
      const encoder = await createEncoder(format, { sampleRate: 48_000, channels: 1 });
      expect(encoder.contentType).toBe(CONTENT_TYPES[format]);
      expect(() => encoder.end(), format).not.toThrow();
      encoder.close();
    }
  });

  it("survive samples that are too loud or not numbers", async () => {
    const pcm = new Float32Array(9600).map((_, i) => [2, -3, Number.NaN, Infinity][i % 4] ?? 0);
    for (const format of CODED) {
      const bytes = await encodeAll(format, pcm, { sampleRate: 48_000, channels: 1 });
      expect((await decodeAudio(bytes)).pcm.every(Number.isFinite), format).toBe(true);
    }
  });
});

describe("pcm", () => {
  it("takes integers as they are, without copying them", async () => {
    const options = { sampleRate: 48_000, channels: 1 } as const;
    const integers = Int16Array.of(9, 0, 258, -1, 32767, -32768).subarray(1);
    const bytes = Uint8Array.of(0, 0, 2, 1, 255, 255, 255, 127, 0, 128);
    const pcm = (await createEncoder("pcm", options)).push(integers);
    expect(pcm).toEqual(bytes);
    expect(pcm.buffer).toBe(integers.buffer);
    const wav = await createEncoder("wav", options);
    expect(wav.push(integers).subarray(44)).toEqual(bytes);
    expect(wav.push(integers)).toEqual(bytes);
    const floats = await createEncoder("pcm", { ...options, sampleFormat: "f32" });
    const values = Float32Array.of(0, 258 / 32768, -1 / 32768, 32767 / 32768, -1);
    expect(floats.push(integers)).toEqual(toFloat32Bytes(values));
  });

  it("may come as integers in every format", async () => {
    const integers = toIntegers(sine(440, 0.3));
    const options = { sampleRate: 48_000, channels: 1 } as const;
    const decoded = async (format: OutputFormat, samples: Samples) => {
      const encoder = await createEncoder(format, options);
      return (await decodeAudio(concatBytes([encoder.push(samples), encoder.end()]))).pcm;
    };
    for (const format of CODED) {
      const wanted = await decoded(format, toFloats(integers));
      expect(rms(wanted), format).toBeGreaterThan(0.1);
      expect(same(await decoded(format, integers), wanted), format).toBe(true);
    }
  });

  it("unit_pcm16: rounds down and clips, as libsndfile does", () => {
    const vectors = unitCase("unit_pcm16").vectors as [string, number][];
    expect(vectors.length).toBeGreaterThan(5);
    for (const [text, integer] of vectors) {
      const [above = "", below = "1"] = text.split("/");
      expect(toInt16(Number(above) / Number(below)), text).toBe(integer);
    }
    const samples = Float32Array.of(0.5, -1, Number.NaN, 1.5, -1.5, 0.3, -0.3);
    const integers = Int16Array.of(16_384, -32_768, 0, 32_767, -32_768, 9830, -9831);
    expect(toIntegers(samples)).toEqual(integers);
    expect([...toPcm16(samples.subarray(0, 3))]).toEqual([0x00, 0x40, 0x00, 0x80, 0, 0]);
  });

  it("can be 32-bit floats", async () => {
    const options = { sampleRate: 48_000, channels: 1, sampleFormat: "f32" } as const;
    const bytes = await encodeAll("pcm", Float32Array.of(0.25, -2), options);
    expect([...new Float32Array(bytes.buffer)]).toEqual([0.25, -2]);
  });
});

describe("what cannot be encoded", () => {
  it("is refused with what is allowed", async () => {
    const shape = { sampleRate: 48_000, channels: 1 } as const;
    await expect(createEncoder("midi" as OutputFormat, shape)).rejects.toThrow("wav, pcm, flac");
    await expect(createEncoder("mp3", { ...shape, sampleRate: 47_000 })).rejects.toThrow("44100");
    await expect(createEncoder("mp3", { ...shape, bitrate: 1 })).rejects.toThrow("320");
    await expect(createEncoder("opus", { ...shape, bitrate: 1 })).rejects.toThrow("256000");
    await expect(createEncoder("aac", { ...shape, sampleRate: 10 })).rejects.toThrow("48000");
    await expect(createEncoder("aac", { ...shape, bitrate: 1 })).rejects.toThrow("8000");
  });
});
