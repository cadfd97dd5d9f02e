/** Where text is cut, when it leaves, and that neither depends on how it came in. */
import { describe, expect, it } from "vitest";
import { normalise } from "./normalise.ts";
import { type Segment, Segmenter, type SegmenterOptions, segmentStream } from "./segmenter.ts";

/** All segments, and how many of them left before the end was known. */
function run(pieces: readonly string[], options: SegmenterOptions = {}) {
  const segmenter = new Segmenter(options);
  const segments = pieces.flatMap((piece) => segmenter.push(piece));
  const early = segments.length;
  segments.push(...segmenter.end());
  return { segments, early };
}

const texts = (segments: readonly Segment[]) => segments.map((segment) => segment.text);
const bySentence = (text: string) => texts(run([text], { granularity: "sentence" }).segments);
const byClause = (text: string) => texts(run([text], { granularity: "clause" }).segments);

describe("sentences", () => {
  it.each<[string, string[]]>([
    ["Hello. How are you? I am fine! ", ["Hello.", "How are you?", "I am fine!"]],
    ["你好！你好吗？我很好。", ["你好！", "你好吗？", "我很好。"]],
    ["Hello世界。How are you? ", ["Hello世界。", "How are you?"]],
    ["你好，世界", ["你好，世界"]],
    ["नमस्ते। कैसे हो?", ["नमस्ते।", "कैसे हो?"]],
    ["كيف حالك؟ بخير", ["كيف حالك؟", "بخير"]],
    ["Τι κάνεις; Καλά.", ["Τι κάνεις;", "Καλά."]],
    ["First; second. Third.", ["First; second.", "Third."]],
    ["Title\n\nBody text. ", ["Title", "Body text."]],
    ["Milk\nBread\nEggs\nApples", ["Milk", "Bread", "Eggs", "Apples"]],
    ["One\r\nTwo\rThree", ["One", "Two", "Three"]],
    [
      "The quick brown fox jumps over the lazy dog and then it\ngoes on here. Yes.",
      ["The quick brown fox jumps over the lazy dog and then it\ngoes on here.", "Yes."],
    ],
  ])("%j", (text, expected) => {
    expect(bySentence(text)).toEqual(expected);
  });

  it.each([
    "It costs 3.14 dollars.",
    "Version v2.3.1 and 1.2.3 are out.",
    "Dr. Smith met Mr. Jones and Prof. Lee.",
    "J. R. R. Tolkien wrote it with George W. Bush.",
    "Fruit, e.g. apples, i.e. the red ones, approx. 5 of them.",
    "In the U.S. Army he served.",
    "At 5 p.m. on Nov. 29 we met.",
    "It starts at 9 a.m. PST for all.",
    "Das geht z. B. in Raum vier.",
    "See No. 5, p. 12 and Fig. 3 for it.",
    "Go to https://a.example/x?y=1.5&z=!a or mail bob.b@example.org now.",
    "Use Node.js and .NET and main.py here.",
    "Wait... what is that.",
    "Well… maybe.",
    "“Stop!” he said.",
    '"Really?" she asked.',
    "She asked (really?) and left.",
    "「行こう。」と言った。",
    "« Ça va ? » dit-il.",
    "Das war am 3. Oktober im 19. Jahrhundert.",
    "Der 2. Weltkrieg war lang.",
    "Acme Inc. sells things at Main St. in St. Louis.",
    "1. Open the door",
    "Elmer et al. wrote it.",
  ])("does not cut inside %j", (text) => {
    expect(bySentence(text)).toEqual([text]);
  });

  it.each<[string, string[]]>([
    ["Really?! Yes. ", ["Really?!", "Yes."]],
    ['She said "Stop." Then left. ', ['She said "Stop."', "Then left."]],
    ["See https://a.example/x?y=1. Done. ", ["See https://a.example/x?y=1.", "Done."]],
    ["He lives in the U.S. The sun shines.", ["He lives in the U.S.", "The sun shines."]],
    ["It is 5 p.m. Let us go.", ["It is 5 p.m.", "Let us go."]],
    ["Cats, dogs, etc. Birds too.", ["Cats, dogs, etc.", "Birds too."]],
    ["No. I will not.", ["No.", "I will not."]],
    ["That was 2024. Now it is over.", ["That was 2024.", "Now it is over."]],
    ["i went home. then i slept.", ["i went home.", "then i slept."]],
    ["**Bold.** Next.", ["**Bold.**", "Next."]],
    ["Great!🎉 Next one.", ["Great!", "🎉 Next one."]],
    ["「はい。」「いいえ。」", ["「はい。」", "「いいえ。」"]],
    ["1. Open.\n2. Close.", ["1. Open.", "2. Close."]],
    ["Hi.<break/> There", ["Hi.", "<break/> There"]],
  ])("cuts %j", (text, expected) => {
    expect(bySentence(text)).toEqual(expected);
  });

  it("cuts clauses when asked", () => {
    expect(byClause("Hello, world. ")).toEqual(["Hello,", "world."]);
    expect(byClause("你好，世界。")).toEqual(["你好，", "世界。"]);
    expect(byClause("It is 1,000; or 10:30: yes")).toEqual(["It is 1,000;", "or 10:30:", "yes"]);
  });

  it("does not read code, and does not take it for sentences", () => {
    const text = "Before.\n```js\nlet x. y = 1;\n// Done. Yes.\n```\nAfter. `a` is code.";
    const { segments } = run([text], { granularity: "sentence" });
    expect(texts(segments)).toEqual(["Before.", "After.", "`a` is code."]);
    expect(segments[1]?.pauseBeforeMs).toBe(600);
    expect(texts(run(["Hi.\n```\nnever closed. Not. Said."]).segments)).toEqual(["Hi."]);
  });

  it.each([
    "",
    " ",
    "\n\n",
    "...",
    "?!",
    "。。。",
    "—",
    "🎉",
    "- - -",
    "```\ncode\n```",
    "<b></b>",
  ])("%j gives nothing", (text) => {
    expect(run([text]).segments).toEqual([]);
  });
});

