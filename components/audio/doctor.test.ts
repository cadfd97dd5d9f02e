/** The doctor finds what is wrong, refuses what the server refuses, and its remedies help. */
import { describe, expect, it } from "vitest";
import { type Diagnosis, diagnose, type Finding, type FindingCode } from "./doctor.ts";
import { applyFixes } from "./doctor-fixes.ts";
import { fromDb, toDb } from "./pcm.ts";
import {
  babble,
  hum,
  inRoom,
  joined,
  mixed,
  noise,
  pinkNoise,
  sine,
  speech,
} from "./test-sound.ts";

const RATE = 48_000;
const silence = (seconds: number) => new Float32Array(Math.round(seconds * RATE));
const louder = (samples: Float32Array, gain: number) => samples.map((x) => x * gain);

function finding({ findings }: Diagnosis, code: FindingCode): Finding {
  const found = findings.find((one) => one.code === code);
  if (found === undefined) throw new Error(`There is no finding ${code}`);
  return found;
}

function gradesOtherThanPass({ findings }: Diagnosis): string[] {
  return findings
    .filter(({ grade }) => grade !== "pass")
    .map(({ code, grade }) => `${code} ${grade}`);
}

describe("a good recording", () => {
  it("passes everything", () => {
    const diagnosis = diagnose([babble(6, RATE)], RATE);
    expect(gradesOtherThanPass(diagnosis)).toEqual([]);
    expect(diagnosis.grade).toBe("pass");
    expect(finding(diagnosis, "noise").value).toBeGreaterThan(50);
    expect(finding(diagnosis, "bandwidth").value).toBe(24_000);
  });

  it("passes as stereo, and with one channel empty", () => {
    const voice = babble(6, RATE);
    expect(diagnose([voice, voice], RATE).grade).toBe("pass");
    expect(diagnose([voice, silence(6)], RATE).grade).toBe("pass");
  });
});

describe("what the server refuses", () => {
  it.each([
    ["0.9 s", 0.9, "fail"],
    ["1 s", 1, "warn"],
    ["3 s", 3, "pass"],
    ["15 s", 15, "pass"],
    ["30 s", 30, "warn"],
    ["30.1 s", 30.1, "fail"],
  ])("fails by length: %s", (_, seconds, grade) => {
    expect(finding(diagnose([babble(seconds, RATE)], RATE), "length").grade).toBe(grade);
  });

  it("follows the limits of the server", () => {
    const limits = { reference_min_seconds: 4, reference_max_seconds: 5 };
    expect(finding(diagnose([babble(3.9, RATE)], RATE, limits), "length").grade).toBe("fail");
    expect(finding(diagnose([babble(5.1, RATE)], RATE, limits), "length").grade).toBe("fail");
  });

  it("fails when it is silent", () => {
    const quiet = diagnose([noise(5, RATE, 1e-4)], RATE);
    expect(finding(quiet, "silent").grade).toBe("fail");
    const faint = diagnose([noise(5, RATE, 3e-4)], RATE);
    expect(finding(faint, "silent").grade).toBe("pass");
    expect(finding(diagnose([silence(5)], RATE), "silent").grade).toBe("fail");
  });

  it("fails when too little of it is sound", () => {
    const short = joined(silence(2), sine(0.2, RATE, 300), silence(2));
    const diagnosis = diagnose([short], RATE);
    expect(finding(diagnosis, "sound")).toMatchObject({ grade: "fail" });
    expect(finding(diagnosis, "sound").value).toBeCloseTo(0.2 + 0.26, 1);
  });
});

