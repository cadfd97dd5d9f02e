import { expect, it } from "vitest";
import { readyToSend } from "./typing.ts";

it.each([
  ["Hel", 0, 0],
  ["Hello ", 0, 6],
  ["Hello wor", 0, 6],
  ["Hello wor", 6, 6],
  ["Hello world. ", 6, 13],
  ["你好", 0, 2],
  ["你好abc", 0, 2],
  ["", 0, 0],
])("of %j with %d sent, %d may leave", (text, from, ready) => {
  expect(readyToSend(text, from)).toBe(ready);
});
