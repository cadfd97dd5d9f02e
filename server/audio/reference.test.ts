import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type DecodedAudio, decodeAudio } from "./decode.ts";
import { AudioError } from "./error.ts";
import { concatSamples, interleave, rms } from "./pcm.ts";
import { prepareReference, RECOMMENDED_WINDOW, type ReferenceOptions } from "./reference.ts";
import { babble, noise, RECORDINGS, sine } from "./test-audio.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const RATE = 24_000;

function recording(...planes: Float32Array[]): DecodedAudio {
  return {
    pcm: interleave(planes),
    channels: planes.length,
    sampleRate: RATE,
    format: "wav",
    overShare: 0,
  };
}

const silence = (seconds: number) => new Float32Array(seconds * RATE);
const scaled = (samples: Float32Array, gain: number) => samples.map((sample) => sample * gain);
const voice = (seconds: number) => babble(seconds, RATE);

function refusal(audio: DecodedAudio, options?: ReferenceOptions): [string, string] {
  try {
    prepareReference(audio, options);
  } catch (error) {
    expect(error).toBeInstanceOf(AudioError);
    return [(error as AudioError).code, (error as AudioError).message];
  }
  throw new Error("not refused");
}

describe("length", () => {
  it("outside of the range is refused in the words of the interface", () => {
    expect(refusal(recording(voice(0.3)))).toEqual([
      "too_short",
      "Reference audio too short (0.3s). At least 1s of clear speech is required.",
    ]);
    expect(refusal(recording(voice(31)))).toEqual([
      "too_long",
      "Reference audio too long (31.0s). Maximum 30s supported — use a shorter clip.",
    ]);
  });

  it("at the edges of the range is accepted", () => {
    expect(prepareReference(recording(sine(220, 1, { rate: RATE }))).seconds).toBe(1);
    expect(prepareReference(recording(sine(220, 30, { rate: RATE }))).seconds).toBe(30);
  });

  it("can be limited otherwise", () => {
    expect(refusal(recording(voice(2)), { maxSeconds: 1.5 })[0]).toBe("too_long");
    expect(refusal(recording(voice(2)), { minSeconds: 3 })[0]).toBe("too_short");
  });
});

describe("silence", () => {
  it("and noise of the last bit are refused", () => {
    expect(refusal(recording(silence(6)))[0]).toBe("silent");
    const [code, message] = refusal(recording(scaled(noise(6 * RATE), 4e-5)));
    expect(code).toBe("silent");
    expect(message).toContain("Reference audio is silent");
  });

  it("is not what quiet speech is", () => {
    const quiet = scaled(voice(6), 0.006);
    expect(prepareReference(recording(quiet)).seconds).toBeGreaterThan(5.5);
    const { pcm } = prepareReference(recording(quiet), { level: true });
    expect(rms(pcm)).toBeGreaterThan(0.05);
  });

  it("is cut off both ends, and only where asked for", () => {
    const padded = recording(concatSamples([silence(1), voice(2), silence(3)]));
    const { seconds, report } = prepareReference(padded);
    expect(seconds).toBeGreaterThan(1.9);
    expect(seconds).toBeLessThan(2.4);
    expect(report.silenceShare).toBeGreaterThan(0.65);
    expect(prepareReference(padded, { trim: false }).seconds).toBe(6);
  });

  it("with one click in it holds no speech", () => {
    const click = silence(3);
    click.fill(0.5, RATE, RATE + 10);
    expect(refusal(recording(click))[0]).toMatch(/too_short|silent/);
  });
});

describe("channels", () => {
  it("are mixed to one unless stereo is kept", () => {
    const stereo = recording(voice(2), scaled(voice(2), 0.5));
    expect(prepareReference(stereo).channels).toBe(1);
    const kept = prepareReference(stereo, { channels: "keep" });
    expect(kept.channels).toBe(2);
    expect(kept.pcm.length / 2 / RATE).toBeCloseTo(kept.seconds, 5);
  });

  it("without sound are left out of the mix", () => {
    const full = prepareReference(recording(voice(2)));
    const speech = voice(2);
    for (const planes of [
      [speech, silence(2)],
      [speech, speech, silence(2), speech],
      new Array<Float32Array>(8).fill(speech),
    ]) {
      const { pcm, channels } = prepareReference(recording(...planes), { channels: "keep" });
      expect(channels).toBe(1);
      expect(rms(pcm)).toBeCloseTo(rms(full.pcm), 4);
    }
  });

  it("of opposite phase do not cancel", () => {
    const { pcm, report } = prepareReference(recording(voice(2), scaled(voice(2), -1)));
    expect(report.warnings).toContain("opposite_phase");
    expect(rms(pcm)).toBeGreaterThan(0.05);
  });
});