describe("what could be better", () => {
  it("tells a level that is too low or too high, and repairs it", () => {
    for (const gain of [0.1, 5]) {
      const planes = [louder(babble(5, RATE, 1e-6), gain)];
      const before = diagnose(planes, RATE);
      expect(finding(before, "level").grade).toBe("warn");
      const { fix } = finding(before, "level");
      const after = diagnose(applyFixes(planes, RATE, fix ? [fix] : []), RATE);
      expect(finding(after, "level").grade).toBe("pass");
      expect(finding(after, "level").value).toBeCloseTo(-21, 0);
      expect(after.measures.peakDb).toBeLessThan(0);
    }
  });

  it("tells clipped sound", () => {
    const clipped = louder(babble(5, RATE), 12).map((x) => Math.max(-1, Math.min(1, x)));
    expect(finding(diagnose([clipped], RATE), "clipping").grade).toBe("warn");
    const loud = louder(sine(5, RATE, 300, 1), 0.99);
    expect(finding(diagnose([loud], RATE), "clipping")).toMatchObject({ grade: "pass", value: 0 });
  });

  it("tells noise by its distance from the sound", () => {
    const noisy = diagnose([babble(5, RATE, 0.009)], RATE);
    expect(finding(noisy, "noise").grade).toBe("warn");
    expect(finding(noisy, "noise").value).toBeCloseTo(20, -0.5);
    expect(finding(diagnose([sine(5, RATE, 300)], RATE), "noise").value).toBeUndefined();
  });

  it("tells silence at the ends, and cuts it off", () => {
    const planes = [joined(silence(1), babble(4, RATE), silence(2))];
    const before = diagnose(planes, RATE);
    expect(finding(before, "edges").grade).toBe("warn");
    expect(before.measures.leadingSilence).toBeCloseTo(1, 1);
    expect(before.measures.trailingSilence).toBeCloseTo(2.1, 1);
    const { fix } = finding(before, "edges");
    const after = diagnose(applyFixes(planes, RATE, fix ? [fix] : []), RATE);
    expect(finding(after, "edges").grade).toBe("pass");
    expect(after.measures.seconds).toBeCloseTo(4.16, 1);
  });

  it("tells sound that is mostly pauses", () => {
    const gaps = Array.from({ length: 6 }, () => [babble(0.3, RATE), silence(0.7)]).flat();
    expect(finding(diagnose([joined(...gaps)], RATE), "silence").grade).toBe("warn");
  });

  it("tells a telephone by its bandwidth", () => {
    const low = Array.from({ length: 12 }, (_, i) => sine(4, RATE, 280 * (i + 1), 0.02));
    const phone = low.reduce((sum, part) => sum.map((x, i) => x + (part[i] ?? 0)));
    const { grade, value } = finding(diagnose([phone], RATE), "bandwidth");
    expect(grade).toBe("warn");
    expect(Math.abs((value ?? 0) - 3500)).toBeLessThanOrEqual(250);
  });

  it("tells an offset, and removes it", () => {
    const planes = [babble(4, RATE).map((x) => x + 0.05)];
    const before = diagnose(planes, RATE);
    expect(finding(before, "offset")).toMatchObject({
      grade: "warn",
      fix: { kind: "remove_offset" },
    });
    expect(finding(before, "offset").value).toBeCloseTo(0.05, 3);
    const after = diagnose(applyFixes(planes, RATE, [{ kind: "remove_offset" }]), RATE);
    expect(finding(after, "offset").value).toBeLessThan(1e-6);
  });

  it("tells a room by how slowly sound falls", () => {
    const pauses = Array.from({ length: 6 }, () => [noise(0.3, RATE, 0.1), silence(0.8)]).flat();
    const dry = joined(...pauses);
    const close = diagnose([dry], RATE);
    expect(finding(close, "reverb").grade).toBe("pass");
    const far = diagnose([inRoom(dry, RATE, 1.2)], RATE);
    expect(finding(far, "reverb").grade).toBe("warn");
    expect(Math.abs((finding(far, "reverb").value ?? 0) - 1.2)).toBeLessThan(0.4);
  });

  it("tells channels that cancel each other", () => {
    const voice = babble(4, RATE);
    const diagnosis = diagnose([voice, louder(voice, -1)], RATE);
    expect(finding(diagnosis, "phase").grade).toBe("warn");
    expect(finding(diagnosis, "silent").grade).toBe("pass");
  });
});

