import { expect, it } from "vitest";
import type { Voice } from "../api/voices.ts";
import { type Order, shownVoices } from "./voice-order.ts";

function voice(name: string, createdAt: number, description = "", pitchHz?: number): Voice {
  const rest = { isDefault: false, referenceSeconds: undefined, consent: "", pitchHz };
  const kind = createdAt === 0 ? "preset" : "mine";
  return { id: name, name, kind, description, language: "en", createdAt, ...rest };
}

const VOICES = [
  voice("otto", 0, "US English, deep", 95),
  voice("Älva", 20, "warm and deep"),
  voice("Bea", 30),
  voice("ada", 10),
];
/** The sample of a preset comes with a pitch of its own, which must not count. */
const SAMPLES = { Bea: { pitch: 210 }, otto: { pitch: 300 }, ada: { pitch: undefined } };

const names = (query: string, order: Order) =>
  shownVoices(VOICES, query, order, SAMPLES).map(({ name }) => name);

it("orders voices by name, age or pitch, those without a pitch last", () => {
  expect(names("", "name")).toEqual(["ada", "Älva", "Bea", "otto"]);
  expect(names("", "newest")).toEqual(["Bea", "Älva", "ada", "otto"]);
  expect(names("", "pitch")).toEqual(["otto", "Bea", "ada", "Älva"]);
});

it("orders voices of the same pitch by name", () => {
  const twins = [voice("Zoe", 0, "", 170), voice("Al", 0, "", 170), voice("Bo", 0, "", 90)];
  expect(shownVoices(twins, "", "pitch", {}).map(({ name }) => name)).toEqual(["Bo", "Al", "Zoe"]);
});

it("finds every word of a search, wherever it is", () => {
  expect(names("DEEP", "name")).toEqual(["Älva", "otto"]);
  expect(names(" deep  otto ", "name")).toEqual(["otto"]);
  expect(names("deep shallow", "name")).toEqual([]);
});
