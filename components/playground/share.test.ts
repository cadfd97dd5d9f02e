import { describe, expect, it } from "vitest";
import { fragmentOf, setupOf } from "./share.ts";

const SETUP = {
  text: "“Grüße”, 世界 – 🎧\nSecond line & 100 %",
  voice: "clara",
  seed: 42,
  speed: 1.25,
  temperature: undefined,
  audioTemperature: 0.7,
  normalise: false,
};

describe("a link", () => {
  it("brings back exactly the set-up it was made of", () => {
    expect(setupOf(fragmentOf(SETUP))).toEqual(SETUP);
  });

  it("names the model, where there was one to name", () => {
    expect(setupOf(fragmentOf(SETUP))).not.toHaveProperty("model");
    const named = { ...SETUP, model: "OpenMOSS-Team/MOSS-TTS-Nano" };
    expect(setupOf(fragmentOf(named))).toEqual(named);
  });

  it("holds nothing that has to be escaped in an address", () => {
    expect(fragmentOf(SETUP)).toMatch(/^#take=[\w-]+$/);
  });

  it("is nothing to a page whose address has another fragment", () => {
    expect(setupOf("")).toBeUndefined();
    expect(setupOf("#content")).toBeUndefined();
  });

  it.each(["#take=!!", "#take=e30", `${fragmentOf(SETUP).slice(0, -9)}`])(
    "%s is refused",
    (link) => {
      expect(() => setupOf(link)).toThrow();
    },
  );

  it("keeps figures within what the server takes", () => {
    const wild = fragmentOf({ ...SETUP, speed: 99, audioTemperature: -1 });
    expect(setupOf(wild)).toMatchObject({ speed: 1, audioTemperature: undefined });
  });
});
