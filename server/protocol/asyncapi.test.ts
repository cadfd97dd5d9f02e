/** The description of the socket keeps step with the schemas: nothing of them is missing, and nothing else is claimed. */
import { describe, expect, it } from "vitest";
import { asyncApiDocument } from "./asyncapi.ts";
import { ERRORS } from "./error-registry.ts";
import { openApiDocument } from "./openapi.ts";
import { SOCKET_PATHS } from "./socket-address.ts";
import { CLIENT_MESSAGES, DIALECT_2_ONLY } from "./socket-client.ts";
import { ServerMessage } from "./socket-server.ts";

interface Operation {
  readonly action: string;
  readonly channel: { readonly $ref: string };
  readonly messages: readonly { readonly $ref: string }[];
  readonly security?: unknown;
}

const document = asyncApiDocument({ version: "1.2.3", secured: true });
const operations = Object.values(document.operations) as unknown as Operation[];
const messages = document.components.messages;

/** Names of the messages of one direction, from the server's view. */
function names(action: "receive" | "send"): string[] {
  const found = operations.find((operation) => operation.action === action);
  return (found?.messages ?? []).map(({ $ref }) => $ref.slice($ref.lastIndexOf("/") + 1));
}

/** What a reference inside the document points at. */
function target(ref: string): unknown {
  return ref
    .replace("#/", "")
    .split("/")
    .reduce<unknown>(
      (value, key) => (value as Record<string, unknown> | undefined)?.[key],
      document,
    );
}

/** Every value under a key, anywhere in the document. */
function everywhere(value: unknown, key: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === key ? [member] : everywhere(member, key),
  );
}

describe("the AsyncAPI document", () => {
  it("has exactly the messages that the schemas know, in both directions", () => {
    expect(names("receive").sort()).toEqual(Object.keys(CLIENT_MESSAGES).sort());
    const spoken = ServerMessage.options.map(({ shape }) => shape.type.value as string);
    expect(names("send").sort()).toEqual([...spoken, "audio"].sort());
  });

  it("has the fields that the OpenAPI document has, for every message", () => {
    const { schemas } = openApiDocument({ version: "1", secured: false }).components;
    type Shape = { properties: Record<string, { const?: string }> };
    const all = ["SocketClientMessage", "SocketServerMessage"].flatMap(
      (name) => Object.values(schemas[name] ?? {}).find(Array.isArray) as Shape[],
    );
    expect(all.length).toBe(Object.keys(messages).length - 1);
    for (const { properties } of all) {
      const name = properties.type?.const ?? "";
      const payload = messages[name]?.payload as unknown as Shape;
      expect(Object.keys(payload.properties), name).toEqual(Object.keys(properties));
    }
  });

  it("tells which dialect has a message of the client", () => {
    for (const name of names("receive")) {
      const isNew = (DIALECT_2_ONLY as ReadonlySet<string>).has(name);
      expect(messages[name]?.["x-dialects"], name).toEqual(isNew ? [2] : [1, 2]);
    }
  });

  it("says something of every message", () => {
    for (const { name, summary } of Object.values(messages)) {
      expect(summary.length, name).toBeGreaterThan(5);
      expect(summary, name).not.toBe(name);
    }
  });

  it("describes both paths, each with what is said in both directions", () => {
    expect(Object.values(document.channels).map(({ address }) => address)).toEqual([
      ...SOCKET_PATHS,
    ]);
    for (const channel of Object.keys(document.channels)) {
      const own = operations.filter((one) => one.channel.$ref === `#/channels/${channel}`);
      expect(own.map(({ action }) => action).sort()).toEqual(["receive", "send"]);
    }
  });

  it("refers only to what it has", () => {
    const references = everywhere(document, "$ref").map(String);
    expect(references.length).toBeGreaterThan(50);
    for (const reference of references) expect(target(reference), reference).toBeDefined();
  });

  it("gives every error of the registry to the close code that it has, with a meaning", () => {
    const codes = document["x-close-codes"];
    expect(codes.flatMap(({ errors }) => errors).sort()).toEqual(Object.keys(ERRORS).sort());
    for (const { code, meaning, errors } of codes) {
      expect(meaning, String(code)).not.toBe("");
      for (const error of errors) expect(ERRORS[error].close).toBe(code);
    }
    expect(codes.find(({ code }) => code === 1013)).toMatchObject({ retryable: true });
    expect(codes.find(({ code }) => code === 4401)).toMatchObject({ retryable: false });
  });

  it("asks for a key only where there is one, and can be written as JSON", () => {
    expect(operations.every(({ security }) => security !== undefined)).toBe(true);
    const open = asyncApiDocument({ version: "1", secured: false });
    expect(Object.values(open.operations).some((one) => "security" in one)).toBe(false);
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });
});

it("the OpenAPI document lists the whole registry of errors", () => {
  const listed = openApiDocument({ version: "1", secured: false })["x-errors"];
  expect(listed.map(({ code }) => code)).toEqual(Object.keys(ERRORS));
  for (const { code, ...entry } of listed) expect(entry).toEqual(ERRORS[code]);
});
