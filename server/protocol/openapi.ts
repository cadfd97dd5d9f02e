/** The OpenAPI 3.1 document of the server, from the schemas that check its bodies. Pure: the same in, the same out. */

import { type ErrorReference, errorReferences } from "./error-registry.ts";
import { PATHS } from "./openapi-paths.ts";
import { componentSchemas, type JsonObject } from "./openapi-schemas.ts";

export interface DocumentOptions {
  readonly version: string;
  /** Whether an API key is asked for. */
  readonly secured: boolean;
}

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: JsonObject;
  readonly tags: readonly JsonObject[];
  readonly paths: Readonly<Record<string, JsonObject>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonObject>>;
    readonly securitySchemes: JsonObject;
  };
  readonly security: readonly JsonObject[];
  /** Every failure that a client may be told of, with its cause and remedy, by its code. */
  readonly "x-errors": readonly ErrorReference[];
}

/** Builds the document. */
export function openApiDocument({ version, secured }: DocumentOptions): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sonant",
      version,
      description:
        "Streaming text to speech. Clients of the OpenAI audio API and of vLLM-Omni work unchanged; lengths of text are counted in Unicode code points, and null stands for an option that is not given.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: [
      { name: "Speech", description: "Text in, sound out" },
      { name: "Voices", description: "Who speaks" },
      { name: "Server", description: "What the server is and how it is doing" },
    ],
    paths: PATHS,
    components: {
      schemas: componentSchemas(),
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "API key" } },
    },
    security: secured ? [{ key: [] }] : [],
    "x-errors": errorReferences(),
  };
}
