/** A session's audio as bytes: what becomes of samples that come as integers or as floats. */
import { expect, it } from "vitest";
import { concatBytes, toPcm16 } from "../audio/pcm.ts";
import { wavHeader } from "../audio/wav.ts";
import type { AudioReady } from "../speech/types.ts";
import { type AudioShape, encodedAudio, encodedFile, encoderFor } from "./encoding.ts";

const SAMPLES = Float32Array.of(0, 0.5, -0.25, 1);
const INTEGERS = Int16Array.of(0x0201, 0x0403, 0x0605, 0x0807);
const BYTES = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const WRITTEN = concatBytes([BYTES, toPcm16(SAMPLES), BYTES]);
const SHAPE: Omit<AudioShape, "format"> = { sampleRate: 8000, channels: 1 };
const NO_METRICS = { encoded: () => {} };

/** Three chunks; the second has floats, as a unit of another speed would. */
async function* speech(): AsyncGenerator<AudioReady> {
  for (const pcm of [INTEGERS, SAMPLES, INTEGERS]) {
    const place = { utterance: 0, unit: 0, generation: 0, startMs: 0 };
    yield { kind: "audio", ...place, ...SHAPE, pcm };
  }
}

async function streamed(format: AudioShape["format"]): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const encoder = await encoderFor({ ...SHAPE, format }, NO_METRICS);
  for await (const { bytes } of encodedAudio(speech(), encoder)) parts.push(bytes);
  return concatBytes(parts);
}

it("writes integers as they are, and makes them of floats", async () => {
  expect(await streamed("pcm")).toEqual(WRITTEN);
  expect(await streamed("wav")).toEqual(concatBytes([wavHeader(8000, 1), WRITTEN]));
  const pcm = await encodedFile(speech(), { ...SHAPE, format: "pcm" }, NO_METRICS);
  expect(pcm.bytes).toEqual(WRITTEN);
  const wav = await encodedFile(speech(), { ...SHAPE, format: "wav" }, NO_METRICS);
  expect(wav.bytes).toEqual(concatBytes([wavHeader(8000, 1, 12), WRITTEN]));
});
