import { describe, expect, it } from "vitest";
import { type Diagnosis, diagnose, type FindingCode, type Fix } from "../audio/doctor.ts";
import { babble, joined } from "../audio/test-sound.ts";
import { WavReader } from "../audio/wav.ts";
import {
  type Clip,
  examine,
  fewChannels,
  firstTreatment,
  secondsOf,
  type Treatment,
  uploadFile,
  withFix,
  within,
} from "./treatment.ts";

const RATE = 16_000;
const silence = (seconds: number) => new Float32Array(Math.round(seconds * RATE));
const clipOf = (...planes: Float32Array[]): Clip => ({ planes, sampleRate: RATE });
const grade = ({ findings }: Diagnosis, code: FindingCode) =>
  findings.find((finding) => finding.code === code)?.grade;

function fixOf({ findings }: Diagnosis, code: FindingCode): Fix {
  const fix = findings.find((finding) => finding.code === code)?.fix;
  if (fix === undefined) throw new Error(`There is no fix for ${code}`);
  return fix;
}

const start = (clip: Clip) => firstTreatment(clip, diagnose(clip.planes, clip.sampleRate));

describe("the stretch that is kept", () => {
  it("is all of a short recording, and the best of a long one", () => {
    const short = clipOf(babble(6, RATE));
    expect(start(short).range).toEqual({ start: 0, end: 6 });
    const long = clipOf(joined(silence(10), babble(20, RATE)));
    const { range } = start(long);
    expect(range.start).toBeGreaterThan(9);
    expect(range.end - range.start).toBeGreaterThan(8);
    expect(range.end - range.start).toBeLessThanOrEqual(10.001);
  });

  it.each([
    [
      { start: -1, end: 99 },
      { start: 0, end: 6 },
    ],
    [
      { start: 1.00049, end: 2.0006 },
      { start: 1, end: 2.001 },
    ],
    [
      { start: 3, end: 2 },
      { start: 3, end: 3.2 },
    ],
    [
      { start: 9, end: 9 },
      { start: 5.8, end: 6 },
    ],
    [
      { start: Number.NaN, end: 2 },
      { start: 0, end: 2 },
    ],
  ])("%j lies in the recording", (range, expected) => {
    expect(within(range, 6)).toEqual(expected);
  });

  it("of a recording that is shorter than a handle's width is all of it", () => {
    expect(within({ start: 0.05, end: 0.06 }, 0.1)).toEqual({ start: 0, end: 0.1 });
  });
});

describe("repairs", () => {
  it("cut inside the stretch that is kept already", () => {
    const clip = clipOf(joined(silence(2), babble(5, RATE), silence(2)));
    const before = { ...start(clip), range: { start: 1, end: 9 } };
    const { diagnosis } = examine(clip, before);
    expect(grade(diagnosis, "edges")).toBe("warn");
    const after = withFix(before, fixOf(diagnosis, "edges"), secondsOf(clip));
    expect(after.range.start).toBeGreaterThan(1.8);
    expect(after.range.end).toBeLessThan(7.3);
    expect(grade(examine(clip, after).diagnosis, "edges")).toBe("pass");
  });

  it("set the level of whatever stretch is kept, without clipping", () => {
    const quiet = babble(4, RATE).map((x) => x / 100);
    const clip = clipOf(joined(quiet, babble(4, RATE)));
    const before: Treatment = { ...start(clip), range: { start: 0, end: 4 } };
    const { diagnosis } = examine(clip, before);
    const fix = fixOf(diagnosis, "level");
    const after = withFix(before, fix, secondsOf(clip));
    expect(grade(examine(clip, after).diagnosis, "level")).toBe("pass");
    const elsewhere = examine(clip, { ...after, range: { start: 4, end: 8 } });
    expect(grade(elsewhere.diagnosis, "clipping")).toBe("pass");
    expect(elsewhere.planes[0]?.[8000]).toBeCloseTo(clip.planes[0]?.[72_000] ?? 9, 5);
  });

  it("bring the signal back to its centre and leave the recording as it was", () => {
    const clip = clipOf(babble(4, RATE).map((x) => x + 0.05));
    const copy = clip.planes[0]?.slice();
    const before = start(clip);
    const fix = fixOf(examine(clip, before).diagnosis, "offset");
    const after = withFix(before, fix, 4);
    expect(grade(examine(clip, after).diagnosis, "offset")).toBe("pass");
    expect(clip.planes[0]).toEqual(copy);
  });
});

describe("the file to upload", () => {
  async function shapeOf(file: Blob) {
    const reader = new WavReader();
    const bytes = reader.push(new Uint8Array(await file.arrayBuffer()));
    return { ...reader.shape, bytes: bytes.length };
  }

  it("is 16-bit WAV with the channels that it has, unless they would not fit", async () => {
    const clip = clipOf(babble(2, RATE), silence(2));
    const frames = 2 * RATE;
    expect(await shapeOf(uploadFile(clip, 1e6))).toEqual({
      sampleRate: RATE,
      channels: 2,
      bytes: frames * 4,
    });
    expect(await shapeOf(uploadFile(clip, 100_000))).toMatchObject({
      channels: 1,
      bytes: frames * 2,
    });
  });

  it("never has more than two channels", () => {
    const planes = [1, 2, 3].map((value) => Float32Array.of(value));
    expect(fewChannels(planes)).toEqual([Float32Array.of(2)]);
    expect(fewChannels(planes.slice(1))).toEqual(planes.slice(1));
  });
});
