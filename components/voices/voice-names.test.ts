import { describe, expect, it } from "vitest";
import { freeName, nameFromFile, nameProblem } from "./voice-names.ts";

const VOICES = [
  { id: "clara", name: "Clara", kind: "preset" },
  { id: "voice_1", name: "Zoë 語", kind: "mine" },
  { id: "voice_2", name: "Zoë 語 2", kind: "mine" },
] as const;

describe("a name", () => {
  it.each([
    ["Ada", undefined],
    ["n".repeat(10), undefined],
    ["👩‍🎤".repeat(2), undefined],
    ["  ", "empty"],
    ["..", "empty"],
    ["n".repeat(11), "long"],
    ["a/b", "letters"],
    ["a\\b", "letters"],
    ["a\u0007b", "letters"],
    ["Default", "reserved"],
    ["VOICE_x", "reserved"],
    ["CLARA ", "preset"],
    ["zoë  語", "taken"],
  ])("%j is judged %s", (name, problem) => {
    expect(nameProblem(name, VOICES, 10)).toBe(problem);
  });

  it("may be kept by the voice that has it", () => {
    expect(nameProblem("ZOË 語", VOICES, 10, "voice_1")).toBeUndefined();
    expect(nameProblem("ZOË 語", VOICES, 10, "voice_2")).toBe("taken");
  });
});

describe("a name from a file", () => {
  it.each([
    ["Ada_Lovelace.wav", "Ada Lovelace"],
    ["take.2.final.flac", "take.2.final"],
    ["  .m4a", "My voice"],
    ["clara.mp3", "clara 2"],
    ["zoë_語.wav", "zoë 語 3"],
    ["no ending", "no ending"],
  ])("of %j is %j", (file, name) => {
    expect(nameFromFile(file, VOICES, 128, "My voice")).toBe(name);
  });

  it("is shortened, with room for its number", () => {
    expect(freeName("Zoë 語 and so on", VOICES, 5)).toBe("Zoë 2");
    expect(freeName("x".repeat(300), VOICES, 128)).toHaveLength(128);
  });
});
