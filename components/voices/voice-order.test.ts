import { expect, it } from "vitest";
import type { Voice } from "../api/voices.ts";
import { type Order, shownVoices } from "./voice-order.ts";

function voice(name: string, createdAt: number, description = ""): Voice {
  const rest = { isDefault: false, referenceSeconds: undefined, consent: "" };
  const kind = createdAt === 0 ? "preset" : "mine";
  return { id: name, name, kind, description, language: "en", createdAt, ...rest };
}

const VOICES = [
  voice("otto", 0, "US English, deep"),
  voice("Älva", 20, "warm and deep"),
  voice("Bea", 30),
  voice("ada", 10),
];
const PITCHES: Readonly<Record<string, number>> = { Bea: 210, otto: 95 };

const names = (query: string, order: Order) =>
  shownVoices(VOICES, query, order, (id) => PITCHES[id]).map(({ name }) => name);

it("orders voices by name, age or pitch, those without a pitch last", () => {
  expect(names("", "name")).toEqual(["ada", "Älva", "Bea", "otto"]);
  expect(names("", "newest")).toEqual(["Bea", "Älva", "ada", "otto"]);
  expect(names("", "pitch")).toEqual(["otto", "Bea", "ada", "Älva"]);
});

it("finds every word of a search, wherever it is", () => {
  expect(names("DEEP", "name")).toEqual(["Älva", "otto"]);
  expect(names(" deep  otto ", "name")).toEqual(["otto"]);
  expect(names("deep shallow", "name")).toEqual([]);
});
