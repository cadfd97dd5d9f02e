/** Odd texts through everything there is: spoken sensibly by the starter model, or not at all. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { levelDb, type Spoken, Starter } from "./test-starter.ts";

let starter: Starter;

beforeAll(async () => {
  starter = await Starter.load();
});
afterAll(() => starter.close());

const said = ({ speech }: Spoken) => speech.segments.map(({ segment }) => segment.spoken).join(" ");
const ended = ({ speech }: Spoken) => speech.segments.every(({ reason }) => reason === "stop");

describe("nothing to say", () => {
  it.each(["", " ", "\t\n\r\n", "\u00a0", "\u3000", "\u200b\u200b"])(
    "B126: %j costs the engine nothing and makes no sound",
    async (text) => {
      const { submitted } = starter.engine.stats();
      const { pcm, speech } = await starter.speak({ text });
      expect(pcm.length).toBe(0);
      expect(speech.segments).toEqual([]);
      expect(starter.engine.stats().submitted).toBe(submitted);
    },
  );

  it.each(["...", "?!", "。、！", "—", '""', "¿", ")))(((", "،؟", "***", "- - -"])(
    "B127: %j makes at most a second of sound",
    async (text) => {
      expect((await starter.speak({ text, seed: 1 })).seconds).toBeLessThanOrEqual(1);
    },
  );
});

describe("characters", () => {
  it.each([
    ["hello \ud800 there", ["hello", "there"]],
    ["a\udc00\ud800b", []],
    ["be\u0000fore", ["before"]],
  ])("B129: %j loses the broken character alone", async (text, words) => {
    const spoken = await starter.speak({ text, seed: 1 });
    expect(spoken.seconds).toBeGreaterThan(0.2);
    expect(ended(spoken)).toBe(true);
    for (const word of words) expect(said(spoken).toLowerCase()).toContain(word);
  });

  it.each([
    ["The prerequisites are general.", "The pre\u00adreq\u200bui\u2060sites are gen\ufefferal."],
    ["The caf\u00e9 is open.", "The cafe\u0301 is open."],
  ])("B130: %j sounds the same with letters that nobody sees", async (plain, odd) => {
    const [wanted, found] = await Promise.all([
      starter.speak({ text: plain, seed: 1 }),
      starter.speak({ text: odd, seed: 1 }),
    ]);
    expect(found.digest).toBe(wanted.digest);
  });
});

describe("markup", () => {
  it.each([
    ["If a < b and c > d then stop.", "then stop"],
    ["This is a <test> of words.", "test"],
    ['<speak>Hi <break time="5s"/> there</speak>', "there"],
    ["<|endoftext|> Please go on.", "go on"],
  ])("B132: %s is spoken to its end", async (text, words) => {
    const spoken = await starter.speak({ text, seed: 2 });
    expect(said(spoken)).toContain(words);
    expect(ended(spoken)).toBe(true);
    expect(spoken.seconds / said(spoken).length).toBeGreaterThan(0.03);
  });

  it("B134: Markdown is left out", async () => {
    const text =
      "### Steps\n- **Open** the `door`\n1. [Manual](https://example.org/a?b=1#c)\n```js\nlet x = 1;\n```";
    const spoken = await starter.speak({ text, seed: 1 });
    expect(said(spoken)).toMatch(/Steps.*Open the door.*Manual/);
    expect(said(spoken)).not.toMatch(/hash|asterisk|backtick|[#*`]/i);
    expect(ended(spoken)).toBe(true);
  });

  it("B135: lines without full stops are four sentences with pauses", async () => {
    const { speech, pauses } = await starter.speak({ text: "Milk\nBread\nEggs\nApples", seed: 1 });
    expect(speech.segments.map(({ segment }) => segment.text)).toEqual([
      "Milk",
      "Bread",
      "Eggs",
      "Apples",
    ]);
    expect(pauses.length).toBe(3);
    for (const samples of pauses) {
      expect(samples).toBeGreaterThanOrEqual(0.15 * starter.model.audio.sampleRate);
    }
  });

  it.each([
    ["words", "and then we walked on ".repeat(30)],
    ["one letter", "a".repeat(300)],
  ])("B137: %s without marks, spoken in pieces, all of it", async (_, text) => {
    const spoken = await starter.speak({ text, seed: 1 });
    expect(spoken.speech.segments.length).toBeGreaterThan(1);
    expect(ended(spoken)).toBe(true);
    expect(levelDb(spoken.pcm)).toBeGreaterThan(-40);
    expect(spoken.seconds / (text.length * 0.065)).toBeGreaterThan(0.4);
    expect(spoken.seconds / (text.length * 0.065)).toBeLessThan(1.8);
  });

  it("B137: a language that the model never learned is bounded all the same", async () => {
    const text = "春天的风吹过山坡".repeat(8);
    const spoken = await starter.speak({ text, seed: 1 });
    const { segments } = spoken.speech;
    expect(segments.length).toBeGreaterThan(1);
    expect(levelDb(spoken.pcm)).toBeGreaterThan(-40);
    // The cap of a segment is 1.2 s and half a second for a syllable.
    expect(spoken.seconds).toBeLessThan(0.5 * text.length + 1.5 * segments.length);
  });
});

describe("numbers", () => {
  it.each([
    ["Il totale è 1.234.567 euro.", "un milione"],
    ["Wir haben 3.456 Stück.", "dreitausendvierhundertsechsundfünfzig"],
    ["Il y en a 71 et 92.", "soixante"],
    ["合計は12,300円です。", "一万"],
    ["Das kostet 27,50 €.", "Euro"],
    ["Genau 1.000,00 EUR.", "Euro"],
  ])("B140, B142: %s reaches the model in words", async (text, words) => {
    const spoken = await starter.speak({ text, seed: 1, maxFrames: 3 });
    expect(said(spoken)).toContain(words);
    expect(said(spoken)).not.toMatch(/\d/);
  });
});
