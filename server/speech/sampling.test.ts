/** Whose word counts in how a unit is sampled: the model's, above it the deploy file's, above that the request's, zeros included. */
import { expect, it } from "vitest";
import type { Model, Sampling } from "../models/types.ts";
import type { SpeechConfig } from "./options.ts";
import { CONFIG, type House, MODEL, openHouse, speak } from "./test-house.ts";
import type { SessionRequest } from "./types.ts";

const OF_MODEL: Sampling = {
  textTemperature: 1,
  textTopK: 50,
  textTopP: 1,
  audioTemperature: 0.8,
  audioTopK: 25,
  audioTopP: 0.95,
  audioRepetitionPenalty: 1.2,
};

function open(sampling: Partial<SpeechConfig["sampling"]> = {}): Promise<House> {
  const model = { ...MODEL, sampling: OF_MODEL, planSegment: MODEL.planSegment } as Model;
  return openHouse({ model, config: { ...CONFIG, sampling: { ...CONFIG.sampling, ...sampling } } });
}

/** What the engine was asked for when one unit was spoken. */
async function asked(house: House, request: Partial<SessionRequest> = {}) {
  await speak(house, ["Hello there."], request);
  const { sampling, maxFrames } = house.native.generations.at(-1)?.options ?? {};
  return { ...sampling, maxFrames };
}

it("takes the model's where nobody else says a word", async () => {
  const { audioRepetitionPenalty, ...rest } = OF_MODEL;
  expect(await asked(await open())).toMatchObject({
    ...rest,
    repetitionPenalty: audioRepetitionPenalty,
  });
});

it("puts the deploy file above the model, field by field", async () => {
  const house = await open({ textTopK: 0, audioTopK: 0, audioTemperature: 0.5, maxFrames: 7 });
  expect(await asked(house)).toMatchObject({
    textTopK: 0,
    audioTopK: 0,
    audioTemperature: 0.5,
    audioTopP: 0.95,
    repetitionPenalty: 1.2,
    maxFrames: 7,
  });
});

it("puts the request above both, field by field", async () => {
  const house = await open({ audioTopK: 9, audioTopP: 0.5, audioRepetitionPenalty: 1.1 });
  const request = { sampling: { audioTopK: 0, textTopK: 0, audioRepetitionPenalty: 1 } };
  expect(await asked(house, request)).toMatchObject({
    textTopK: 0,
    audioTopK: 0,
    audioTopP: 0.5,
    audioTemperature: 0.8,
    repetitionPenalty: 1,
  });
  expect(await asked(house)).toMatchObject({ textTopK: 50, audioTopK: 9, repetitionPenalty: 1.1 });
});

it("speaks with the deploy file's seed where the request has none, and 0 is a seed to both", async () => {
  const [zero, eight] = [await open({ seed: 0 }), await open({ seed: 8 })];
  expect(await asked(zero, { seed: undefined })).toMatchObject({ seed: 0n });
  expect(await asked(zero, { seed: 3n })).toMatchObject({ seed: 3n });
  expect(await asked(eight, { seed: undefined })).toMatchObject({ seed: 8n });
  expect(await asked(eight, { seed: 0n })).toMatchObject({ seed: 0n });
});

it("lets the request cap its frames below or above what the deploy file says", async () => {
  const house = await open({ maxFrames: 7 });
  expect(await asked(house, { maxFrames: 3 })).toMatchObject({ maxFrames: 3 });
  expect(await asked(house, { maxFrames: 20 })).toMatchObject({ maxFrames: 20 });
});
