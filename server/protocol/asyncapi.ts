/**
 * The AsyncAPI 3 document of the speech socket: every message of both directions, which dialect has it, and what the close
 * codes mean, from the schemas that check the messages and the registry of errors. Pure: the same in, the same out.
 */
import type { z } from "zod";
import { CLOSE_NORMAL, ERRORS, type ErrorCode } from "./error-registry.ts";
import { type JsonObject, jsonSchema } from "./openapi-schemas.ts";
import { KEY_SUBPROTOCOL, SOCKET_PATHS, SUBPROTOCOL } from "./socket-address.ts";
import {
  CLIENT_MESSAGES,
  DIALECT_2_ONLY,
  SessionConfigBody,
  SessionUpdateBody,
} from "./socket-client.ts";
import { ServerMessage } from "./socket-server.ts";
import { TAG_BYTES } from "./tagged-frame.ts";

export interface AsyncApiOptions {
  readonly version: string;
  /** Whether an API key is asked for. */
  readonly secured: boolean;
}

export interface AsyncMessage {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly contentType: string;
  readonly payload: JsonObject;
  /** Dialects that have the message. */
  readonly "x-dialects": readonly (1 | 2)[];
}

export interface AsyncChannel {
  readonly address: string;
  readonly description: string;
  readonly messages: Readonly<Record<string, JsonObject>>;
  readonly bindings: JsonObject;
}

/** One close code, and the failures that end a connection with it. */
export interface CloseCode {
  readonly code: number;
  readonly meaning: string;
  readonly errors: readonly ErrorCode[];
  /** Whether connecting again can help, for every failure of this code. */
  readonly retryable: boolean;
}

export interface AsyncApiDocument {
  readonly asyncapi: "3.0.0";
  readonly info: JsonObject;
  readonly defaultContentType: string;
  readonly channels: Readonly<Record<string, AsyncChannel>>;
  readonly operations: Readonly<Record<string, JsonObject>>;
  readonly components: {
    readonly messages: Readonly<Record<string, AsyncMessage>>;
    readonly securitySchemes: JsonObject;
  };
  readonly "x-close-codes": readonly CloseCode[];
}

const JSON_TYPE = "application/json";
const BINARY_TYPE = "application/octet-stream";

/** The schema as a client writes it; what the server makes of it is its own affair. */
const WRITTEN = {
  "session.config": SessionConfigBody,
  "session.update": SessionUpdateBody,
} as const;

function message(
  name: string,
  schema: z.ZodType,
  io: "input" | "output",
  dialects: readonly (1 | 2)[],
): AsyncMessage {
  const payload = jsonSchema(schema, io);
  const { type } = payload.properties as { type: { description?: string } };
  return {
    name,
    title: name,
    summary: type.description ?? name,
    contentType: JSON_TYPE,
    payload,
    "x-dialects": dialects,
  };
}

const CLIENT: readonly AsyncMessage[] = Object.entries(CLIENT_MESSAGES).map(([name, schema]) => {
  const written = (WRITTEN as Record<string, z.ZodType>)[name] ?? schema;
  const isNew = (DIALECT_2_ONLY as ReadonlySet<string>).has(name);
  return message(name, written, "input", isNew ? [2] : [1, 2]);
});

/** Sent to clients of dialect 1 as well; everything else is an answer to what only dialect 2 can ask for. */
const BOTH_DIALECTS: ReadonlySet<string> = new Set([
  "audio.start",
  "audio.chunk",
  "audio.done",
  "session.done",
  "error",
]);

const AUDIO: AsyncMessage = {
  name: "audio",
  title: "audio",
  summary: "A binary message: sound of the unit whose audio.start came last",
  contentType: BINARY_TYPE,
  payload: {
    type: "string",
    format: "binary",
    description: `Bytes of the asked format. With \`"binary_framing": "tagged"\` they follow a header of ${TAG_BYTES} bytes, little-endian: u32 magic 0x31415056, u8 version 1, u8 flags (1 first, 2 last, 4 replayed), u16 reserved, u32 utterance, u32 sentence, u32 generation, u32 seq.`,
  },
  "x-dialects": [1, 2],
};

