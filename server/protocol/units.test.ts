/** The pure functions of this folder, driven from the shared file. */
import { describe, expect, it } from "vitest";
import { continuity } from "./continuity.ts";
import { pcmSeconds } from "./pcm.ts";
import { unitCase } from "./test-cases.ts";
import { wavHeader } from "./wav.ts";

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

it("16-bit samples take two bytes a channel", () => {
  expect(pcmSeconds(192000, 48000, 2)).toBe(1);
});

describe("unit_wav_stream_header", () => {
  const vectors = unitCase("unit_wav_stream_header").vectors as {
    rate: number;
    channels: number;
    hex: string;
  }[];

  it.each(vectors)("$rate Hz, $channels channels", ({ rate, channels, hex: expected }) => {
    expect(hex(wavHeader({ sampleRate: rate, channels }))).toBe(expected);
  });

  it("states true sizes when they are known", () => {
    const view = new DataView(wavHeader({ sampleRate: 48000, channels: 2 }, 1000).buffer);
    expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([1036, 1000]);
    const huge = new DataView(wavHeader({ sampleRate: 48000, channels: 2 }, 2 ** 32).buffer);
    expect(huge.getUint32(40, true)).toBe(0xffffffff);
  });
});

describe("unit_continuity", () => {
  const { vectors = [], defaults = {} } = unitCase("unit_continuity");
  const chunkSeconds = (defaults.chunk_ms ?? 0) / 1000;

  it.each(vectors as { arrivals_s: number[]; underrun_s: number; ok: boolean; events?: number }[])(
    "$arrivals_s",
    ({ arrivals_s: arrivals, underrun_s: underrun, ok, events }) => {
      const lengths = arrivals.map(() => chunkSeconds);
      const result = continuity(arrivals, lengths, defaults.threshold_s);
      expect(result.underrunSeconds).toBeCloseTo(underrun, 9);
      expect(result.ok).toBe(ok);
      if (events !== undefined) expect(result.events).toBe(events);
    },
  );

  it("says nothing of lists that do not match, and ignores empty chunks", () => {
    expect(continuity([0, 5], [0.1])).toEqual({ underrunSeconds: 0, events: 0, ok: true });
    expect(continuity([0, 1, 9], [0, 0.1, 0]).underrunSeconds).toBe(0);
  });
});
