/** Tags that make silence, and much that looks like them. */
import { describe, expect, it } from "vitest";
import { MAX_PAUSE_MS, MAX_PAUSES_MS, PauseTags, type TaggedPart } from "./pause-tags.ts";

/** All parts of a text that comes in these pieces, neighbouring texts joined. */
function partsOf(pieces: readonly string[]): (string | number)[] {
  const tags = new PauseTags();
  const parts: TaggedPart[] = [...pieces.flatMap((piece) => tags.push(piece)), ...tags.flush()];
  const joined: (string | number)[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.kind === "pause") joined.push(part.ms);
    else if (typeof last === "string") joined[joined.length - 1] = last + part.text;
    else joined.push(part.text);
  }
  return joined;
}

describe("a tag", () => {
  it.each([
    ["a [pause 0.5s] b", ["a ", 500, " b"]],
    ["[pause:2s]b", [2000, "b"]],
    ["a[Pause : 300ms]", ["a", 300]],
    ["[pause 1 s][PAUSE 1.25S]", [1000, 1250]],
    ["[[pause 1s]]", ["[", 1000, "]"]],
    ["[pause 0s]", [0]],
  ])("in %j is %j", (text, expected) => {
    expect(partsOf([text])).toEqual(expected);
  });

  it.each([
    ["[pause]"],
    ["[pause s]"],
    ["[pause 5]"],
    ["[pause -1s]"],
    ["[pause 1min]"],
    ["[pauses 1s]"],
    ["[pause  1s]"],
    ["[pause 1.s]"],
    ["[pause 1234567s]"],
    ["[1] and [pau"],
    ["[pause 1s"],
    ["["],
  ])("%j is none", (text) => {
    expect(partsOf([text])).toEqual([text]);
  });

  it("is the same however the text was cut", () => {
    const text = "One [pause 0.5s] two [pause:1.25s][pause] [[pause 30ms] three [pau";
    const whole = partsOf([text]);
    expect(whole).toEqual(["One ", 500, " two ", 1250, "[pause] [", 30, " three [pau"]);
    expect(partsOf([...text])).toEqual(whole);
    for (let cut = 1; cut < text.length; cut++) {
      expect(partsOf([text.slice(0, cut), text.slice(cut)])).toEqual(whole);
    }
  });

  it("holds back no more than may become one, and nothing else", () => {
    const tags = new PauseTags();
    expect(tags.push("Hello [pause 1")).toEqual([{ kind: "text", text: "Hello " }]);
    expect(tags.waiting).toBe("[pause 1".length);
    expect(tags.push("x")).toEqual([{ kind: "text", text: "[pause 1x" }]);
    expect(tags.waiting).toBe(0);
  });

  it("may be so long, and all of them together", () => {
    expect(partsOf(["[pause 99s]"])).toEqual([MAX_PAUSE_MS]);
    const many = partsOf(["[pause 9s]".repeat(100)]) as number[];
    expect(many.slice(0, 8)).toEqual([9000, 9000, 9000, 9000, 9000, 9000, 6000, 0]);
    expect(many.reduce((sum, ms) => sum + ms, 0)).toBe(MAX_PAUSES_MS);
  });
});
