/** Conversions lose nothing, WAV files hold what was put in, loudness is that of the standard. */
import { describe, expect, it } from "vitest";
import { randomly } from "../../server/stress/random.ts";
import { loudnessOf, matchingGains } from "./loudness.ts";
import { deinterleave, interleave, toFloat, toInt16 } from "./pcm.ts";
import { Peaks, silenceSpans } from "./peaks.ts";
import { joined, noise, sine } from "./test-sound.ts";
import { buildWav, WavReader } from "./wav.ts";

const RATE = 48_000;

describe("conversion", () => {
  it("takes every 16-bit sample there and back", () => {
    const all = Int16Array.from({ length: 65_536 }, (_, i) => i - 32_768);
    const floats = toFloat(all);
    expect(floats[0]).toBe(-1);
    expect(floats[65_535]).toBe(32_767 / 32_768);
    expect(toInt16(floats).every((x, i) => x === all[i])).toBe(true);
    expect(toInt16(Float32Array.of(2, -2, 1))).toEqual(Int16Array.of(32_767, -32_768, 32_767));
  });

  it("takes channels apart and together", () => {
    const samples = Float32Array.of(1, 2, 3, 4, 5, 6);
    const planes = deinterleave(samples, 2);
    expect(planes).toEqual([Float32Array.of(1, 3, 5), Float32Array.of(2, 4, 6)]);
    expect(interleave(planes)).toEqual(samples);
    expect(deinterleave(Int16Array.of(16_384, -16_384), 1)).toEqual([Float32Array.of(0.5, -0.5)]);
  });
});

describe("WAV", () => {
  const samples = Int16Array.from({ length: 1001 * 2 }, (_, i) => (i * 7919) % 65_536);

  async function readInPieces(file: Uint8Array, seed: number): Promise<[Uint8Array, WavReader]> {
    const random = randomly(seed);
    const reader = new WavReader();
    const sound: number[] = [];
    for (let at = 0; at < file.length; ) {
      const length = 1 + Math.floor(random() * 60);
      sound.push(...reader.push(file.subarray(at, at + length)));
      at += length;
    }
    return [Uint8Array.from(sound), reader];
  }

  it("is read back byte for byte from pieces of any size", async () => {
    const file = new Uint8Array(await buildWav(samples, 44_100, 2).arrayBuffer());
    expect(file.length).toBe(44 + samples.length * 2);
    for (let seed = 1; seed <= 20; seed++) {
      const [sound, reader] = await readInPieces(file, seed);
      expect(sound).toEqual(new Uint8Array(samples.buffer));
      expect(reader.shape).toEqual({ sampleRate: 44_100, channels: 2 });
    }
  });

  it("may hold other things before and after the sound, and a length that nobody knew", async () => {
    const file = new Uint8Array(await buildWav(samples, RATE, 2).arrayBuffer());
    const list = new TextEncoder().encode("LIST\u0003\0\0\0abc\0");
    const padded = Uint8Array.from([
      ...file.subarray(0, 36),
      ...list,
      ...file.subarray(36),
      ...list,
    ]);
    expect((await readInPieces(padded, 1))[0]).toEqual(new Uint8Array(samples.buffer));
    const endless = file.slice();
    endless.fill(255, 40, 44);
    expect((await readInPieces(endless, 1))[0]).toEqual(new Uint8Array(samples.buffer));
  });

  it("is refused where it is something else", async () => {
    expect(() => new WavReader().push(new TextEncoder().encode("ID3 not a WAV"))).toThrow(
      "not a WAV",
    );
    const float = new Uint8Array(await buildWav(Float32Array.of(0.5), RATE, 1).arrayBuffer());
    expect(() => new WavReader().push(float)).toThrow("format 3, 32 bits, 1 channels");
  });
});

describe("loudness", () => {
  it("of a sine at 997 Hz and full scale is -3.01 LUFS, in both channels 3 dB more", () => {
    const tone = sine(5, RATE, 997, 1);
    expect(loudnessOf([tone], RATE)).toBeCloseTo(-3.01, 1);
    expect(loudnessOf([tone, tone], RATE)).toBeCloseTo(0, 1);
    expect(loudnessOf([sine(5, 44_100, 997, 0.1)], 44_100)).toBeCloseTo(-23.01, 1);
  });

  it("leaves pauses out, counts bass less, and is none in silence", () => {
    const tone = sine(5, RATE, 997, 0.1);
    const paused = joined(tone, new Float32Array(10 * RATE), tone);
    expect(loudnessOf([paused], RATE)).toBeCloseTo(-23, 0);
    expect(loudnessOf([sine(5, RATE, 30, 0.1)], RATE)).toBeLessThan(-27);
    expect(loudnessOf([new Float32Array(RATE)], RATE)).toBe(Number.NEGATIVE_INFINITY);
    expect(loudnessOf([sine(0.2, RATE, 997, 0.1)], RATE)).toBeCloseTo(-23, 0);
  });

  it("is made equal without clipping", () => {
    const takes = [0.02, 0.3].map((rms, i) => ({
      planes: [noise(3, RATE, rms, i + 1)],
      sampleRate: RATE,
    }));
    const silent = { planes: [new Float32Array(RATE)], sampleRate: RATE };
    const gains = matchingGains([...takes, silent]);
    const after = takes.map(({ planes }, i) =>
      loudnessOf(
        planes.map((plane) => plane.map((x) => x * 10 ** ((gains[i] ?? 0) / 20))),
        RATE,
      ),
    );
    expect(after[0]).toBeCloseTo(-23, 1);
    expect(after[1]).toBeCloseTo(-23, 1);
    expect(gains[2]).toBe(0);
    const spiky = noise(3, RATE, 0.001, 3);
    spiky[1000] = 1;
    const limited = matchingGains([{ planes: [spiky], sampleRate: RATE }, ...takes]);
    expect(limited[0]).toBeCloseTo(-1, 3);
  });
});

describe("peaks", () => {
  it("are the same however the sound arrives", () => {
    const random = randomly(5);
    const samples = Int16Array.from({ length: 20_000 }, () => random() * 65_535 - 32_768);
    const whole = new Peaks(128, 2);
    whole.add(samples);
    const pieces = new Peaks(128, 2);
    for (let at = 0, n = 2; at < samples.length; at += n, n = (n * 3) % 998) {
      pieces.add(samples.subarray(at, at + n));
    }
    expect(pieces.length).toBe(Math.ceil(10_000 / 128));
    for (let frame = 0; frame < 10_000; frame += 64) {
      const expected = samples.subarray(
        256 * Math.floor(frame / 128),
        256 * (Math.floor(frame / 128) + 1),
      );
      const bucket = { min: Math.min(...expected) / 32_768, max: Math.max(...expected) / 32_768 };
      expect(whole.between(frame, frame + 1)).toEqual(bucket);
      expect(pieces.between(frame, frame + 1)).toEqual(bucket);
    }
    expect(whole.between(10_500, 11_000)).toEqual({ min: 0, max: 0 });
  });

  it("show where it is silent", () => {
    const peaks = new Peaks(480, 1);
    const tone = sine(0.5, RATE, 300);
    peaks.add(joined(tone, new Float32Array(0.2 * RATE), tone, new Float32Array(0.05 * RATE)));
    expect(silenceSpans(peaks, { minFrames: 0.1 * RATE })).toEqual([
      { start: 24_000, end: 33_600 },
    ]);
    expect(silenceSpans(peaks, { minFrames: 0.01 * RATE })).toHaveLength(2);
  });
});
