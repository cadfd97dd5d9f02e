/** A process that is killed in the middle of its uploads loses nothing that it had confirmed and leaves nothing half. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { FileVoiceStore } from "./file-store.ts";
import { codesOf, KEY, temporaryFolder } from "./test-voices.ts";

const CHILD = join(import.meta.dirname, "children/uploads.ts");
/** How many lines the child of each round prints before it is killed, and how many milliseconds after that. */
const ROUNDS = [
  [2, 0],
  [9, 3],
  [20, 0],
  [40, 11],
] as const;

/** What may be found under a name: the hash of a recording, or undefined for no voice. */
type Possible = Array<string | undefined>;

async function uploadUntilKilled(folder: string, flavour: number, lines: number, extraMs: number) {
  const args = ["--import", import.meta.resolve("tsx"), CHILD, folder, String(flavour)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  await new Promise<void>((resolve) => {
    child.stdout.on("data", (data) => {
      output += data;
      if (output.split("\n").length > lines) resolve();
    });
  });
  await sleep(extraMs);
  child.kill("SIGKILL");
  await once(child, "close");
  return output.split("\n").slice(0, -1);
}

it("survives being killed at any moment", async () => {
  await using folder = await temporaryFolder();
  const possible = new Map<string, Possible>();
  for (const [round, [lines, extraMs]] of ROUNDS.entries()) {
    const flavour = 1 + round * 1000;
    for (const line of await uploadUntilKilled(folder.path, flavour, lines, extraMs)) {
      const { begin, done, sha256 } = JSON.parse(line);
      if (done !== undefined) possible.set(done, [sha256]);
      else possible.set(begin, [...(possible.get(begin) ?? [undefined]), sha256]);
    }
    const logged: string[] = [];
    const log = (sentence: string) => logged.push(sentence);
    const store = await FileVoiceStore.open(folder.path, { log });
    for (const [name, hashes] of possible) {
      const voice = await store.find(name);
      expect(hashes).toContain(voice?.sha256);
      possible.set(name, [voice?.sha256]);
      if (voice === undefined) continue;
      expect([undefined, voice.sha256]).toContain(voice.speakerDescription);
      expect(await store.sample(voice.id)).toHaveLength(40_000);
      expect(await store.codes(voice.id, KEY)).toMatchObject({ frames: codesOf(1).frames });
    }
    expect(logged).toEqual([]);
    const voices = await store.list();
    const folders = await readdir(folder.path);
    expect(folders.map((name) => name.split(".")[0]).sort()).toEqual(
      voices.map((v) => v.id).sort(),
    );
    const files = await readdir(folder.path, { recursive: true });
    expect(files.filter((name) => name.includes(".tmp-"))).toEqual([]);
  }
  expect(possible.size).toBe(3);
}, 600_000);
