import { expect, test } from "vitest";
import { split, wordErrors } from "./recognise.ts";

test("words are compared without case and marks", () => {
  expect(split("Don\u2019t STOP \u2014 it's 5!")).toEqual(["don't", "stop", "it's"]);
  expect(split(" ... ")).toEqual([]);
});

test.each([
  ["", "", 0],
  ["a b c", "", 3],
  ["", "a b", 2],
  ["a b c", "a b c", 0],
  ["the cat sat", "the bat sat", 1],
  ["the cat sat", "cat sat down", 2],
  ["a b", "b a", 2],
])("errors between %j and %j", (wanted, heard, errors) => {
  expect(wordErrors(split(wanted), split(heard))).toBe(errors);
});
