import { describe, expect, it, vi } from "vitest";
import { convertChannels, createConverter, Resampler } from "./convert.ts";
import { deinterleave, rms } from "./pcm.ts";
import { chunked, frequency, noise, runSamples, same, sine } from "./test-audio.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const OUTPUT_RATES = [8000, 16_000, 22_050, 24_000, 44_100];

function resample(pcm: Float32Array, from: number, to: number, channels = 1): Float32Array {
  return runSamples(new Resampler(from, to, channels), [pcm]);
}

describe("channels", () => {
  it("are copied to two and averaged to one", () => {
    expect([...convertChannels(Float32Array.of(1, 2), 1, 2)]).toEqual([1, 1, 2, 2]);
    expect([...convertChannels(Float32Array.of(1, 3, -1, 1), 2, 1)]).toEqual([2, 0]);
  });
});

describe("sample rate", () => {
  it.each(OUTPUT_RATES)("48 kHz to %i Hz keeps length, pitch, level and phase", (rate) => {
    const out = resample(sine(1000, 0.5), 48_000, rate);
    expect(out.length).toBe(rate / 2);
    const expected = sine(1000, 0.5, { rate });
    const [from, to] = [Math.round(rate * 0.05), Math.round(rate * 0.45)];
    let worst = 0;
    for (let i = from; i < to; i++) {
      worst = Math.max(worst, Math.abs((out[i] ?? 0) - (expected[i] ?? 0)));
    }
    expect(worst).toBeLessThan(3e-4);
    expect(frequency(out.subarray(from, to), rate)).toBeCloseTo(1000, 1);
  });

  it.each(OUTPUT_RATES)("48 kHz to %i Hz gives the same samples chunk by chunk", (rate) => {
    const pcm = noise(24_000);
    const chunks = runSamples(new Resampler(48_000, rate, 2), chunked(pcm, 2));
    expect(same(chunks, resample(pcm, 48_000, rate, 2))).toBe(true);
  });

  it("removes what the lower rate cannot hold", () => {
    const out = resample(sine(5000, 0.5), 48_000, 8000);
    expect(rms(out.subarray(400, 3600))).toBeLessThan(0.3e-4);
  });

  it("keeps channels apart", () => {
    const pcm = new Float32Array(19_200).map((_, i) => (i % 2 === 0 ? 0.25 : -0.5));
    const [left, right] = deinterleave(resample(pcm, 48_000, 24_000, 2), 2);
    expect(left?.[2400]).toBeCloseTo(0.25, 6);
    expect(right?.[2400]).toBeCloseTo(-0.5, 6);
  });

  it("goes up as well", () => {
    const out = resample(sine(1000, 0.5, { rate: 22_050 }), 22_050, 48_000);
    expect(out.length).toBe(24_000);
    expect(frequency(out.subarray(2400, 21_600), 48_000)).toBeCloseTo(1000, 1);
  });

  it("is refused where no small ratio exists", () => {
    expect(() => new Resampler(48_000, 47_999, 1)).toThrow("47999 Hz");
    expect(() => new Resampler(48_000, 0, 1)).toThrow("use 8000");
  });

  it("of nothing is nothing", () => {
    expect(runSamples(new Resampler(48_000, 8000, 2), []).length).toBe(0);
  });
});

describe("converter", () => {
  it("changes rate and channels together", () => {
    const from = { sampleRate: 48_000, channels: 2 } as const;
    const pcm = sine(440, 0.25, { channels: 2 });
    const mono = runSamples(createConverter(from, { sampleRate: 16_000, channels: 1 }), [pcm]);
    expect(mono.length).toBe(4000);
    expect(rms(mono.subarray(400, 3600))).toBeCloseTo(0.3 / Math.SQRT2, 3);
    const back = runSamples(createConverter({ sampleRate: 16_000, channels: 1 }, from), [mono]);
    expect(back.length).toBe(24_000);
  });

  it("passes equal shapes through untouched", () => {
    const shape = { sampleRate: 48_000, channels: 2 } as const;
    const pcm = noise(100);
    expect(createConverter(shape, shape).push(pcm)).toBe(pcm);
  });
});
