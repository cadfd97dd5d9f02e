/** How speech of the starter model ends: by itself, whole, in sensible time, and never at full scale. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FERRY, levelDb, type Spoken, Starter } from "./test-starter.ts";

/** Sentences of the long text, of three to four seconds each. */
const SENTENCES = process.env.SONANT_THOROUGH ? 26 : 13;
let starter: Starter;

beforeAll(async () => {
  starter = await Starter.load();
});
afterAll(() => starter.close());

const heldOut = (
  JSON.parse(
    readFileSync(join(import.meta.dirname, "../../native/models/starter/heldout.json"), "utf8"),
  ) as { text: string; set: string }[]
).flatMap(({ text, set }) => (set === "interface" ? [text] : []));

const stopsByItself = ({ speech }: Spoken) =>
  speech.segments.every(({ reason }) => reason === "stop");

it.each(["clara", "ryan"])("%s speaks forty sentences to their end", async (voice) => {
  expect(heldOut.length).toBe(40);
  const spoken = await Promise.all(
    heldOut.map((text, seed) => starter.speak({ text, voice, seed: seed + 1 })),
  );
  const { channels, samplesPerFrame } = starter.model.audio;
  expect(samplesPerFrame).toBe(3840);
  for (const [i, result] of spoken.entries()) {
    const text = heldOut[i];
    expect(stopsByItself(result), text).toBe(true);
    const counted = result.speech.segments.reduce((sum, { stats }) => sum + stats.frames, 0);
    expect(result.frames, text).toBe(counted);
    const pauses = result.pauses.reduce((sum, samples) => sum + samples, 0);
    expect(result.pcm.length / channels, text).toBe(counted * samplesPerFrame + pauses);
    expect(
      result.pcm.findIndex((sample) => Math.abs(sample) >= 1),
      text,
    ).toBe(-1);
  }
});

it.each(["Hi", "你好"])("B064: %s takes 0.2 to 3 s", async (text) => {
  const seeds = Array.from({ length: 20 }, (_, i) => i + 1);
  const spoken = await Promise.all(seeds.map((seed) => starter.speak({ text, seed })));
  for (const { seconds, speech } of spoken) {
    expect(seconds, `seed ${speech.seed}`).toBeGreaterThanOrEqual(0.2);
    expect(seconds, `seed ${speech.seed}`).toBeLessThanOrEqual(3);
  }
});

it("B066: audio that was cut is reported, and ends at the cap", async () => {
  const { speech, frames } = await starter.speak({ text: FERRY.repeat(2), maxFrames: 10, seed: 1 });
  expect(speech.isTruncated).toBe(true);
  expect(frames).toBe(10 * speech.segments.length);
  expect(speech.segments.every(({ reason }) => reason === "length")).toBe(true);
});

it("B067: the last seconds of a long text are speech like the first", async () => {
  const sentence = "A quiet market opens before sunrise and the sellers greet each other. ";
  const text = sentence.repeat(SENTENCES);
  const result = await starter.speak({ text, seed: 1 });
  expect(stopsByItself(result)).toBe(true);
  expect(result.seconds / text.length).toBeGreaterThan(0.04);
  expect(result.seconds / text.length).toBeLessThan(0.11);
  const { channels, sampleRate } = starter.model.audio;
  const size = 10 * sampleRate * channels;
  const windows = [];
  for (let at = 0; at + size <= result.pcm.length; at += size) {
    windows.push(result.pcm.subarray(at, at + size));
  }
  expect(windows.length).toBeGreaterThan(0.28 * SENTENCES);
  const first = windows[0] ?? new Float32Array();
  for (const window of windows) {
    expect(levelDb(window)).toBeGreaterThan(levelDb(first) - 15);
    expect(crossings(window) / crossings(first)).toBeGreaterThan(0.5);
    expect(crossings(window) / crossings(first)).toBeLessThan(2);
  }
});

/** How often the first of two channels changes its sign. */
function crossings(pcm: Float32Array): number {
  let count = 0;
  for (let i = 2; i < pcm.length; i += 2) {
    if ((pcm[i] ?? 0) < 0 !== (pcm[i - 2] ?? 0) < 0) count++;
  }
  return count;
}

it("text that comes one character at a time is heard before it ends", async () => {
  let hear = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  let atFirstAudio = "";
  let given = "";
  async function* typed() {
    for (const char of "The door is open. Please come in and ") {
      given += char;
      yield char;
    }
    await heard; // typing goes on only when something was heard
    for (const char of "sit down.") {
      given += char;
      yield char;
    }
  }
  const speech = starter.start({ text: typed(), seed: 3 });
  for await (const chunk of speech) {
    if (chunk.frames > 0 && atFirstAudio === "") {
      atFirstAudio = given;
      hear();
    }
  }
  expect("The door is open. Please come in and ".startsWith(atFirstAudio)).toBe(true);
  expect(given.endsWith("sit down.")).toBe(true);
  expect(speech.segments.map(({ segment }) => segment.text).join(" ")).toBe(given);
});
