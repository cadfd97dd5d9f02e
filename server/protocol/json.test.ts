import { describe, expect, it } from "vitest";
import { JsonSyntaxError, parseJson, toJson } from "./json.ts";

/** Long digits in front make the careful reader do the work. */
const careful = (text: string) => (parseJson(`[9007199254740993,${text}]`) as unknown[])[1];

describe("parseJson", () => {
  it("keeps integers above 2^53 exact and leaves all other numbers alone", () => {
    expect(parseJson('{"seed":9007199254740993}')).toEqual({ seed: 9007199254740993n });
    expect(parseJson("-9223372036854775808")).toBe(-9223372036854775808n);
    expect(parseJson("9007199254740991")).toBe(9007199254740991);
    expect(parseJson("0.12345678901234567")).toBe(Number("0.12345678901234567"));
    expect(parseJson("1234567890123456789e2")).toBe(Number("1234567890123456789e2"));
    expect(careful("-0")).toBe(-0);
  });

  it("agrees with JSON.parse on what is valid and on its value", () => {
    const texts = [
      "true",
      "null",
      '"a\\u00e9\\n\\ud83d"',
      "[]",
      "{}",
      '{"a":{"b":[1,-2.5e3]}}',
      " 1 ",
    ];
    for (const text of texts) expect(careful(text)).toEqual(JSON.parse(text));
    const broken = ["", "{", "[1,]", '{"a":1,}', "01", "1.", "+1", "NaN", "tru", "'a'", '"a'];
    const odd = ['"\n"', '"\\x"', '{"a" 1}', "{1:2}", "[1 2]", "1 2", "]", '"\\u12"', "-", "1e"];
    for (const text of [...broken, ...odd]) {
      expect(() => JSON.parse(text)).toThrow();
      expect(() => parseJson(text), text).toThrow(JsonSyntaxError);
      expect(() => careful(text), text).toThrow(JsonSyntaxError);
    }
  });

  it("agrees with JSON.parse on texts that were damaged at random", () => {
    const source = '{"a":[1,2.5,"x\\"y",null,true],"b":{"c":-3e2,"d":"é😀"},"e":[]}';
    let state = 7;
    const random = (below: number) => {
      state = (state * 48271) % 2147483647;
      return state % below;
    };
    for (let round = 0; round < 2000; round += 1) {
      const at = random(source.length);
      const damaged =
        source.slice(0, at) + source[random(source.length)] + source.slice(at + random(2));
      let expected: unknown;
      try {
        expected = JSON.parse(damaged);
      } catch {
        expect(() => careful(damaged), damaged).toThrow(JsonSyntaxError);
        continue;
      }
      expect(careful(damaged)).toEqual(expected);
    }
  });

  it("takes __proto__ for a name like any other", () => {
    const value = careful('{"__proto__":{"polluted":1}}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(["__proto__"]);
  });

  it("refuses texts that are nested without end", () => {
    expect(() => careful("[".repeat(100_000))).toThrow("Nested deeper than 512 levels");
  });

  it("says where the text goes wrong", () => {
    const error = (() => {
      try {
        return parseJson('{"a": x}');
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ message: "Expecting value", offset: 6 });
  });
});

describe("toJson", () => {
  it("writes bigints as integers and everything else like JSON.stringify", () => {
    expect(toJson({ seed: 9007199254740993n, list: [1n, undefined] })).toBe(
      '{"seed":9007199254740993,"list":[1,null]}',
    );
    const value = { a: [1, "x", null, true, { b: undefined }], c: Number.NaN, d: 'q"\n😀' };
    expect(toJson(value)).toBe(JSON.stringify(value));
  });
});
