/**
 * What a schema found wrong, in the words that clients of this API know: a slug, a location, a sentence. All
 * violations of a request are collected and reported together.
 */
import type { z } from "zod";
import { NOT_AN_INTEGER } from "./fields.ts";
import type { JsonSyntaxError } from "./json.ts";

export type ViolationSlug =
  | "missing"
  | "string_type"
  | "bool_parsing"
  | "int_parsing"
  | "float_parsing"
  | "finite_number"
  | "literal_error"
  | "greater_than"
  | "greater_than_equal"
  | "less_than"
  | "less_than_equal"
  | "string_too_short"
  | "string_too_long"
  | "too_short"
  | "too_long"
  | "list_type"
  | "dict_type"
  | "value_error"
  | "json_invalid";

export interface Violation {
  readonly type: ViolationSlug;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
}

/** Longest input that is repeated in a message, in UTF-16 units. */
const MAX_INPUT_SHOWN = 80;

type Issue = z.core.$ZodIssue;
type Fault = readonly [ViolationSlug, string];

function notAnInteger(input: unknown): Fault {
  if (typeof input === "string") {
    return ["int_parsing", `${NOT_AN_INTEGER}, unable to parse string as an integer`];
  }
  const fraction = typeof input === "number" && Number.isFinite(input);
  return [
    "int_parsing",
    NOT_AN_INTEGER + (fraction ? ", got a number with a fractional part" : ""),
  ];
}

function notANumber(input: unknown): Fault {
  if (typeof input === "number") return ["finite_number", "Input should be a finite number"];
  const reason = typeof input === "string" ? ", unable to parse string as a number" : "";
  return ["float_parsing", `Input should be a valid number${reason}`];
}

function wrongType(expected: string, input: unknown): Fault {
  switch (expected) {
    case "string":
      return ["string_type", "Input should be a valid string"];
    case "boolean":
      return ["bool_parsing", "Input should be a valid boolean, unable to interpret input"];
    case "int":
    case "bigint":
      return notAnInteger(input);
    case "number":
      return notANumber(input);
    case "array":
      return ["list_type", "Input should be a valid list"];
    case "object":
    case "record":
      return ["dict_type", "Input should be a valid dictionary"];
    default:
      return ["value_error", `Value error, expected ${expected}`];
  }
}

function listed(values: readonly unknown[]): string {
  const words = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  const last = words.pop() ?? "";
  return words.length > 0 ? `${words.join(", ")} or ${last}` : last;
}

function counted(count: number | bigint, word: string): string {
  return `${count} ${word}${Number(count) === 1 ? "" : "s"}`;
}

function outOfRange(issue: Issue & { code: "too_small" | "too_big" }): Fault {
  const small = issue.code === "too_small";
  const limit = small ? issue.minimum : issue.maximum;
  if (issue.origin === "string") {
    const sentence = `String should have at ${small ? "least" : "most"}`;
    const slug = small ? "string_too_short" : "string_too_long";
    return [slug, `${sentence} ${counted(limit, "character")}`];
  }
  if (issue.origin === "array") {
    const length = Array.isArray(issue.input) ? issue.input.length : 0;
    const sentence = `List should have at ${small ? "least" : "most"} ${counted(limit, "item")}`;
    return [small ? "too_short" : "too_long", `${sentence} after validation, not ${length}`];
  }
  const or = issue.inclusive === false ? "" : " or equal to";
  const slug = `${small ? "greater_than" : "less_than"}${issue.inclusive === false ? "" : "_equal"}`;
  return [
    slug as ViolationSlug,
    `Input should be ${small ? "greater" : "less"} than${or} ${limit}`,
  ];
}

/** The branch of a union that the input was most likely meant for: the one that was left deepest inside. */
function closestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const depth = (branch: readonly Issue[]) =>
    Math.max(
      0,
      ...branch.map((issue) => issue.path.length + (issue.code === "invalid_type" ? 0 : 1)),
    );
  return [...branches].sort((a, b) => depth(b) - depth(a))[0] ?? [];
}

function fault(issue: Issue): Fault {
  if (issue.code !== "custom" && issue.input === undefined) return ["missing", "Field required"];
  switch (issue.code) {
    case "invalid_type":
      return issue.message === NOT_AN_INTEGER
        ? notAnInteger(issue.input)
        : wrongType(issue.expected, issue.input);
    case "invalid_value":
      return ["literal_error", `Input should be ${listed(issue.values)}`];
    case "too_small":
    case "too_big":
      return outOfRange(issue);
    default:
      return ["value_error", `Value error, ${issue.message}`];
  }
}

function flatten(issue: Issue, parent: readonly PropertyKey[]): Violation[] {
  const path = [...parent, ...issue.path];
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    return closestBranch(issue.errors).flatMap((inner) => flatten(inner, path));
  }
  const [type, msg] = fault(issue);
  const loc = path.map((key) => (typeof key === "symbol" ? String(key) : key));
  return [{ type, loc, msg, input: issue.input }];
}

/** All violations that a schema found. `root` begins every location: `body` for a request body. */
export function violationsOf(error: z.ZodError, root: readonly string[] = ["body"]): Violation[] {
  return error.issues.flatMap((issue) => flatten(issue, root));
}

/** The one violation of a body that is not JSON. */
export function jsonViolation(error: JsonSyntaxError): Violation {
  return {
    type: "json_invalid",
    loc: ["body", error.offset],
    msg: `JSON decode error: ${error.message}`,
  };
}

function quoted(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `${mark}${mark === "'" ? body.replaceAll("'", "\\'") : body}${mark}`;
}

function shown(value: unknown): string {
  if (typeof value === "string") {
    const short = value.length > MAX_INPUT_SHOWN ? `${value.slice(0, MAX_INPUT_SHOWN)}…` : value;
    return quoted(short);
  }
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value === null || value === undefined) return "None";
  return Array.isArray(value) ? `[${value.length > 0 ? "…" : ""}]` : "{…}";
}

function line({ type, loc, msg, input }: Violation): string {
  const path = loc.map((key) => (typeof key === "string" ? quoted(key) : key)).join(", ");
  const tuple = `(${path}${loc.length === 1 ? "," : ""})`;
  return `{'type': '${type}', 'loc': ${tuple}, 'msg': ${quoted(msg)}, 'input': ${shown(input)}}`;
}

/** One message for all of them: `2 validation errors: {…}, {…}`. */
export function violationMessage(violations: readonly Violation[]): string {
  const head = counted(violations.length, "validation error");
  return `${head}: ${violations.map(line).join(", ")}`;
}

/** The first field at fault, for clients that mark it: `items.0.speed`; null if the whole body is. */
export function offendingField(violations: readonly Violation[]): string | null {
  const [first] = violations;
  if (first === undefined || first.type === "json_invalid") return null;
  const path = first.loc[0] === "body" ? first.loc.slice(1) : first.loc;
  return path.length > 0 ? path.join(".") : null;
}
