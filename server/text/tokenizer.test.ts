/** Ids must equal SentencePiece's own, user text must never act as a control symbol, bad files must say so. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import official from "./fixtures/tokenizer-golden.json";
import starter from "./fixtures/tokenizer-starter.json";
import { officialTokenizer, starterTokenizer } from "./test-files.ts";
import { Tokenizer, TokenizerError } from "./tokenizer.ts";

const load = async (path: string | undefined): Promise<Tokenizer> => Tokenizer.fromFile(path ?? "");

describe.skipIf(officialTokenizer === undefined)(
  "official tokenizer (skipped without ../shared/data/moss-tts-nano)",
  async () => {
    const tokenizer = officialTokenizer === undefined ? undefined : await load(officialTokenizer);

    it("is the file that the golden ids were made with", () => {
      expect(tokenizer?.sha256).toBe(official.tokenizer_sha256);
      expect(tokenizer?.vocabularySize).toBe(16384);
    });

    it.each(official.cases.map((c) => [c.name, c] as const))("gives the ids of %s", (_name, c) => {
      expect(tokenizer?.encodeTemplate(c.text)).toEqual(c.ids);
      expect(c.ids.map((id) => tokenizer?.pieceOf(id))).toEqual(c.pieces);
    });

    it("reads control symbols in user text letter by letter", () => {
      const ids = tokenizer?.encodeText("hi <|im_start|> there </user_inst> end") ?? [];
      expect(ids.filter((id) => id < 15)).toEqual([]);
      expect(
        ids
          .map((id) => tokenizer?.pieceOf(id))
          .join("")
          .replaceAll("\u2581", " "),
      ).toBe(" hi <|im_start|> there </user_inst> end");
    });
  },
);

describe.skipIf(starterTokenizer === undefined)("starter tokenizer", async () => {
  const tokenizer = await load(starterTokenizer);
  const bytes = new Uint8Array(readFileSync(starterTokenizer ?? ""));

  it.skipIf(tokenizer.sha256 !== starter.sha256).each(starter.cases)(
    "gives SentencePiece's ids for $text",
    ({ text, ids }) => {
      expect(tokenizer.encodeTemplate(text)).toEqual(ids);
    },
  );

  const symbols = [
    ..."<|im_start|> <|im_end|> <|audio_start|> </user_inst> <user_inst>".split(" "),
  ];
  it.each([...symbols, "<s>", "</s>", "<pad>", "<unk>", "<0x41>"])(
    "never lets %s through",
    (symbol) => {
      for (const text of [symbol, `a${symbol}b`, `a ${symbol} b`, symbol.repeat(20)]) {
        const ids = tokenizer.encodeText(text);
        expect(ids.some((id) => id < 15)).toBe(false);
        expect(ids.length).toBeGreaterThan(symbol.length / 4);
      }
    },
  );

  it("still knows control symbols in templates", () => {
    expect(tokenizer.encodeTemplate("<|im_start|>")).toContain(tokenizer.idOf("<|im_start|>"));
    expect(tokenizer.encodeTemplate("\n</user_inst>")).toContain(tokenizer.idOf("</user_inst>"));
  });

  it.each(["", " ", "\n", "\t\r\n", "\u3000", "\u200b"])("gives no ids for %j", (text) => {
    expect(tokenizer.encodeText(text)).toEqual([]);
  });

  it("survives lone surrogates and NUL", () => {
    expect(tokenizer.encodeText("a\ud800b")).toEqual(tokenizer.encodeText("a\ufffdb"));
    expect(tokenizer.encodeText("a\u0000b").length).toBeGreaterThan(1);
  });

  it("takes long text without marks", () => {
    expect(tokenizer.encodeText("a".repeat(20_000)).length).toBeGreaterThan(1000);
  });

  it("does not depend on earlier calls", () => {
    const first = tokenizer.encodeText("The same text.");
    tokenizer.encodeText("Something else <|im_start|>");
    expect(tokenizer.encodeText("The same text.")).toEqual(first);
  });

  it("refuses a file cut anywhere, or returns a smaller but sound vocabulary", () => {
    for (let length = 0; length < bytes.length; length += 7919) {
      try {
        const cut = Tokenizer.fromBytes(bytes.slice(0, length));
        expect(cut.encodeText("Hello").length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(TokenizerError);
      }
    }
  });

  it("survives any single damaged byte", () => {
    for (let at = 0; at < bytes.length; at += 4999) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      try {
        Tokenizer.fromBytes(damaged).encodeText("Hello, wörld ｆｕｌｌ");
      } catch (error) {
        expect(error).toBeInstanceOf(TokenizerError);
      }
    }
  });
});

describe("broken files", () => {
  it.each<[string, Uint8Array, RegExp]>([
    ["empty", new Uint8Array(0), /holds no pieces/],
    ["a JSON file", new TextEncoder().encode('{"a":1}'), /tokenizer\.model/],
    ["a piece longer than the file", Uint8Array.of(0x0a, 0xff, 0x01, 0x00), /truncated/],
    ["a number without end", new Uint8Array(16).fill(0xff), /number/],
    ["a unigram model", Uint8Array.of(0x0a, 0x03, 0x0a, 0x01, 0x61), /unigram model/],
  ])("says what is wrong with %s", (_name, bytes, message) => {
    expect(() => Tokenizer.fromBytes(bytes)).toThrow(TokenizerError);
    expect(() => Tokenizer.fromBytes(bytes)).toThrow(message);
  });

  it("names a file that is not there", async () => {
    await expect(Tokenizer.fromFile("no/such/file.model")).rejects.toThrow(/no\/such\/file\.model/);
  });
});
