/** Checks a parsed deploy file against its schema and says what is wrong in words that lead to the right key. */
import { z } from "zod";
import { nearest } from "./hints.ts";
import { DeployFile } from "./schema.ts";
import { ignoredReason } from "./schema-fields.ts";

export type Checked =
  | { readonly ok: true; readonly file: DeployFile; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Takes away what wraps an object, array or record: defaults, nullability. */
function unwrapped(schema: z.ZodType): z.ZodType {
  const inner = (schema.def as { innerType?: z.ZodType }).innerType;
  return inner === undefined ? schema : unwrapped(inner);
}

/** The schema of one member of a value, or undefined if there is no such member. */
function memberOf(schema: z.ZodType, key: string | number, value: unknown): z.ZodType | undefined {
  const bare = unwrapped(schema);
  if (bare instanceof z.ZodObject) return bare.shape[key];
  if (bare instanceof z.ZodArray) return bare.element as z.ZodType;
  if (bare instanceof z.ZodRecord) return bare.valueType as z.ZodType;
  if (bare instanceof z.ZodDiscriminatedUnion) {
    const id = (value as { stage_id?: unknown } | null)?.stage_id;
    const options = bare.options as z.ZodObject[];
    const option = options.find(({ shape }) => shape.stage_id.value === id) ?? options[0];
    return option?.shape[key] as z.ZodType | undefined;
  }
  return undefined;
}

function keysAt(path: readonly PropertyKey[], root: unknown): string[] {
  let schema: z.ZodType | undefined = DeployFile;
  let value = root;
  for (const step of path) {
    if (schema === undefined) return [];
    schema = memberOf(schema, step as string | number, value);
    value = (value as Record<PropertyKey, unknown> | undefined)?.[step];
  }
  const bare = schema === undefined ? undefined : unwrapped(schema);
  if (bare instanceof z.ZodObject) return Object.keys(bare.shape);
  if (bare instanceof z.ZodDiscriminatedUnion) {
    return (bare.options as z.ZodObject[]).flatMap(({ shape }) => Object.keys(shape));
  }
  return [];
}

function place(path: readonly PropertyKey[]): string {
  return path.map(String).join(".");
}

function problemsOf(issue: z.core.$ZodIssue, root: unknown): string[] {
  const where = place(issue.path);
  if (issue.code !== "unrecognized_keys") {
    return [where === "" ? issue.message : `${where}: ${issue.message}`];
  }
  const known = keysAt(issue.path, root);
  return issue.keys.map((key) => {
    const meant = nearest(key, known);
    const hint = meant === undefined ? `known here: ${known.join(", ")}` : `did you mean ${meant}?`;
    return `${place([...issue.path, key])} is not known; ${hint}`;
  });
}

/** Keys of the file that are accepted and have no effect, with the reason. */
function ignoredKeys(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const member = memberOf(schema, key, value);
    if (member === undefined) return [];
    const reason = ignoredReason(member);
    if (reason !== undefined) return [`${place([...path, key])} has no effect: ${reason}`];
    return ignoredKeys(member, inner, [...path, key]);
  });
}

/** Checks a parsed file; nothing is thrown and every problem is reported. */
export function checkFile(tree: unknown): Checked {
  const result = DeployFile.safeParse(tree);
  if (!result.success) {
    return { ok: false, problems: result.error.issues.flatMap((issue) => problemsOf(issue, tree)) };
  }
  return { ok: true, file: result.data, warnings: ignoredKeys(DeployFile, tree, []) };
}

const SHORT_LIST = /^( *)(.*)\[\n([^[\]{}]*?)\n *\](,?)$/gm;
const LINE_WIDTH = 100;

/** Text of deploy/schema.json, for editors; short lists stand on one line, as the formatter wants them. */
export function editorSchema(): string {
  const schema = z.toJSONSchema(DeployFile, { io: "input", unrepresentable: "any" });
  const text = JSON.stringify(schema, null, 2).replace(
    SHORT_LIST,
    (all: string, indent: string, head: string, items: string, comma: string) => {
      const line = `${indent}${head}[${items.trim().split(/,\n */).join(", ")}]${comma}`;
      return line.length <= LINE_WIDTH ? line : all;
    },
  );
  return `${text}\n`;
}
