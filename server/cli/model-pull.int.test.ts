/** `npm run model -- pull` and its kin as a user meets them: a release on a server of its own, interrupted, resumed, spoken with. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readWav } from "../audio/wav.ts";
import { deliver, type Fault, status, TestHub } from "../models/hub/test-hub.ts";
import { putRelease, starterFile } from "../models/hub/test-release.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const parent = temporaryFolder();
const folder = join(parent, "moss-tts-nano");
const part = join(parent, ".moss-tts-nano.pull/downloads/lm/model.safetensors.part");
const model = (...args: string[]) => new Command("model.ts", args);
const pull = (...args: string[]) => model("pull", "moss-tts-nano", "--to", folder, ...args);
const HALF = 10_000_000;

let hub: TestHub;

beforeAll(async () => {
  hub = await TestHub.start();
  const lm = starterFile("lm/model.safetensors");
  putRelease(hub, { lm, codec: starterFile("codec/model.safetensors") });
  Object.assign(process.env, {
    HF_ENDPOINT: hub.url,
    HF_TOKEN: "hf_secret",
    NO_PROXY: "127.0.0.1",
  });
});

afterAll(() => hub.close());

/** Half of the file, and then nothing more. */
const stall: Fault = (request, response, content) => {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  response.end = () => response;
  deliver(request, response, content);
  response.write(content.subarray(from, from + HALF));
  return true;
};

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

it("says what it would fetch, and fetches nothing where nobody can be asked", async () => {
  const { status, stdout, stderr } = await pull().result;
  expect(status).toBe(2);
  expect(stdout.toString()).toMatch(/language model +OpenMOSS-Team\/MOSS-TTS-Nano @ c0ffee/);
  expect(stdout.toString()).toMatch(/licence apache-2\.0/);
  expect(stderr).toMatch(/Nobody can be asked here, so nothing was done; --yes agrees/);
  expect(hub.fetched).toEqual([]);
  expect(readdirSync(parent)).toEqual([]);
});

it("goes on where it was killed, and where Ctrl+C ended it", async () => {
  // The tokenizer comes first from the same host.
  hub.cdnFaults.push(undefined, stall, stall);
  const killed = pull("--yes");
  await killed.until(() => sizeOf(part) === HALF);
  killed.kill();
  await killed.result;
  expect(existsSync(folder)).toBe(false);

  const interrupted = pull("--yes");
  await interrupted.until(() => sizeOf(part) === 2 * HALF);
  interrupted.interrupt();
  const { status, stderr } = await interrupted.result;
  expect(status).toBe(130);
  expect(stderr).toContain("Interrupted. What has arrived is kept");
  expect(existsSync(folder)).toBe(false);

  const whole = await pull("--yes").result;
  expect(whole.stderr).not.toMatch(/\n {4}at /);
  expect(whole.status).toBe(0);
  const report = whole.stdout.toString();
  expect(report).toMatch(/of which \d+\.\d MB are here/);
  expect(report).toContain("2 voices, with their published codes: Junhao, Ava.");
  expect(report).toContain("Left out: Trump (it imitates a real person)");
  const asked = hub.fetched.filter(({ path }) => /cdn|^\/.*\/model\.safetensors\?/.test(path));
  const ranges = asked.map(({ range }) => range);
  expect(ranges).toEqual([undefined, `bytes=${HALF}-`, `bytes=${2 * HALF}-`]);
  expect(hub.fetched.every(({ host, authorization }) => host === "hub" || !authorization)).toBe(
    true,
  );
  expect(readdirSync(parent)).toEqual(["moss-tts-nano"]);
});

it("speaks with what was pulled", async () => {
  const file = join(parent, "hello.wav");
  const say = new Command("say.ts", ["Hello there.", "--model", folder, "--seed", "1", "-o", file]);
  expect((await say.result).status).toBe(0);
  expect(readWav(readFileSync(file)).pcm.length).toBeGreaterThan(0.3 * 48_000 * 2);
  rmSync(file);
});

it("lists, verifies and removes", async () => {
  expect((await pull().result).stdout.toString()).toContain("It is there already");
  const list = await model("list", folder).result;
  expect(list.stdout.toString()).toMatch(/starter .*part of the repository\n/);
  expect(list.stdout.toString()).toMatch(
    /huggingface: lm c0ffee\d+, .*; whole by names and sizes\n/,
  );
  expect((await model("verify", folder).result).status).toBe(0);

  const weights = join(folder, "codec/model.safetensors");
  const bytes = readFileSync(weights);
  writeFileSync(weights, bytes.fill(0, bytes.length - 1));
  const { status, stdout } = await model("verify", folder).result;
  expect(status).toBe(1);
  expect(stdout.toString()).toMatch(
    /^codec\/model\.safetensors has another content .*\n.*1 of 8 files/,
  );

  expect((await model("remove", folder).result).status).toBe(2);
  expect(existsSync(folder)).toBe(true);
  expect((await model("remove", folder, "--yes").result).status).toBe(0);
  expect(readdirSync(parent)).toEqual([]);
});

it.each([
  [["pull", "gpt-5"], 1, /^there is no model 'gpt-5' to pull; known: moss-tts-nano\n$/],
  [["pull", "moss-tts-nano", "--source", "ftp"], 2, /^--source must be huggingface or modelscope/],
  [["pull", "moss-tts-nano", "--fast"], 2, /^Unknown option '--fast'/],
  [["verify", "nowhere"], 1, /^there is neither a model nor a folder 'nowhere'; known models: /],
  [["remove", "starter", "--yes"], 1, /^the starter is part of the repository and stays\n$/],
  [["remove", "native/shapes", "--yes"], 1, /was not made by 'pull' .*so it is left alone\n$/],
])("%j ends with a sentence and status %i", async (args, expected, sentence) => {
  const result = await model(...args).result;
  expect(result.status).toBe(expected);
  expect(result.stderr).toMatch(sentence);
});

it("says where a mirror cannot be used", async () => {
  hub.hubFaults.push(status(403));
  const { stderr } = await pull("--yes").result;
  expect(stderr).toMatch(/answered 403 .*; HF_TOKEN may not read it, or it does not exist\n$/);
});
