/** The named schemas of the OpenAPI document: every body on the wire, made from the zod schemas that check it. */
import { z } from "zod";
import { BatchBody, BatchResponse, BatchResult } from "./batch.ts";
import { Health, Load, ModelCard, ModelList, Ready, Version } from "./documents.ts";
import { ErrorEnvelope, RouterAnswer, Unauthorized } from "./envelope.ts";
import { LimitsDocument } from "./limits.ts";
import {
  InputCancel,
  InputCommit,
  InputDone,
  InputFlush,
  InputText,
  Ping,
  PlaybackAck,
  SessionClose,
  SessionConfigBody,
  SessionResume,
  SessionUpdateBody,
} from "./socket-client.ts";
import { ServerMessage } from "./socket-server.ts";
import { SpeechBody } from "./speech.ts";
import { SpeechEvent } from "./sse.ts";
import { BlendRequest, VoicePromptBody, VoicePromptCreated } from "./voice-prompts.ts";
import { VoiceChange, VoiceForm } from "./voice-upload.ts";
import { VoiceCatalogue, VoiceCreated, VoiceDeleted, VoiceDetail } from "./voices.ts";

export type JsonObject = { readonly [name: string]: unknown };

const ClientMessage = z.union([
  SessionConfigBody,
  SessionUpdateBody,
  SessionResume,
  SessionClose,
  InputText,
  InputFlush,
  InputDone,
  InputCommit,
  InputCancel,
  PlaybackAck,
  Ping,
]);

/** The upload form with its file, which is not a field that zod sees. */
const VoiceUploadForm = VoiceForm.extend({
  audio_sample: z.unknown().optional().meta({
    description: "1 to 30 seconds of clear speech, at most 10 MiB",
    type: "string",
    format: "binary",
  }),
});

/** Bodies that clients write. */
const REQUESTS = {
  SpeechRequest: SpeechBody,
  BatchRequest: BatchBody,
  VoiceUploadForm,
  VoiceChange,
  VoicePromptRequest: VoicePromptBody,
  BlendRequest,
  SocketClientMessage: ClientMessage,
} as const;

/** Bodies that the server writes. */
const RESPONSES = {
  BatchResponse,
  BatchResult,
  SpeechEvent,
  VoiceCatalogue,
  VoiceDetail,
  VoiceCreated,
  VoiceDeleted,
  VoicePromptCreated,
  ModelList,
  ModelCard,
  LimitsDocument,
  Health,
  Ready,
  Version,
  Load,
  ErrorEnvelope,
  RouterAnswer,
  Unauthorized,
  SocketServerMessage: ServerMessage,
} as const;

export type SchemaName = keyof typeof REQUESTS | keyof typeof RESPONSES;

/** A schema as JSON schema, seen by those who write such bodies (`input`) or by those who read them. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

function converted(
  schemas: Readonly<Record<string, z.ZodType>>,
  io: "input" | "output",
): [string, JsonObject][] {
  return Object.entries(schemas).map(([name, schema]) => [name, jsonSchema(schema, io)]);
}

/** All named schemas as JSON schemas. */
export function componentSchemas(): Record<string, JsonObject> {
  return Object.fromEntries([...converted(REQUESTS, "input"), ...converted(RESPONSES, "output")]);
}

/** A reference to a named schema. */
export function schemaRef(name: SchemaName): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}
