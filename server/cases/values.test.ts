/** The values of cases: every rule, every name, and that the same seed gives the same. */
import { expect, it } from "vitest";
import { eachLength, type Scope, Values } from "./values.ts";

const CLIP = Buffer.alloc(100);

function values(mostTextChars?: number): Values {
  return new Values({
    settings: { ws: { idle_timeout_s: 1.5 } },
    voices: ["clara", "otto", "mia"],
    slots: () => 8,
    mostTextChars,
    file: async () => CLIP,
    saved: (name) => Buffer.from(`<${name}>`),
  });
}

const filled = (value: unknown, scope: Scope = {}) => values().filled(value, scope);

it.each<[string, unknown, Scope, unknown]>([
  ["a repetition", { $repeat: ["ab ", 3] }, {}, "ab ab ab "],
  ["one of several", { $each: ["a", { $repeat: ["n", 3] }] }, { $each: 1 }, "nnn"],
  ["values in turn", { $cycle: ["@voice1", "@voice2"] }, { $i: 4 }, "otto"],
  ["joined parts", { $concat: ["a:", { $repeat: ["b", 2] }] }, {}, "a:bb"],
  ["a word by its number", { $word_repeat: ["$k", 2] }, { $k: 3 }, "three three."],
  ["numbered words", { $numbered_words: 3 }, {}, "w1 w2 w3"],
  ["a variable alone, which keeps its kind", { seed: "$i" }, { $i: 7 }, { seed: 7 }],
  ["a variable in a text", "Ticket $i of $s.", { $i: 7, $s: "0.2" }, "Ticket 7 of 0.2."],
  ["an unknown variable", "costs $5 or $(touch x)", {}, "costs $5 or $(touch x)"],
  [
    "names of voices",
    ["@default", "@builtin1 ", "@upper:builtin2"],
    {},
    ["default", "clara ", "OTTO"],
  ],
  ["a name in a body that is no JSON", '{"voice":"@default"}', {}, '{"voice":"default"}'],
  ["what was saved", "@saved:r1", {}, "<r1>"],
  ["other values", [null, 7, true, {}], {}, [null, 7, true, {}]],
])("%s", async (_, value, scope, expected) => {
  expect(await filled(value, scope)).toEqual(expected);
});

it("makes clips that differ in their last bits only", async () => {
  const first = String(await filled("@dataurl:a.wav+noise$i", { $i: 1 }));
  const second = String(await filled("@dataurl:a.wav+noise$i", { $i: 2 }));
  const bytes = (url: string) => Buffer.from(url.replace(/^data:audio\/wav;base64,/, ""), "base64");
  expect(bytes(first)).not.toEqual(bytes(second));
  expect(bytes(first).subarray(0, 60)).toEqual(bytes(second).subarray(0, 60));
  expect(await filled("@dataurl:a.wav")).toBe(`data:audio/wav;base64,${CLIP.toString("base64")}`);
});

it("is random by the seed alone", async () => {
  const random = { $random: [10, 900, "seed 5"] };
  const one = values();
  const other = values();
  const first = [await one.filled(random, {}), await one.filled(random, {})];
  expect(first).toEqual([await other.filled(random, {}), await other.filled(random, {})]);
  expect(first[0]).not.toBe(first[1]);
  for (const value of first) expect(value).toSatisfy((ms: number) => ms >= 10 && ms < 900);
  const text = { $random_text: ["seed $i", 400] };
  expect(await filled(text, { $i: 1 })).toBe(await filled(text, { $i: 1 }));
  expect(await filled(text, { $i: 1 })).not.toBe(await filled(text, { $i: 2 }));
  expect(await filled({ $random_bytes: [64, "seed 3"] })).toMatch(/^[0-9a-f]{128}$/);
});

it("counts with names", async () => {
  const count = (value: unknown) => values().number(value, { $i: 2 });
  expect(await count("@slots*4")).toBe(32);
  expect(await count("@heartbeat_ms * 2 + 1000")).toBe(31_000);
  expect(await count({ $random: [5, 5, "x"] })).toBe(5);
  expect(await count("@idle_limit_ms + 2000")).toBe(3500);
  await expect(count("@moon_phase")).rejects.toThrow("no @moon_phase");
});

it("shortens what is repeated, never below once", async () => {
  const sentence = { $repeat: ["0123456789", 100] };
  expect(await values(35).filled(sentence, {})).toHaveLength(30);
  expect(await values(3).filled(sentence, {})).toHaveLength(10);
  expect(await values().filled(sentence, {})).toHaveLength(1000);
});

it("finds how many runs a step needs", () => {
  expect(eachLength([{ http: { json: { input: { $each: [1, 2, 3] } } } }])).toBe(3);
  expect(eachLength([{ http: { json: { input: "x" } } }])).toBeUndefined();
});
