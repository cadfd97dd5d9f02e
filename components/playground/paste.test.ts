import { expect, it } from "vitest";
import { cleanPaste, estimateSeconds } from "./paste.ts";

it("removes what cannot be seen and keeps every word and paragraph", () => {
  const pasted = "One\u200B two\u00AD\u00A0three.  \r\n\r\n\r\n\r\nFour\u2028five.";
  expect(cleanPaste(pasted)).toBe("One two three.\n\nFour\nfive.");
});

it("leaves clean text alone", () => {
  const text = "A plain line.\n\nAnother — with “marks”, 世界 and 🎧.";
  expect(cleanPaste(text)).toBe(text);
});

it("estimates nothing for nothing, and more for more", () => {
  expect(estimateSeconds("  \n")).toBe(0);
  expect(estimateSeconds("Hi")).toBe(1);
  expect(estimateSeconds("a".repeat(150))).toBe(10);
  expect(estimateSeconds("世".repeat(45))).toBe(10);
});
