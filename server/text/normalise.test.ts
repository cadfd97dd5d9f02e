/** What the cleanup and the punctuation steps promise, whatever the language. */
import { describe, expect, it } from "vitest";
import { type NormaliseOptions, normalise } from "./normalise.ts";

const say = (text: string, options?: NormaliseOptions) => normalise(text, options).spoken;

describe("invisible and broken characters", () => {
  const plain = say("The prerequisites are general.");
  it.each([
    [
      "soft hyphen, ZWSP, word joiner, BOM",
      "The pre\u00adreq\u200bui\u2060sites are gen\ufefferal.",
    ],
    ["bidi marks", "\u202aThe prerequisites\u202c are \u200fgeneral.\u2069"],
    ["variation selectors", "The prerequisites\ufe0f are general."],
    ["control characters", "The pre\u0007requisites\u0000 are general.\u001b"],
    ["odd spaces", "The\u00a0prerequisites\u2003are\u3000general. "],
  ])("%s change nothing", (_name, text) => {
    expect(say(text)).toBe(plain);
  });

  it.each([
    ["The cafe\u0301 is open.", "The caf\u00e9 is open."],
    ["hello \ud800 there", "hello there."],
    ["a\udc00\ud800b", "ab."],
    ["be\u0000fore", "before."],
    ["\ufffd\ufffdok\ufffd", "ok."],
  ])("%j is repaired", (text, spoken) => {
    expect(say(text)).toBe(spoken);
  });

  it("keeps the joiner that Persian spelling needs", () => {
    expect(say("پیشرفت\u200cهای مهم")).toBe("پیشرفت\u200cهای مهم.");
  });
});

it.each([
  ...[
    "",
    " ",
    "\t\n\r\n",
    "\u00a0",
    "\u3000",
    "\u200b\u200b",
    "...",
    "?!",
    "。、！",
    "—",
    '""',
    "¿",
  ],
  ...[
    ")))(((",
    "،؟",
    "***",
    "- - -",
    "🎉👍🏿",
    "```js\nlet x = 1;\n```",
    "<break/>",
    "###",
    "|---|---|",
  ],
])("%j has nothing to say", (text) => {
  expect(say(text)).toBe("");
});

describe("markup", () => {
  it.each([
    [
      "### Steps\n- **Open** the `door`\n1. [Manual](https://example.org/a?b=1#c)\n```js\nlet x = 1;\n```",
      "Steps. Open the door. Manual.",
    ],
    ["Milk\nBread\nEggs\nApples", "Milk. Bread. Eggs. Apples."],
    ["# Title #\nBody text.", "Title. Body text."],
    ["> Quoted\n> twice", "Quoted. twice."],
    ["* one\n* two", "one. two."],
    ["**1. Setup**\n- Install it", "Setup. Install it."],
    ["- [x] done\n- [ ] open", "done. open."],
    ["1) first\n2) second", "first. second."],
    ["Some *soft* and __hard__ and ***both*** words", "Some soft and hard and both words."],
    ["~~gone~~ here", "gone here."],
    ["![A cat](cat.png) sits", "A cat sits."],
    ["See [the docs](https://a.example/x_(y)) now", "See the docs now."],
    ["A fact.[^1] Another[2] one", "A fact. Another one."],
    ["snake_case and __init__ stay words", "snake case and init stay words."],
    ["| Name | Age |\n|---|---|\n| Ann | Bob |", "Name, Age. Ann, Bob."],
    ["Above\n\n---\n\nBelow", "Above. Below."],
    ["Use `npm test` now", "Use npm test now."],
    ["Before\n~~~\ncode\n~~~\nAfter", "Before. After."],
    ["An unclosed ```\nblock", "An unclosed. block."],
    ["2 * 3 * 4", "two times three times four."],
    ['<speak>Hi <break time="5s"/> there</speak>', "Hi. there."],
    ["<p>One</p><p>Two</p>", "One. Two."],
    ["This is a <test> of words.", "This is a test of words."],
    ["If a < b and c > d then stop.", "If a less than b and c greater than d then stop."],
    ["<|endoftext|> Please go on.", "Please go on."],
    ["<|im_start|>system you are", "system you are."],
    ["Fish &amp; chips &lt;3", "Fish and chips less than three."],
    ["<!-- hidden -->Shown", "Shown."],
    ['<sub alias="World Wide Web Consortium">W3C</sub> said', "World Wide Web Consortium said."],
    ["<b>Bold</b> text", "Bold text."],
  ])("%j", (text, spoken) => {
    expect(say(text, { language: "en" })).toBe(spoken);
  });

  it("is kept as words, and still never read as signs, when clean-up is off", () => {
    const spoken = say("### Steps\n- **Open** the `door`", { markdown: false });
    expect(spoken).toBe("Steps. Open the door.");
  });
});