describe("repairs", () => {
  it("clipping is reported", () => {
    const loud = scaled(voice(2), 10).map((sample) => Math.max(-1, Math.min(1, sample)));
    const { report } = prepareReference(recording(loud));
    expect(report.warnings).toContain("clipped");
    expect(report.clippedShare).toBeGreaterThan(0.05);
    expect(report.peak).toBe(1);
  });

  it("an offset is removed", () => {
    const shifted = scaled(voice(2), 0.5).map((sample) => sample + 0.3);
    const { pcm, report } = prepareReference(recording(shifted));
    expect(report.warnings).toContain("offset_removed");
    expect(Math.abs(pcm.reduce((sum, sample) => sum + sample, 0) / pcm.length)).toBeLessThan(0.001);
  });

  it("the level is set where asked for", () => {
    for (const gain of [0.05, 1, 2]) {
      const { pcm, report } = prepareReference(recording(scaled(voice(3), gain)), { level: true });
      expect(20 * Math.log10(rms(pcm))).toBeGreaterThan(-24);
      expect(20 * Math.log10(rms(pcm))).toBeLessThan(-20);
      expect(Math.max(...pcm)).toBeLessThanOrEqual(0.98);
      expect(report.gainDb).not.toBe(0);
    }
    expect(prepareReference(recording(voice(3))).report.gainDb).toBe(0);
  });

  it("the best stretch is taken from a longer clip", () => {
    const noisy = concatSamples([voice(2), silence(4), voice(5), silence(3), voice(1)]);
    const { seconds, report } = prepareReference(recording(noisy), { window: RECOMMENDED_WINDOW });
    expect(seconds).toBeGreaterThanOrEqual(3);
    expect(seconds).toBeLessThanOrEqual(6);
    expect(report.warnings).toContain("window_chosen");
    const whole = prepareReference(recording(voice(4)), { window: RECOMMENDED_WINDOW });
    expect(whole.report.warnings).toEqual([]);
  });
});

describe("report", () => {
  it("tells telephone audio from full-band audio", () => {
    const narrow = new Float32Array(2 * RATE);
    for (let hertz = 200; hertz <= 3400; hertz += 100) {
      sine(hertz, 2, { rate: RATE, amplitude: 0.02 }).forEach((sample, i) => {
        narrow[i] = (narrow[i] ?? 0) + sample;
      });
    }
    expect(prepareReference(recording(narrow)).report.bandwidthHz).toBeLessThan(4500);
    const wide = scaled(noise(2 * RATE), 0.3);
    expect(prepareReference(recording(wide)).report.bandwidthHz).toBe(12_000);
  });

  it("measures the noise between the words", () => {
    const hiss = scaled(noise(3 * RATE), 0.001);
    const speech = voice(3).map((sample, i) => sample + (hiss[i] ?? 0));
    expect(prepareReference(recording(speech)).report.noiseFloorDb).toBeCloseTo(-64.8, -1);
    expect(prepareReference(recording(voice(3))).report.noiseFloorDb).toBeLessThan(-90);
  });

  it.skipIf(RECORDINGS === undefined)("holds for real recordings", async () => {
    const folder = RECORDINGS ?? "";
    for (const name of readdirSync(folder)) {
      const decoded = await decodeAudio(readFileSync(join(folder, name)));
      const options = { level: true, window: RECOMMENDED_WINDOW };
      const { seconds, pcm, report } = prepareReference(decoded, options);
      expect(seconds, name).toBeGreaterThan(2);
      expect(seconds, name).toBeLessThanOrEqual(6);
      expect(20 * Math.log10(rms(pcm)), name).toBeCloseTo(-21.5, -1);
      expect(report.silenceShare, name).toBeLessThan(0.6);
      expect(report.bandwidthHz, name).toBeGreaterThanOrEqual(8000);
    }
  });
});
