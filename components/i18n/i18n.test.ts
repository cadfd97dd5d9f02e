import { expect, it } from "vitest";
import { fill } from "./format.ts";
import { LOCALES, pickLocale, pickTheme } from "./locales.ts";
import { STRINGS } from "./strings.ts";

/** Every sentence of a language by the path of its key. */
function sentences(value: unknown, path = ""): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  return Object.entries(value as object).flatMap(([key, inner]) =>
    sentences(inner, `${path}.${key}`),
  );
}

function marks(text: string): string[] {
  return [...text.matchAll(/\{\w+\}/g)].map(([mark]) => mark).sort();
}

it.each(LOCALES)("%s has every sentence, with the same places to fill in", (locale) => {
  const own = new Map(sentences(STRINGS[locale]));
  for (const [path, text] of sentences(STRINGS.en)) {
    expect(own.get(path)?.trim(), path).toBeTruthy();
    expect(marks(own.get(path) ?? ""), path).toEqual(marks(text));
  }
  expect(own.size).toBe(sentences(STRINGS.en).length);
});

it("fills in what is marked and leaves the rest", () => {
  expect(fill("{n} of {total}: {other}", { n: 2, total: 9 })).toBe("2 of 9: {other}");
});

it.each([
  ["ja", "en", "ja"],
  [undefined, "fr, zh-CN;q=0.8, en;q=0.5", "zh"],
  [undefined, "en;q=0.3, ja;q=0.9", "ja"],
  [undefined, "zh;q=0, en", "en"],
  ["klingon", "fr", "en"],
  [undefined, null, "en"],
])("with cookie %s and header %s the language is %s", (cookie, header, locale) => {
  expect(pickLocale(cookie, header)).toBe(locale);
});

it("follows the system unless a theme was chosen", () => {
  expect(pickTheme(undefined)).toBe("system");
  expect(pickTheme("dark")).toBe("dark");
  expect(pickTheme("purple")).toBe("system");
});
