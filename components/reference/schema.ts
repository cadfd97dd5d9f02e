/** From JSON schemas, as the server publishes them, to rows that people read. Pure. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** Named schemas that others refer to. */
export type Schemas = Readonly<Record<string, JsonSchema>>;

export interface FieldRow {
  /** With the names of what it lies in: `usage.input_tokens`, `data[].id`. */
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
  /** As JSON; undefined if there is none. */
  readonly fallback: string | undefined;
}

/** Bounds that stand for "any integer": they say nothing to a reader. */
const LARGEST = Number.MAX_SAFE_INTEGER;
const MAX_DEPTH = 4;

/** The name that a reference ends in. */
export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** The schema itself where another one only names it. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const target = schema.$ref === undefined ? undefined : schemas[refName(schema.$ref)];
  return target === undefined ? schema : { ...target, ...withoutRef(schema) };
}

function withoutRef({ $ref: _, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

/** Its alternatives without the one that stands for "not given"; itself if there are none. */
export function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const all = schema.anyOf ?? schema.oneOf;
  if (all === undefined) return [schema];
  return all.flatMap(alternatives).filter(({ type }) => type !== "null");
}

/** A type in a few words: `string`, `"a" | "b"`, `integer 0 to 16384`, `string[]`. */
export function typeText(schema: JsonSchema, schemas: Schemas = {}): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.anyOf !== undefined || schema.oneOf !== undefined) {
    const names = alternatives(schema).map((one) => typeText(one, schemas));
    return [...new Set(names)].filter((name) => name !== "any").join(" | ") || "any";
  }
  if (schema.$ref !== undefined) return typeText(resolved(schema, schemas), {});
  const kinds = [schema.type ?? "any"].flat().filter((kind) => kind !== "null");
  return kinds.map((kind) => kindText(kind, schema, schemas)).join(" | ");
}

function kindText(kind: string, schema: JsonSchema, schemas: Schemas): string {
  if (kind === "array") {
    const item = schema.items === undefined ? "any" : typeText(schema.items, schemas);
    return item.includes(" ") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.format === "binary") return "binary";
  const range = kind === "number" || kind === "integer" ? rangeText(schema) : "";
  return `${kind}${range}`;
}

function rangeText({ minimum, maximum }: JsonSchema): string {
  const low = minimum !== undefined && minimum > -LARGEST ? minimum : undefined;
  const high = maximum !== undefined && maximum < LARGEST ? maximum : undefined;
  if (low !== undefined && high !== undefined) return ` ${low}–${high}`;
  if (low !== undefined) return ` ≥ ${low}`;
  return high === undefined ? "" : ` ≤ ${high}`;
}

/** All fields of an object, those of objects inside it after the field that holds them. */
export function fieldRows(schema: JsonSchema, schemas: Schemas = {}, prefix = ""): FieldRow[] {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).flatMap(([key, member]) => {
    const field = resolved(member, schemas);
    const name = `${prefix}${key}`;
    const row: FieldRow = {
      name,
      type: typeText(field, schemas),
      isRequired: required.includes(key),
      description: field.description ?? "",
      fallback: field.default === undefined ? undefined : JSON.stringify(field.default),
    };
    return [row, ...innerRows(field, schemas, name)];
  });
}

function innerRows(field: JsonSchema, schemas: Schemas, name: string): FieldRow[] {
  if (name.split(".").length >= MAX_DEPTH) return [];
  return alternatives(field).flatMap((one) => {
    const isList = one.type === "array";
    const inner = isList ? one.items : one;
    if (inner === undefined) return [];
    return alternatives(resolved(inner, schemas)).flatMap((part) =>
      resolved(part, schemas).properties === undefined
        ? []
        : fieldRows(part, schemas, isList ? `${name}[].` : `${name}.`),
    );
  });
}
