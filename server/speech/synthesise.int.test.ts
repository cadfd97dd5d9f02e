/** Speech from the starter model: text in, audio out, through everything there is. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { FERRY, levelDb, Starter } from "./test-starter.ts";

let starter: Starter;

beforeAll(async () => {
  starter = await Starter.load();
});
afterAll(() => starter.close());

async function* words(text: string) {
  for (const word of text.split(/(?<= )/)) yield word;
}

it("speaks two sentences of sensible length and level", async () => {
  const text = "The door is open. Please come in now.";
  const { speech, pcm, seconds } = await starter.speak({ text, voice: "clara", seed: 7 });
  expect(speech.segments.every(({ reason }) => reason === "stop")).toBe(true);
  expect(seconds).toBeGreaterThan(0.05 * text.length);
  expect(seconds).toBeLessThan(0.15 * text.length);
  expect(levelDb(pcm)).toBeGreaterThan(-40);
});

it("gives the same audio however the text arrives", async () => {
  const request = { text: "Blue glass bottle. It is empty.", seed: 0 };
  const whole = await starter.speak(request);
  const inPieces = await starter.speak({ ...request, text: words(request.text) });
  expect(inPieces.digest).toBe(whole.digest);
});

it("clones a voice from a recording that it made itself", async () => {
  const { engine, model } = starter;
  const text = "Tell me about the harbour lights.";
  const spoken = await starter.speak({ text, voice: "mia", seed: 3 });
  const codes = await engine.encode(spoken.pcm, model.audio.channels, model.audio.sampleRate);
  const books = engine.info.codec?.nCodebooks ?? 0;
  const voice = {
    kind: "clone",
    codes: { frames: codes.length / books, books, data: Uint16Array.from(codes) },
  } as const;
  const { seconds } = await starter.speak({ text: "The window is open.", voice, seed: 2 });
  expect(seconds).toBeGreaterThan(0.5);
});

it("leaves nothing behind when the listener leaves", async () => {
  for await (const chunk of starter.start({ text: FERRY.repeat(3), seed: 1 })) {
    if (chunk.firstFrame === 4) break;
  }
  await starter.idle();
  expect(starter.engine.stats()).toMatchObject({ waiting: 0, sequenceBytes: 0 });
});
