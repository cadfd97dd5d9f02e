import { describe, expect, it } from "vitest";
import { isInstalled } from "./packages.mjs";

const zod = { version: "4.6.7", integrity: "sha512-a" };
const fsevents = { version: "2.3.3", integrity: "sha512-b", optional: true };
const lock = {
  packages: {
    "": { version: "0.1.0" },
    "node_modules/zod": zod,
    "node_modules/fsevents": fsevents,
  },
};

describe("isInstalled", () => {
  it("accepts an exact installation, optional packages present or not", () => {
    expect(isInstalled(lock, { packages: { "node_modules/zod": zod } })).toBe(true);
    const both = { "node_modules/zod": zod, "node_modules/fsevents": fsevents };
    expect(isInstalled(lock, { packages: both })).toBe(true);
  });

  it("refuses a missing, a different and a left-over package", () => {
    expect(isInstalled(lock, { packages: {} })).toBe(false);
    const older = { "node_modules/zod": { ...zod, version: "4.6.6" } };
    expect(isInstalled(lock, { packages: older })).toBe(false);
    const extra = { "node_modules/zod": zod, "node_modules/left-over": zod };
    expect(isInstalled(lock, { packages: extra })).toBe(false);
  });
});
