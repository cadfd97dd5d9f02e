/** Voices: list, one, its recording, upload, change, delete; voice prompts; and blends, which models with codes cannot do. */
import multipart from "@fastify/multipart";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, validate } from "../protocol/envelope.ts";
import { toJson } from "../protocol/json.ts";
import { BlendRequest, VoicePromptRequest } from "../protocol/voice-prompts.ts";
import { checkChange, checkUpload, clipType } from "../protocol/voice-upload.ts";
import { voiceCreated, voiceDeleted } from "../protocol/voices.ts";
import type { HttpDeps } from "./deps.ts";
import { readForm } from "./multipart.ts";
import { heldForAnswer, jsonBody, modelOf, type OfModel, workSignal } from "./requests.ts";

interface VoicePath extends OfModel {
  Params: { name: string };
}

/** Room for the text fields and the form's own lines beside the clip, in bytes. */
const FORM_OVERHEAD = 2 * 1024 * 1024;

export function addVoiceRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const { config } = deps;
  const { requestTimeoutMs } = config.server;
  const voicesOf = (request: FastifyRequest<OfModel>) => deps.models.named(modelOf(request)).voices;
  /** The voices of a model that is loaded, for recordings to be encoded. */
  const encodingVoices = async (
    request: FastifyRequest<OfModel>,
    reply: FastifyReply,
    signal: AbortSignal,
  ) => heldForAnswer(reply, await deps.models.hold(modelOf(request), signal)).voices;

  app.get<OfModel>("/v1/audio/voices", (request) => voicesOf(request).list());

  app.get<VoicePath>("/v1/audio/voices/:name", (request) =>
    voicesOf(request).get(request.params.name),
  );

  app.get<VoicePath>("/v1/audio/voices/:name/audio", async (request, reply) => {
    const { bytes, mimeType } = await voicesOf(request).sample(request.params.name);
    return reply
      .type(mimeType)
      .header("cache-control", "no-store")
      .header("x-content-type-options", "nosniff")
      .send(bytes);
  });

  app.patch<VoicePath>("/v1/audio/voices/:name", (request) => {
    const edit = checkChange(jsonBody(request), config.limits);
    return voicesOf(request).update(request.params.name, edit);
  });

  app.delete<VoicePath>("/v1/audio/voices/:name", async (request, reply) => {
    const { name } = request.params;
    const { status, body } = voiceDeleted(name, await voicesOf(request).delete(name));
    return reply.code(status).send(body);
  });

  app.post<OfModel>("/v1/audio/voice_prompts", async (request, reply) => {
    const { ref_audio, ref_text, name } = validate(VoicePromptRequest, jsonBody(request));
    const asked = {
      ref_audio,
      ...(ref_text === undefined ? {} : { ref_text }),
      ...(name === undefined ? {} : { name }),
    };
    const signal = workSignal(reply, requestTimeoutMs);
    const voices = await encodingVoices(request, reply, signal);
    return voices.createPrompt(asked, signal);
  });

  app.post("/v1/audio/voices/blend", (request) => {
    validate(BlendRequest, jsonBody(request));
    throw new ApiError("blend_unsupported");
  });

  app.register(async (forms) => {
    await forms.register(multipart);
    const bodyLimit = config.limits.upload_bytes + FORM_OVERHEAD;
    forms.post<OfModel>("/v1/audio/voices", { bodyLimit }, async (request, reply) => {
      const signal = workSignal(reply, requestTimeoutMs);
      const { fields, file } = await readForm(request, "audio_sample", config.limits.upload_bytes);
      const { abilities } = deps.models.named(modelOf(request));
      const form = checkUpload(fields, file !== undefined, abilities?.embeddingDim, config.limits);
      const clip = file && { bytes: file.bytes, mimeType: clipType(file.mimeType, file.filename) };
      const voices = await encodingVoices(request, reply, signal);
      const created = voiceCreated(await voices.upload(form, clip, signal));
      return reply.type("application/json; charset=utf-8").send(toJson(created));
    });
  });
}