describe("when a segment leaves", () => {
  const early = (...pieces: string[]) => run(pieces, { granularity: "sentence" }).early;

  it.each<[string, number]>([
    ["Hello world.", 0],
    ["Hello world. ", 1],
    ["Hello world.\n", 1],
    ["It costs 3.", 0],
    ["It costs 3. ", 0],
    ["It costs 3. T", 0],
    ["It costs 3. Then ", 1],
    ["Dr. ", 0],
    ["Really?", 0],
    ["Really? ", 1],
    ["你好。", 1],
    ["「你好。", 0],
    ["「你好。」", 0],
    ["「你好。」我", 1],
    ["Hello.\u201d ", 0],
    ["Hello.\u201d The", 1],
    ["Title", 0],
    ["Title\n", 1],
    ["Wait... ", 0],
    ["Wait... W", 1],
  ])("%j: %i", (text, count) => {
    expect(early(text)).toBe(count);
  });

  it("flush forces out what is there and lets text go on", () => {
    const segmenter = new Segmenter();
    expect(segmenter.push("Hello wor")).toEqual([]);
    expect(texts(segmenter.flush())).toEqual(["Hello wor"]);
    expect(texts(segmenter.push("ld. Good. "))).toEqual([]);
    expect(texts(segmenter.end())).toEqual(["ld. Good."]);
    expect(segmenter.end()).toEqual([]);
    expect(() => segmenter.push("more")).toThrow(/already ended/);
  });

  it("release gives up packing but keeps the unfinished sentence", () => {
    const segmenter = new Segmenter();
    expect(texts(segmenter.push("One is first. Two waits. Three is not"))).toEqual([
      "One is first.",
    ]);
    expect(texts(segmenter.release())).toEqual(["Two waits."]);
    expect(segmenter.release()).toEqual([]);
    expect(texts(segmenter.push(" done. "))).toEqual([]);
    expect(texts(segmenter.end())).toEqual(["Three is not done."]);
  });

  it("holds everything until flush in mode none, and then keeps to the budget", () => {
    const segmenter = new Segmenter({ granularity: "none" });
    expect(segmenter.push("One. Two. ")).toEqual([]);
    expect(segmenter.release()).toEqual([]);
    expect(texts(segmenter.flush())).toEqual(["One. Two."]);
    segmenter.push("A quiet market opens before sunrise. ".repeat(40));
    const parts = segmenter.end();
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.every((part) => part.spoken.length / 3 <= 75)).toBe(true);
  });

  it("keeps a surrogate pair together across pushes and flushes", () => {
    const segmenter = new Segmenter();
    segmenter.push("Hi \ud83c");
    expect(texts(segmenter.flush())).toEqual(["Hi"]);
    segmenter.push("\udf89 there");
    expect(segmenter.end().map((segment) => segment.spoken)).toEqual(["there."]);
  });
});

