import { describe, expect, it } from "vitest";
import { AudioError } from "./error.ts";
import { concatBytes, toPcm16 } from "./pcm.ts";
import { HAS_SOX, sine, sox } from "./test-audio.ts";
import { readWav, wavHeader } from "./wav.ts";

const SAMPLES = sine(440, 0.25, { rate: 16_000 });

/** A plain 16-bit file. */
function plain(): Uint8Array {
  return concatBytes([wavHeader(16_000, 1, SAMPLES.length), toPcm16(SAMPLES)]);
}

/** The same file with one 32-bit number replaced. */
function patched(at: number, value: number, bytes = plain()): Uint8Array {
  const copy = bytes.slice();
  new DataView(copy.buffer).setUint32(at, value, true);
  return copy;
}

function chunk(id: string, body: Uint8Array): Uint8Array {
  const head = new Uint8Array(8);
  head.set(new TextEncoder().encode(id));
  new DataView(head.buffer).setUint32(4, body.length, true);
  return concatBytes([head, body, new Uint8Array(body.length % 2)]);
}

function refusal(bytes: Uint8Array): string {
  try {
    readWav(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(AudioError);
    expect((error as AudioError).code).toBe("corrupt");
    return (error as AudioError).message;
  }
  throw new Error("not refused");
}

describe("header", () => {
  it("of a stream has both sizes unknown", () => {
    const hex = (rate: number, channels: number) =>
      Buffer.from(wavHeader(rate, channels)).toString("hex");
    expect(hex(48_000, 1)).toBe(
      "52494646ffffffff57415645666d7420100000000100010080bb0000007701000200100064617461ffffffff",
    );
    expect(hex(48_000, 2)).toBe(
      "52494646ffffffff57415645666d7420100000000100020080bb000000ee02000400100064617461ffffffff",
    );
    expect(hex(22_050, 1)).toBe(
      "52494646ffffffff57415645666d742010000000010001002256000044ac00000200100064617461ffffffff",
    );
  });

  it("of a whole file has true sizes", () => {
    const view = new DataView(wavHeader(24_000, 2, 100).buffer);
    expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([436, 400]);
  });
});

describe("reading", () => {
  it("gives back what was written", () => {
    const { pcm, channels, sampleRate } = readWav(plain());
    expect([channels, sampleRate, pcm.length]).toEqual([1, 16_000, SAMPLES.length]);
    expect(Math.max(...pcm.map((sample, i) => Math.abs(sample - (SAMPLES[i] ?? 0))))).toBeLessThan(
      1 / 32_768,
    );
  });

  it.skipIf(!HAS_SOX).each([
    ["8-bit", ["-b", "8", "-e", "unsigned"], 0.02],
    ["24-bit (extensible)", ["-b", "24"], 1e-4],
    ["32-bit", ["-b", "32", "-e", "signed"], 1e-4],
    ["float", ["-b", "32", "-e", "floating-point"], 1e-4],
    ["double", ["-b", "64", "-e", "floating-point"], 1e-4],
    ["A-law", ["-e", "a-law"], 0.02],
    ["mu-law", ["-e", "mu-law"], 0.02],
  ] as const)("knows %s", (_, options, tolerance) => {
    const { pcm } = readWav(sox(plain(), "wav", "wav", ...options));
    expect(pcm.length).toBe(SAMPLES.length);
    const worst = pcm.map((sample, i) => Math.abs(sample - (SAMPLES[i] ?? 0)));
    expect(Math.max(...worst)).toBeLessThan(tolerance);
  });

  it("passes over unknown chunks and the padding of odd ones", () => {
    const bytes = plain();
    const extra = concatBytes([
      bytes.subarray(0, 12),
      chunk("junk", new TextEncoder().encode("hello")),
      bytes.subarray(12, 36),
      chunk("LIST", new Uint8Array(7)),
      bytes.subarray(36),
      chunk("id3 ", new Uint8Array(3)),
    ]);
    expect(readWav(extra).pcm).toEqual(readWav(bytes).pcm);
  });

  it("uses the bytes that are there when sizes are unknown, zero or too large", () => {
    const expected = readWav(plain()).pcm;
    const streamed = patched(4, 0xffffffff, patched(40, 0xffffffff));
    expect(readWav(streamed).pcm).toEqual(expected);
    expect(readWav(patched(40, 0)).pcm).toEqual(expected);
    expect(readWav(patched(40, 0x7ffffff0)).pcm).toEqual(expected);
    expect(readWav(plain().subarray(0, 1001)).pcm).toEqual(expected.subarray(0, 478));
  });

  it("reads RF64 with its 64-bit size", () => {
    const bytes = patched(40, 0xffffffff);
    const ds64 = new Uint8Array(28);
    new DataView(ds64.buffer).setBigUint64(8, 400n, true);
    const file = concatBytes([bytes.subarray(0, 12), chunk("ds64", ds64), bytes.subarray(12)]);
    file.set(new TextEncoder().encode("RF64"));
    expect(readWav(file).pcm.length).toBe(200);
  });

  it("makes numbers of samples that are none", () => {
    const bytes = concatBytes([wavHeader(16_000, 1, 4), new Uint8Array(8)]);
    const view = new DataView(bytes.buffer);
    view.setUint16(20, 3, true);
    view.setUint16(32, 4, true);
    view.setUint16(34, 32, true);
    view.setFloat32(44, Number.NaN, true);
    view.setFloat32(48, 1.5, true);
    expect([...readWav(bytes).pcm]).toEqual([0, 1.5]);
  });
});

describe("refusals", () => {
  it("name what the header states and what is allowed", () => {
    const channels = plain();
    new DataView(channels.buffer).setUint16(22, 65_535, true);
    expect(refusal(channels)).toContain("65535 channels; allowed are 1 to 8");
    expect(refusal(patched(24, 0))).toContain("sample rate of 0 Hz");
    expect(refusal(patched(34, 0x61640010 + 3))).toContain("19 bits");
    const adpcm = plain();
    adpcm[20] = 2;
    expect(refusal(adpcm)).toContain("encoding 0x2");
  });

  it("cover files without the parts that matter", () => {
    expect(refusal(plain().subarray(0, 44))).toContain("no samples");
    expect(refusal(plain().subarray(0, 30))).toContain("no data chunk");
    expect(refusal(new TextEncoder().encode("RIFF....AVI LIST"))).toContain("RIFF/WAVE");
    const headless = concatBytes([plain().subarray(0, 12), plain().subarray(36)]);
    expect(refusal(headless)).toContain("no fmt chunk");
  });

  it("come before memory is spent on audio that is too long", () => {
    expect(() => readWav(plain(), 0.2)).toThrow("more than the 0.2 s");
  });

  it("do not depend on sampler loops that ask for gigabytes", () => {
    const smpl = new Uint8Array(36);
    new DataView(smpl.buffer).setUint32(32, 0x7fffffff, true);
    const bytes = plain();
    const file = concatBytes([bytes.subarray(0, 36), chunk("smpl", smpl), bytes.subarray(36)]);
    expect(readWav(file).pcm.length).toBe(SAMPLES.length);
  });
});
