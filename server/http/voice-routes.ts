/** Voices: list, one, its recording, upload, change, delete; voice prompts; and blends, which models with codes cannot do. */
import multipart from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError, validate } from "../protocol/envelope.ts";
import { toJson } from "../protocol/json.ts";
import { BlendRequest, VoicePromptRequest } from "../protocol/voice-prompts.ts";
import { checkChange, checkUpload, clipType } from "../protocol/voice-upload.ts";
import { voiceCreated, voiceDeleted } from "../protocol/voices.ts";
import type { HttpDeps } from "./deps.ts";
import { readForm } from "./multipart.ts";
import { jsonBody, workSignal } from "./requests.ts";

interface VoicePath {
  Params: { name: string };
}

/** Room for the text fields and the form's own lines beside the clip, in bytes. */
const FORM_OVERHEAD = 2 * 1024 * 1024;

export function addVoiceRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const { config, voices } = deps;
  const { requestTimeoutMs } = config.server;

  app.get("/v1/audio/voices", () => voices.list());

  app.get<VoicePath>("/v1/audio/voices/:name", ({ params }) => voices.get(params.name));

  app.get<VoicePath>("/v1/audio/voices/:name/audio", async ({ params }, reply) => {
    const { bytes, mimeType } = await voices.sample(params.name);
    return reply
      .type(mimeType)
      .header("cache-control", "no-store")
      .header("x-content-type-options", "nosniff")
      .send(bytes);
  });

  app.patch<VoicePath>("/v1/audio/voices/:name", (request) => {
    const edit = checkChange(jsonBody(request), config.limits);
    return voices.update(request.params.name, edit);
  });

  app.delete<VoicePath>("/v1/audio/voices/:name", async ({ params: { name } }, reply) => {
    const { status, body } = voiceDeleted(name, await voices.delete(name));
    return reply.code(status).send(body);
  });

  app.post("/v1/audio/voice_prompts", async (request, reply) => {
    const { ref_audio, ref_text, name } = validate(VoicePromptRequest, jsonBody(request));
    const asked = {
      ref_audio,
      ...(ref_text === undefined ? {} : { ref_text }),
      ...(name === undefined ? {} : { name }),
    };
    return voices.createPrompt(asked, workSignal(reply, requestTimeoutMs));
  });

  app.post("/v1/audio/voices/blend", (request) => {
    validate(BlendRequest, jsonBody(request));
    throw new ApiError("blend_unsupported");
  });

  app.register(async (forms) => {
    await forms.register(multipart);
    const bodyLimit = config.limits.upload_bytes + FORM_OVERHEAD;
    forms.post("/v1/audio/voices", { bodyLimit }, async (request, reply) => {
      const signal = workSignal(reply, requestTimeoutMs);
      const created = voiceCreated(await upload(request, deps, signal));
      return reply.type("application/json; charset=utf-8").send(toJson(created));
    });
  });
}

async function upload(request: FastifyRequest, deps: HttpDeps, signal: AbortSignal) {
  const { config, voices, abilities } = deps;
  const { fields, file } = await readForm(request, "audio_sample", config.limits.upload_bytes);
  const form = checkUpload(fields, file !== undefined, abilities?.embeddingDim, config.limits);
  const clip = file && { bytes: file.bytes, mimeType: clipType(file.mimeType, file.filename) };
  return voices.upload(form, clip, signal);
}