describe("packing", () => {
  const long =
    "Sure, it leaves at nine. It goes to London. Then it stops for ten minutes. After that you can " +
    "change to the other line, which is slower. Enjoy your trip!\n\nA new paragraph starts here.";

  it("sends the first sentence alone, packs the next ones, and pauses longer at a paragraph", () => {
    const { segments } = run([long]);
    expect(texts(segments)).toEqual([
      "Sure, it leaves at nine.",
      "It goes to London. Then it stops for ten minutes. After that you can change to the other line, which is slower. Enjoy your trip!",
      "A new paragraph starts here.",
    ]);
    expect(segments.map((segment) => segment.pauseBeforeMs)).toEqual([0, 240, 600]);
    expect(segments.map((segment) => segment.index)).toEqual([0, 1, 2]);
  });

  it("starts a very long first sentence with its first clause", () => {
    const text =
      "Although the weather was bad and nobody wanted to leave the house, we left anyway and walked.";
    const { segments } = run([text]);
    expect(texts(segments)[0]).toBe(
      "Although the weather was bad and nobody wanted to leave the house,",
    );
    expect(segments[1]?.pauseBeforeMs).toBe(120);
    expect(texts(run(["Sure, the next train leaves soon."]).segments)).toHaveLength(1);
  });

  it("keeps every segment inside the budget it is given", () => {
    const limits = { segmentTokens: 30, segmentWords: 9, firstSegmentTokens: 12 };
    const countTokens = (spoken: string) => Math.ceil(spoken.length / 2);
    const text = `${long} It costs $1,234,567.89 or 12,345,678 euros, says the very long last sentence of it all.`;
    for (const segment of run([text], { limits, countTokens }).segments) {
      expect(countTokens(segment.spoken)).toBeLessThanOrEqual(30);
      expect(segment.spoken.split(" ").length).toBeLessThanOrEqual(9);
    }
  });

  it("pauses at line ends, and longer after a short segment", () => {
    const pauses = run(["Milk\nBread\n\nEggs"]).segments.map((segment) => segment.pauseBeforeMs);
    expect(pauses).toEqual([0, 400, 600]);
    const short = run(["Yes. It is so."]).segments.map((segment) => segment.pauseBeforeMs);
    expect(short).toEqual([0, 400]);
  });

  it("finds the language of each sentence and lets an explicit one win", () => {
    const text = "Das kostet 27 Euro.\n今天很好。\nGood morning to you.";
    expect(run([text]).segments.map((segment) => segment.language)).toEqual(["de", "zh", "en"]);
    const french = run(["71 et 92"], { language: "fr" }).segments;
    expect(french[0]?.spoken).toBe("soixante et onze et quatre-vingt-douze.");
  });
});

describe("text without marks", () => {
  it.each([
    ["words", "and then we walked on ".repeat(140)],
    ["one long word", "a".repeat(5000)],
    ["Chinese", "春天的风吹过山坡".repeat(250)],
    ["flags", "🇫🇷".repeat(50) + "x".repeat(900)],
    ["families and accents", `${"e\u0301👩‍👩‍👧".repeat(3)}z`.repeat(90)],
    ["one endless cluster", `a${"\u0301".repeat(3000)}b`],
  ])("%s: all of it, in pieces that fit, no character broken", (_name, text) => {
    const { segments, early } = run([text]);
    expect(early).toBeGreaterThanOrEqual(segments.length > 1 ? 1 : 0);
    const silent = (part: string) => normalise(part).spoken === "" || part.trim() === "";
    let at = 0;
    for (const segment of segments) {
      expect(silent(text.slice(at, segment.start))).toBe(true);
      expect(segment.text.isWellFormed()).toBe(true);
      expect(segment.spoken.length / 3).toBeLessThanOrEqual(75);
      at = segment.end;
    }
    expect(silent(text.slice(at))).toBe(true);
  });

  it("cuts words at spaces, and not between a number and its unit", () => {
    for (const segment of run(["we walked 5 km and then ".repeat(60)]).segments) {
      expect(segment.text).toMatch(/^(?:we|walked|5|and|then)\b/);
      expect(segment.text).not.toMatch(/5$/);
      expect(segment.text).not.toMatch(/^km/);
    }
  });

  it("keeps no more than a window inside", () => {
    const segmenter = new Segmenter();
    for (const piece of ["word ", "a", "\n", " ", "```\n", "x".repeat(50), "。", "("]) {
      for (let i = 0; i < 800; i++) segmenter.push(piece);
      expect(segmenter.waiting).toBeLessThan(6000);
    }
  });
});

