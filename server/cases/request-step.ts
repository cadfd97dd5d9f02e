/** Requests of cases: from the words of a step to the bytes of a body. */
import type { HttpStep } from "./case-file.ts";
import { type FormPart, form, type HttpReply, send } from "./http-client.ts";
import type { Scope } from "./values.ts";
import type { World } from "./world.ts";

/** A request that takes longer than this hangs. */
const HANG_MS = 120_000;

/** Sends the request of a step. */
export async function sendRequest(world: World, http: HttpStep, scope: Scope): Promise<HttpReply> {
  const { values, target } = world;
  const { method, path, headers = {}, read, send: sending, client_timeout_ms: timeout } = http;
  const body = await bodyOf(world, http, scope);
  const { bytes, chunks, after_ms: after } = read ?? {};
  return send({
    method,
    url: target.url + String(await values.filled(path, scope)),
    headers: { ...target.headers, ...body?.headers, ...headers },
    body: body?.body,
    timeoutMs: timeout ?? HANG_MS,
    signal: world.leaving.signal,
    ...(sending === undefined ? {} : { sendShare: sending.fraction }),
    leaveAfter: {
      ...(bytes === undefined ? {} : { bytes }),
      ...(chunks === undefined ? {} : { chunks }),
      ...(after === undefined ? {} : { ms: await values.number(after, scope) }),
    },
  });
}

type Body = { readonly body: Buffer; readonly headers: Readonly<Record<string, string>> };

async function bodyOf(world: World, http: HttpStep, scope: Scope): Promise<Body | undefined> {
  const json = { "content-type": "application/json" };
  if (http.json !== undefined) {
    const filled = await world.values.filled(http.json, scope);
    return { body: Buffer.from(JSON.stringify(filled)), headers: json };
  }
  if (http.raw_body !== undefined) {
    return {
      body: Buffer.from(String(await world.values.filled(http.raw_body, scope))),
      headers: {},
    };
  }
  if (http.raw_body_hex !== undefined) {
    return { body: Buffer.from(http.raw_body_hex, "hex"), headers: {} };
  }
  if (http.multipart_generated !== undefined) {
    const { parts, bytes_each: bytes, filename } = http.multipart_generated;
    const value = Buffer.alloc(bytes, "x");
    return form(Array.from({ length: parts }, (_, i) => ({ name: `f${i}`, value, filename })));
  }
  if (http.multipart === undefined) return undefined;
  const parts: FormPart[] = [];
  for (const [name, value] of Object.entries(http.multipart)) {
    parts.push(await partOf(world, name, value, scope));
  }
  return form(parts);
}

async function partOf(world: World, name: string, value: unknown, scope: Scope): Promise<FormPart> {
  if (typeof value === "object" && value !== null && "file" in value) {
    const { file, filename } = value as { file: string; filename: string };
    return { name, value: await world.clips.read(file), filename };
  }
  const text = await world.values.filled(value, scope);
  const [, file] = /^@file:(.*)$/.exec(String(text)) ?? [];
  if (file === undefined) return { name, value: Buffer.from(String(text)) };
  return { name, value: await world.clips.read(file), filename: file };
}
