/** The operations of an OpenAPI document in the shape in which the page shows them. Pure. */
import {
  alternatives,
  type FieldRow,
  fieldRows,
  type JsonSchema,
  refName,
  resolved,
  type Schemas,
  typeText,
} from "./schema.ts";

interface MediaType {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, unknown>>;
}

interface RawAnswer {
  readonly description: string;
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
}

interface RawParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
}

interface RawOperation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly RawParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, RawAnswer>>;
}

export interface ErrorReference {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly close: number;
  readonly retryable: boolean;
  readonly text: string;
  readonly next: string;
}

export interface OpenApi {
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Schemas };
  readonly security: readonly unknown[];
  readonly "x-errors": readonly ErrorReference[];
}

/** One form of a body, or one message of a stream. */
export interface BodyShape {
  readonly contentType: string;
  /** Name of its schema; what it is where it has none. */
  readonly name: string;
  readonly fields: readonly FieldRow[];
  readonly example: unknown;
}

export interface Answer {
  readonly status: string;
  readonly description: string;
  readonly bodies: readonly BodyShape[];
  readonly headers: readonly { readonly name: string; readonly description: string }[];
  /** Codes of the failures that it tells. */
  readonly errors: readonly string[];
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly FieldRow[];
  readonly bodies: readonly BodyShape[];
  readonly answers: readonly Answer[];
  /** A WebSocket, whose messages stand in a document of their own. */
  readonly isSocket: boolean;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** All operations, in the document's order. */
export function operationsOf({ paths, components }: OpenApi): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) => {
    const shared = (item.parameters ?? []) as readonly RawParameter[];
    return METHODS.flatMap((method) => {
      const raw = item[method] as RawOperation | undefined;
      return raw === undefined ? [] : [operation(method, path, raw, shared, components.schemas)];
    });
  });
}

function operation(
  method: string,
  path: string,
  raw: RawOperation,
  shared: readonly RawParameter[],
  schemas: Schemas,
): Operation {
  const parameters = [...shared, ...(raw.parameters ?? [])];
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path,
    tag: raw.tags?.[0] ?? "",
    summary: raw.summary ?? "",
    description: raw.description ?? "",
    parameters: parameters.map((parameter) => ({
      name: parameter.name,
      type: typeText(parameter.schema ?? {}, schemas),
      isRequired: parameter.required === true,
      description: parameter.description ?? "",
      fallback: undefined,
    })),
    bodies: bodiesOf(raw.requestBody?.content, schemas),
    answers: Object.entries(raw.responses).map(([status, answer]) => ({
      status,
      description: answer.description,
      bodies: bodiesOf(answer.content, schemas),
      headers: Object.entries(answer.headers ?? {}).map(([name, { description = "" }]) => ({
        name,
        description,
      })),
      errors: Object.values(answer.content ?? {}).flatMap(({ examples = {} }) =>
        Object.keys(examples),
      ),
    })),
    isSocket: "101" in raw.responses,
  };
}

function bodiesOf(
  content: Readonly<Record<string, MediaType>> | undefined,
  schemas: Schemas,
): BodyShape[] {
  return Object.entries(content ?? {}).flatMap(([contentType, { schema = {}, example }]) => {
    const shown = schema.$ref === undefined ? typeText(schema, schemas) : refName(schema.$ref);
    return alternatives(resolved(schema, schemas)).map((one) => ({
      contentType,
      name: String(one.properties?.type?.const ?? shown),
      fields: fieldRows(one, schemas),
      example,
    }));
  });
}
