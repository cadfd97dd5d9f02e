/** The official OpenAI client, as it comes, against the shipped model: everything it can ask for, decoded and measured. */
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeAudio } from "../audio/decode.ts";
import { rms, toDb } from "../audio/pcm.ts";
import type { WireCase } from "../protocol/test-cases.ts";
import { CaseHouse, type CaseServer } from "./test-case-server.ts";

const INPUT = "Hello from the voice playground.";
const RATE = 48_000;

let house: CaseHouse;
let server: CaseServer;
let client: OpenAI;

beforeAll(async () => {
  house = await CaseHouse.open();
  server = await house.serve({ server: "nano_x", name: "openai" } as WireCase, "");
  client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await server?.close();
  await house?.close();
});

/** A request with a seed, which the client passes on although it does not know it. */
function request(format: "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm", more: object = {}) {
  return {
    model: "gpt-4o-mini-tts",
    voice: "alloy",
    input: INPUT,
    response_format: format,
    seed: 11,
    ...more,
  } as const;
}

async function speak(format: Parameters<typeof request>[0], more: object = {}): Promise<Buffer> {
  const answer = await client.audio.speech.create(request(format, more));
  return Buffer.from(await answer.arrayBuffer());
}

const samples = (pcm: Buffer) =>
  Float32Array.from(
    new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length)),
    (it) => it / 32768,
  );

describe.each([false, true])("with stream: %s", (stream) => {
  it.each(["mp3", "opus", "aac", "flac", "wav"] as const)(
    "gets %s of the right length and level",
    async (format) => {
      const truth = samples(await speak("pcm"));
      const { pcm, sampleRate, channels } = await decodeAudio(await speak(format, { stream }));
      expect([sampleRate, channels]).toEqual([RATE, 1]);
      const tolerance = format === "mp3" || format === "aac" ? 0.1 : 0.02;
      expect(Math.abs(pcm.length - truth.length) / RATE).toBeLessThan(tolerance);
      expect(Math.abs(toDb(rms(pcm)) - toDb(rms(truth)))).toBeLessThan(1);
    },
  );
});

it("gets the same sound whole, streamed, and as events", async () => {
  const whole = await speak("pcm");
  expect(whole.length).toBeGreaterThan(RATE);
  const streamed: Buffer[] = [];
  const answer = await client.audio.speech.create(request("pcm", { stream_format: "audio" }));
  for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) {
    streamed.push(Buffer.from(part));
  }
  expect(Buffer.concat(streamed).equals(whole)).toBe(true);

  const events = await client.audio.speech.create(request("pcm", { stream_format: "sse" }));
  const data = [...(await events.text()).matchAll(/^data: (.*)$/gm)].map(([, line = ""]) =>
    JSON.parse(line),
  );
  const deltas = data.filter(({ type }) => type === "speech.audio.delta");
  expect(Buffer.concat(deltas.map(({ audio }) => Buffer.from(audio, "base64"))).equals(whole)).toBe(
    true,
  );
  expect(data.at(-1)).toMatchObject({ type: "speech.audio.done" });
});

it("gets mp3 when it names no format, and errors as its own kind", async () => {
  const { response_format: _, ...rest } = request("mp3");
  const answer = await client.audio.speech.create(rest);
  expect(answer.headers.get("content-type")).toBe("audio/mpeg");
  await answer.arrayBuffer();
  await expect(client.audio.speech.create({ ...rest, speed: 9 })).rejects.toThrow(
    OpenAI.BadRequestError,
  );
  await expect(client.audio.speech.create({ ...rest, model: "no-such" })).rejects.toThrow(
    OpenAI.NotFoundError,
  );
  expect((await client.models.list()).data.map(({ id }) => id)).toContain("gpt-4o-mini-tts");
});
