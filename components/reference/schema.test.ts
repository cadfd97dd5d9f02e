import { describe, expect, it } from "vitest";
import { fieldRows, type JsonSchema, typeText } from "./schema.ts";

describe("a type in words", () => {
  it.each<[JsonSchema, string]>([
    [{ type: "string" }, "string"],
    [{ type: ["string", "null"] }, "string"],
    [{ const: "ping", type: "string" }, '"ping"'],
    [{ enum: ["a", "b"] }, '"a" | "b"'],
    [{ anyOf: [{ type: "number", minimum: 0.25, maximum: 4 }, { type: "null" }] }, "number 0.25–4"],
    [{ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, "integer ≥ 0"],
    [{ type: "integer", minimum: -Number.MAX_SAFE_INTEGER, maximum: 9 }, "integer ≤ 9"],
    [{ type: "array", items: { type: "string" } }, "string[]"],
    [{ type: "array", items: { enum: ["a", "b"] } }, '("a" | "b")[]'],
    [{ anyOf: [{ type: "integer" }, {}] }, "integer"],
    [{ type: "string", format: "binary" }, "binary"],
    [{}, "any"],
  ])("%j is %s", (schema, text) => {
    expect(typeText(schema)).toBe(text);
  });

  it("follows a reference", () => {
    expect(typeText({ $ref: "#/x/Kind" }, { Kind: { enum: ["a"] } })).toBe('"a"');
  });
});

describe("rows of fields", () => {
  const SCHEMA: JsonSchema = {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string", description: "Name" },
      scope: { type: "string", default: "all" },
      usage: { anyOf: [{ $ref: "#/x/Usage" }, { type: "null" }], description: "Used" },
      words: { type: "array", items: { type: "object", properties: { at: { type: "number" } } } },
    },
  };
  const SCHEMAS = { Usage: { type: "object", properties: { tokens: { type: "integer" } } } };

  it("tell what is needed, what is assumed, and what lies inside of what", () => {
    const rows = fieldRows(SCHEMA, SCHEMAS);
    expect(rows.map(({ name }) => name)).toEqual([
      "id",
      "scope",
      "usage",
      "usage.tokens",
      "words",
      "words[].at",
    ]);
    expect(rows[0]).toMatchObject({ isRequired: true, description: "Name", fallback: undefined });
    expect(rows[1]).toMatchObject({ isRequired: false, fallback: '"all"' });
  });

  it("end where a schema holds itself", () => {
    const Tree: JsonSchema = { type: "object", properties: { below: { $ref: "#/x/Tree" } } };
    expect(fieldRows(Tree, { Tree }).length).toBeLessThan(10);
  });

  it("are none for what is no object", () => {
    expect(fieldRows({ type: "string" })).toEqual([]);
  });
});
