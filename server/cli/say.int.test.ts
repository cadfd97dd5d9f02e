/** `npm run say` as a user meets it: files, pipes, mistakes, Ctrl+C. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readWav } from "../audio/wav.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const folder = temporaryFolder();
const say = (...args: string[]) => new Command("say.ts", ["--threads", "1", ...args]);
const SENTENCE = "The window is open.";

/** Both lengths in the header, and what they should be for the file's size. */
function lengths(file: string) {
  const bytes = readFileSync(file);
  return {
    riff: bytes.readUInt32LE(4) + 8,
    data: bytes.readUInt32LE(40) + 44,
    size: bytes.length,
  };
}

describe("a file", () => {
  const file = join(folder, "first.wav");

  it("is a valid WAV with true lengths, and --json says how long it is", async () => {
    const { status, stdout } = await say(SENTENCE, "--seed", "7", "-o", file, "--json").result;
    expect(status).toBe(0);
    const { riff, data, size } = lengths(file);
    expect([riff, data]).toEqual([size, size]);
    const wav = readWav(readFileSync(file));
    expect([wav.sampleRate, wav.channels]).toEqual([48_000, 2]);
    const report = JSON.parse(stdout.toString());
    expect(report).toMatchObject({ file, seed: 7, truncated: false });
    expect(report.seconds).toBeCloseTo((size - 44) / 4 / 48_000, 6);
    expect(report.seconds).toBeGreaterThan(0.5);
  });

  it("is the same for the same seed", async () => {
    const again = join(folder, "again.wav");
    expect((await say(SENTENCE, "--seed", "7", "-o", again).result).status).toBe(0);
    expect(readFileSync(again).equals(readFileSync(file))).toBe(true);
  });

  it("can be the voice of the next", async () => {
    const cloned = join(folder, "cloned.wav");
    const { status } = await say("Good morning.", "--clone", file, "--seed", "1", "-o", cloned)
      .result;
    expect(status).toBe(0);
    expect(readWav(readFileSync(cloned)).pcm.length).toBeGreaterThan(0.3 * 48_000 * 2);
  });

  it("is valid when Ctrl+C ends it in the middle", async () => {
    const cut = join(folder, "cut.wav");
    const command = say(`${SENTENCE} `.repeat(60), "--seed", "1", "-o", cut);
    await command.until(() => existsSync(cut) && statSync(cut).size > 50_000);
    command.interrupt();
    expect((await command.result).status).toBe(130);
    const { riff, data, size } = lengths(cut);
    expect([riff, data]).toEqual([size, size]);
    expect(size).toBeLessThan(60 * 0.5 * 48_000 * 4);
  });
});

it("speaks on stdout while text is still being typed", async () => {
  const command = say("--stdin", "-o", "-", "--seed", "3");
  command.type("The door is open. Please come in and ");
  await command.until(() => command.stdout.length > 44);
  const early = command.stdout.length;
  command.type("sit down.\n");
  command.type();
  const { status, stdout } = await command.result;
  expect(status).toBe(0);
  expect(stdout.subarray(0, 4).toString()).toBe("RIFF");
  expect(stdout.length).toBeGreaterThan(early);
});

describe("mistakes", () => {
  it.each([
    [["Hello", "--voice", "nobody"], 1, /^voice must be one of: .*clara.*; found nobody\n$/],
    [["Hello", "--seed", "x"], 2, /^--seed must be a whole number from 0 to \d+, not 'x'\n$/],
    [["Hello", "--top-p", "2"], 2, /^--top-p must be a number from 0.01 to 1, not '2'\n$/],
    [["Hello", "-o", "hello.txt"], 2, /^--output must end in \.wav or \.pcm, not 'hello.txt'\n$/],
    [["Hello", "--loud"], 2, /^Unknown option '--loud'/],
    [["..."], 1, /^There was nothing to speak in the text\.\n$/],
    [["Hello", "--clone", "/nowhere.wav"], 1, /\/nowhere\.wav/],
    [["Hello", "--model", "/nowhere"], 1, /\/nowhere/],
  ])("%j ends with a sentence and status %i", async (args, status, sentence) => {
    const quiet = args.includes("-o") ? args : [...args, "-o", join(folder, "mistake.wav")];
    const result = await say(...quiet).result;
    expect(result.status).toBe(status);
    expect(result.stderr).toMatch(sentence);
    expect(result.stderr).not.toMatch(/\n {4}at /);
  });
});