const SERVER: readonly AsyncMessage[] = [
  ...ServerMessage.options.map((schema) => {
    const name = schema.shape.type.value;
    return message(name, schema, "output", BOTH_DIALECTS.has(name) ? [1, 2] : [2]);
  }),
  AUDIO,
];

/** Close codes with what they stand for; dialect 1 knows 1001, 1003 and 1009 only and ends normally otherwise. */
const MEANINGS: Readonly<Record<number, string>> = {
  [CLOSE_NORMAL]: "The session has ended in order, or the client closed it",
  1001: "The server is shutting down",
  1003: "The client sent a binary message",
  1009: "A message was too large",
  1011: "The server failed",
  1013: "The server cannot take the session now",
  4400: "The client broke a rule of the protocol",
  4401: "The client may not connect",
  4404: "Something that was named does not exist",
  4408: "A time limit has passed",
  4409: "Somebody else has it: another connection the session, or another voice the name",
  4410: "The session cannot be resumed",
  4429: "The client asks for too much",
};

/** Every close code of the registry, and the orderly end. */
export function closeCodes(): CloseCode[] {
  const codes = new Map<number, ErrorCode[]>([[CLOSE_NORMAL, []]]);
  for (const [code, { close }] of Object.entries(ERRORS)) {
    codes.set(close, [...(codes.get(close) ?? []), code as ErrorCode]);
  }
  return [...codes]
    .sort(([a], [b]) => a - b)
    .map(([code, errors]) => ({
      code,
      meaning: MEANINGS[code] ?? "",
      errors,
      retryable: errors.length > 0 && errors.every((name) => ERRORS[name].retryable),
    }));
}

const keyed = (messages: readonly AsyncMessage[]) =>
  Object.fromEntries(messages.map((item) => [item.name, item]));

function references(prefix: string, messages: readonly AsyncMessage[]): JsonObject[] {
  return messages.map(({ name }) => ({ $ref: `${prefix}/${name}` }));
}

/** Messages of the two directions that share a name would need two entries; none do. */
const ALL = [...CLIENT, ...SERVER];

function channel(address: string): AsyncChannel {
  return {
    address,
    description: `Text in and audio out at the same time. The first message is \`session.config\`. The subprotocol \`${SUBPROTOCOL}\`, or \`"protocol": 2\`, makes the session one that can be cancelled, flushed and resumed. Pages, which cannot set headers, send an API key as a second subprotocol: \`${KEY_SUBPROTOCOL}\` and the key in base64url without padding.`,
    messages: Object.fromEntries(
      ALL.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
    bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } },
  };
}

/** Names of the channels; both paths lead to the same socket. */
const CHANNELS = { speechStream: SOCKET_PATHS[0], speechSocket: SOCKET_PATHS[1] } as const;

function operations(secured: boolean): Record<string, JsonObject> {
  const security = secured ? { security: [{ $ref: "#/components/securitySchemes/key" }] } : {};
  return Object.fromEntries(
    Object.keys(CHANNELS).flatMap((name) => {
      const one = (
        action: "receive" | "send",
        summary: string,
        messages: readonly AsyncMessage[],
      ) => ({
        action,
        summary,
        channel: { $ref: `#/channels/${name}` },
        messages: references(`#/channels/${name}/messages`, messages),
        ...security,
      });
      return [
        [`${name}Hears`, one("receive", "What a client says", CLIENT)],
        [`${name}Says`, one("send", "What the server says", SERVER)],
      ];
    }),
  );
}

/** Builds the document. */
export function asyncApiDocument({ version, secured }: AsyncApiOptions): AsyncApiDocument {
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Sonant speech socket",
      version,
      description:
        "The WebSocket of the speech server. Dialect 1 is a strict subset of dialect 2; `x-dialects` tells which of them has a message.",
      license: { name: "Apache-2.0" },
    },
    defaultContentType: JSON_TYPE,
    channels: Object.fromEntries(
      Object.entries(CHANNELS).map(([name, address]) => [name, channel(address)]),
    ),
    operations: operations(secured),
    components: {
      messages: keyed(ALL),
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "API key" } },
    },
    "x-close-codes": closeCodes(),
  };
}
