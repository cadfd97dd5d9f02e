import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ensureDebian } from "./debian.mjs";

const FLUTE = { name: "a flute", commands: ["flute"], debian: "flute flute-notes" };

let folder: string;
let said: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sonant-debian-"));
  said = [];
  vi.stubEnv("PATH", folder);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** An apt-get that records how it was called and then runs `script`. */
function fakeApt(script: string) {
  const text = `#!/bin/sh\necho "$@" >> ${folder}/calls\n${script}\n`;
  writeFileSync(join(folder, "apt-get"), text, { mode: 0o755 });
}

const ensure = () => ensureDebian([FLUTE], (text) => said.push(text));

describe("ensureDebian", () => {
  it("does nothing when everything is there", async () => {
    writeFileSync(join(folder, "flute"), "", { mode: 0o755 });
    expect(await ensure()).toEqual([]);
    expect(said).toEqual([]);
  });

  it("installs what is missing, as root", async () => {
    vi.spyOn(process, "getuid").mockReturnValue(0);
    fakeApt(`: > ${folder}/flute; /bin/chmod +x ${folder}/flute`);
    expect(await ensure()).toEqual([]);
    const calls = readFileSync(join(folder, "calls"), "utf8");
    expect(calls).toMatch(/update\n.*install -y --no-install-recommends flute flute-notes\n/);
  });

  it("says in one sentence what is still missing when it may not install", async () => {
    vi.spyOn(process, "getuid").mockReturnValue(1000);
    expect(await ensure()).toEqual([FLUTE]);
    expect(said).toEqual([
      "Missing for some tests: a flute (Debian: apt-get install flute flute-notes).",
    ]);
  });

  it("goes on when the installation fails, and says so", async () => {
    vi.spyOn(process, "getuid").mockReturnValue(0);
    fakeApt("exit 100");
    expect(await ensure()).toEqual([FLUTE]);
    expect(said[1]).toContain("apt-get update failed");
    expect(said.at(-1)).toContain("Missing for some tests: a flute");
  });
});