/** A small deterministic generator (LCG), so that a failure can be repeated. */
function random(seed: number) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const BRICKS = [
  ..."Hello| |  |. |! |? |... |…|\n|\n\n|\r\n|Dr. |e.g. |U.S. |No. |5|3.14|v2.3.1|bob@x.org|。|！|？".split(
    "|",
  ),
  ..."」|「|你好|，|、|\"|'|”|“|(|)|**|`|```|```\n|# |- |1. |🎉|👩🏽‍🚀|🇫🇷|é|e\u0301|\u200b|<b>|</b>|a < b|;".split(
    "|",
  ),
  ..."Τι |« | »|The |then |Oktober |am |$5.50| p.m. |\ud800|, | - |—|؟ |،|https://a.b/c?d=1. ".split(
    "|",
  ),
  "x".repeat(40),
  " word ".repeat(12),
];

describe("properties, on random text", () => {
  const modes = ["auto", "sentence", "clause", "none"] as const;
  const cases = Array.from({ length: 300 }, (_, i) => i);

  it("the same text gives the same segments however it is cut on the way in", () => {
    for (const seed of cases) {
      const next = random(seed + 1);
      const text = Array.from(
        { length: 1 + Math.floor(next() * 60) },
        () => BRICKS[Math.floor(next() * BRICKS.length)] as string,
      ).join("");
      const options: SegmenterOptions = {
        granularity: modes[seed % 4] as (typeof modes)[number],
        limits: seed % 3 === 0 ? {} : { segmentTokens: 20, segmentWords: 8, firstSegmentTokens: 8 },
      };
      const pieces: string[] = [];
      for (let at = 0; at < text.length; ) {
        const size = seed % 2 === 0 ? 1 : 1 + Math.floor(next() * 17);
        pieces.push(text.slice(at, at + size));
        at += size;
      }
      const whole = run([text], options).segments;
      expect(run(pieces, options).segments, JSON.stringify(text)).toEqual(whole);

      // Nothing is lost: the segments are slices in order, and between them is nothing to say.
      let end = 0;
      for (const segment of whole) {
        expect(text.slice(segment.start, segment.end)).toBe(segment.text);
        expect(segment.start).toBeGreaterThanOrEqual(end);
        end = segment.end;
      }
    }
  });

  it("every word of a text is spoken, in order", () => {
    const words = "alpha bravo charlie delta echo foxtrot golf hotel india".split(" ");
    const marks = [" ", " ", " ", ", ", ". ", "! ", "? ", "\n", "; ", " - ", '" ', "... ", "\n\n"];
    for (const seed of cases.slice(0, 60)) {
      const next = random(seed + 7000);
      const chosen = Array.from(
        { length: 80 },
        () => words[Math.floor(next() * words.length)] as string,
      );
      const text = chosen.map((word) => word + marks[Math.floor(next() * marks.length)]).join("");
      const spoken = run([text], { language: "en" }).segments.map((segment) => segment.spoken);
      expect(spoken.join(" ").match(/[a-z]+/g)).toEqual(chosen);
    }
  });
});

it("segmentStream yields from an async iterable", async () => {
  async function* pieces() {
    yield "Hello wor";
    yield "ld. How are";
    yield " you?";
  }
  const out: string[] = [];
  for await (const segment of segmentStream(pieces())) out.push(segment.spoken);
  expect(out).toEqual(["Hello world.", "How are you?"]);
});

it("refuses limits that make no sense", () => {
  expect(() => new Segmenter({ limits: { segmentTokens: 0 } })).toThrow(/segmentTokens/);
});
