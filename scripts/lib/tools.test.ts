import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUILD_TOOLS, missingTools, requireNode, requireTools, which } from "./tools.mjs";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sonant-tools-"));
  for (const name of ["c++", "make", "notes.txt"]) writeFileSync(join(folder, name), "");
  for (const name of ["c++", "make"]) chmodSync(join(folder, name), 0o755);
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("which", () => {
  it("finds executables along the path and nothing else", () => {
    expect(which("c++", `/nowhere:${folder}`)).toBe(join(folder, "c++"));
    expect(which("notes.txt", folder)).toBeUndefined();
    expect(which("cmake", folder)).toBeUndefined();
  });
});

describe("requireTools", () => {
  it("names every missing tool and its Debian package in one sentence", () => {
    expect(() => requireTools(BUILD_TOOLS, "/nowhere")).toThrow(
      "Sonant needs a C++20 compiler, CMake, make or Ninja: install it first (Debian: apt-get install g++ cmake make).",
    );
  });

  it("is content with one of several alternatives", () => {
    expect(missingTools(BUILD_TOOLS, folder).map((tool) => tool.name)).toEqual(["CMake"]);
  });
});

describe("requireNode", () => {
  it("refuses an older Node and accepts the minimum and newer", () => {
    expect(() => requireNode(">=20.9", "20.8.1")).toThrow("Sonant needs Node 20.9 or newer");
    expect(() => requireNode(">=20.9", "18.20.0")).toThrow("this is Node 18.20.0");
    expect(() => requireNode(">=20.9", "20.9.0")).not.toThrow();
    expect(() => requireNode(">=20.9", "22.1.0")).not.toThrow();
  });
});