describe("noise", () => {
  const SECONDS = 6;
  /** 20 dB below the speech while it sounds. */
  const RMS = 0.1 * fromDb(diagnose([speech(SECONDS, RATE)], RATE).measures.soundDb);
  const noises: [string, Float32Array][] = [
    ["white noise", noise(SECONDS, RATE, RMS)],
    ["pink noise", pinkNoise(SECONDS, RATE, RMS)],
    ["hum of 50 Hz", hum(SECONDS, RATE, 50, RMS)],
    ["hum of 60 Hz", hum(SECONDS, RATE, 60, RMS)],
  ];

  it.each([
    ["with silence in its pauses", speech(SECONDS, RATE)],
    ["over the noise of a good room", mixed(speech(SECONDS, RATE), noise(SECONDS, RATE, 1e-4))],
    ["with a constant offset", speech(SECONDS, RATE).map((x) => x + 0.003)],
    ["without a pause", speech(SECONDS, RATE, false)],
  ])("is not found in clean speech %s", (_, samples) => {
    expect(finding(diagnose([samples], RATE), "noise").grade).toBe("pass");
  });

  it("is told by the pauses, not by soft sounds", () => {
    const clean = mixed(speech(SECONDS, RATE), noise(SECONDS, RATE, 1e-4));
    expect(finding(diagnose([clean], RATE), "noise").value).toBeCloseTo(
      20 + toDb(RMS / 1e-4),
      -0.5,
    );
  });

  it("is not guessed where nothing but speech or a steady tone is heard", () => {
    for (const samples of [speech(SECONDS, RATE, false), sine(SECONDS, RATE, 300)]) {
      expect(finding(diagnose([samples], RATE), "noise")).toMatchObject({
        grade: "pass",
        value: undefined,
      });
    }
  });

  it.each(noises)("is found: %s 20 dB below the speech, with and without pauses", (_, added) => {
    for (const pauses of [true, false]) {
      const noisy = mixed(speech(SECONDS, RATE, pauses), added);
      const found = finding(diagnose([noisy], RATE), "noise");
      expect(found.grade).toBe("warn");
      expect(Math.abs((found.value ?? 0) - 20)).toBeLessThan(3);
    }
  });

  it.each(noises)("is found: %s where the file is padded with silence or drops out", (_, added) => {
    const noisy = mixed(speech(SECONDS, RATE), added);
    const padded = joined(silence(1), noisy, silence(1));
    expect(finding(diagnose([padded], RATE), "noise").grade).toBe("warn");
    noisy.fill(0.0003, RATE, RATE * 1.04);
    expect(finding(diagnose([noisy], RATE), "noise").grade).toBe("warn");
  });

  it("is found when it is nearly as loud as the speech", () => {
    const loud = noise(SECONDS, RATE, 4 * RMS);
    const found = finding(diagnose([mixed(speech(SECONDS, RATE), loud)], RATE), "noise");
    expect(found.grade).toBe("warn");
    expect(found.value).toBeLessThan(12);
  });
});

describe("the best window", () => {
  it("holds most sound, in 10 s at most, and is what a long recording is cut to", () => {
    const sparse = Array.from({ length: 8 }, () => [babble(0.4, RATE), silence(0.6)]).flat();
    const planes = [joined(...sparse, babble(10, RATE), ...sparse)];
    const before = diagnose(planes, RATE);
    expect(before.bestWindow.start).toBeGreaterThan(7.4);
    expect(before.bestWindow.end).toBeLessThan(18.6);
    expect(before.bestWindow.end - before.bestWindow.start).toBeLessThan(10.001);
    const fixes = before.findings.flatMap(({ fix }) => fix ?? []);
    const after = diagnose(applyFixes(planes, RATE, fixes), RATE);
    expect(finding(after, "length").grade).toBe("pass");
    expect(after.measures.silenceShare).toBeLessThan(before.measures.silenceShare);
  });

  it("is all of the sound where that is short", () => {
    const { bestWindow, measures } = diagnose([joined(silence(1), babble(5, RATE))], RATE);
    expect(bestWindow).toEqual(measures.sound);
  });
});