describe("punctuation", () => {
  it.each([
    ["Hello world", "Hello world."],
    ["Hello world.", "Hello world."],
    ["Really?!", "Really?"],
    ["Stop!!!", "Stop!"],
    ["Wait... what", "Wait, what."],
    ["Wait... What", "Wait. What."],
    ["The end…", "The end."],
    ["One , two", "One, two."],
    ["He said “yes” — twice", "He said yes, twice."],
    ["Hello ‘world’", "Hello world."],
    ["It’s the dogs’ bowl", "It's the dogs bowl."],
    ["Rock 'n' roll", "Rock n roll."],
    ["The result (see below) is good", "The result, see below, is good."],
    ["The result is good (see below).", "The result is good, see below."],
    ["He called (twice!) and left", "He called, twice! and left."],
    ["well-known mother-in-law", "well-known mother-in-law."],
    ["A – B", "A, B."],
    ["left -> right", "left, right."],
    ["Note:", "Note."],
    ["Copyright © ACME™", "Copyright ACME."],
    ["Well done 🎉👩🏽‍🚀🇫🇷 see you 👍🏿.", "Well done see you."],
    ["🎉 Party", "Party."],
    ["1️⃣ choose", "one choose."],
    ["Hello，world！", "Hello, world!"],
  ])("%j", (text, spoken) => {
    expect(say(text, { language: "en" })).toBe(spoken);
  });

  it.each([
    ["zh", "你好世界", "你好世界。"],
    ["zh", "你 好 世 界！", "你好世界！"],
    ["zh", "你好, 世界", "你好，世界。"],
    ["zh", "他说：「好。」", "他说：好。"],
    ["zh", "真的？！", "真的？"],
    ["zh", "等等……好吧", "等等，好吧。"],
    ["zh", "今天——明天", "今天，明天。"],
    ["zh", "今天 update 到 GitHub 看看！", "今天 update 到 GitHub 看看！"],
    ["ja", "「はい」（笑）", "はい，笑。"],
    ["ja", "行こう。", "行こう。"],
    ["ko", "안녕하세요 여러분. 만나서 반갑습니다", "안녕하세요 여러분. 만나서 반갑습니다."],
    ["ko", "한국어 띄어쓰기는 그대로 둡니다", "한국어 띄어쓰기는 그대로 둡니다."],
    ["ar", "كيف حالك؟", "كيف حالك؟"],
    ["ar", "مرحبا ، كيف حالك", "مرحبا، كيف حالك."],
    ["fa", "سلام", "سلام."],
    ["el", "Τι κάνεις;", "Τι κάνεις;"],
    ["el", "Καλά", "Καλά."],
    ["es", "¿Qué tal? ¡Bien!", "¿Qué tal? ¡Bien!"],
    ["fr", "« Ça va ? »", "Ça va?"],
    ["hi", "नमस्ते।", "नमस्ते।"],
    ["de", "„Guten Tag“, sagte er", "Guten Tag, sagte er."],
  ])("%s %j", (language, text, spoken) => {
    expect(say(text, { language })).toBe(spoken);
  });

  it("ends a piece of a sentence with a comma, and keeps the mark it has", () => {
    expect(say("and then we", { continues: true })).toBe("and then we,");
    expect(say("the first part;", { continues: true })).toBe("the first part;");
    expect(say("你好", { continues: true })).toBe("你好，");
  });
});

it("says the same of its own output", () => {
  for (const text of [
    "It costs $5.",
    "Call 555-123-4567.",
    "你好世界",
    "Milk\nBread",
    "Dr. Smith",
  ]) {
    const once = say(text);
    expect(say(once)).toBe(once);
  }
});

it("takes any code point", () => {
  for (let code = 0; code < 0x30000; code += 41) {
    const text = `a${String.fromCodePoint(code)}b`;
    expect(say(text)).not.toBe("");
  }
});

it("can leave numbers as they are", () => {
  expect(say("It costs $5 at 3:30pm", { spokenForms: false })).toBe("It costs $5 at 3:30pm.");
});
