/** Every HTTP case whose answer follows from the request alone, driven from the shared file. */
import { describe, expect, it } from "vitest";
import { BatchBody, BatchRequest, checkBatchSize } from "./batch.ts";
import { ApiError, parseBody, requireJson, toApiError, validate } from "./envelope.ts";
import { FORMATS } from "./formats.ts";
import { toJson } from "./json.ts";
import { LIMITS, type Limits } from "./limits.ts";
import { SpeechRequest } from "./speech.ts";
import {
  checkInput,
  checkModel,
  checkOptions,
  checkSpeech,
  type SpeechAbilities,
} from "./speech-rules.ts";
import { CASES, filled, SERVED_MODEL, type WireCase } from "./test-cases.ts";
import { BlendRequest, VoicePromptRequest } from "./voice-prompts.ts";
import { checkUpload, clipType } from "./voice-upload.ts";

/** Cases that pass the checks of this folder and are refused by what comes after them. */
const DECIDED_LATER: Readonly<Record<string, string>> = {
  ref_0_3_s: "length of the decoded reference",
  ref_31_s: "length of the decoded reference",
  ref_undecodable: "decoding",
  ref_url_too_big_stops_early: "fetching",
  ref_url_slow: "fetching",
  upload_too_short: "length of the decoded clip",
  upload_too_long: "length of the decoded clip",
  upload_undecodable: "decoding",
  upload_bad_clip_keeps_old_voice: "decoding",
  upload_11_mb: "size of the file, counted while it arrives",
  upload_cap: "the number of voices in the store",
  voices_blend_on_code_model: "ability of the served model",
};

const LANGUAGES = ["Auto", "Chinese", "English"];

function abilities(wireCase: WireCase): SpeechAbilities {
  const uploads = (wireCase.setup ?? []).map(({ upload }) => String(upload).toLowerCase());
  const presets: Record<string, string[]> = {
    nano_x: ["junhao", "alloy", "nova"],
    presets: ["vivian", "ryan"],
  };
  const server = wireCase.server ?? "";
  const names = presets[server] ?? [];
  const qwen = server === "presets" || server === "base";
  return {
    label: qwen ? "Qwen3-TTS" : "MOSS-TTS-Nano",
    formats: FORMATS,
    channels: [1, 2],
    languages: qwen ? LANGUAGES : [],
    tasks: server === "base" ? ["Base"] : qwen ? ["CustomVoice"] : [],
    embeddingDim: server === "base" ? 1024 : undefined,
    defaultVoice: server === "nano_x" ? "junhao" : undefined,
    aligner: false,
    fileReferences: false,
    voiceKind: (name) => {
      const key = name.toLowerCase();
      if (uploads.includes(key)) return "uploaded";
      return names.includes(key) ? "preset" : undefined;
    },
  };
}

function bodyOf(wireCase: WireCase): unknown {
  requireJson(wireCase.headers?.["content-type"] ?? "application/json");
  return parseBody(wireCase.raw_body ?? JSON.stringify(filled(wireCase.body)));
}

function served(name: string): boolean {
  return [SERVED_MODEL, "tts-1", "gpt-4o-mini-tts"].includes(name);
}

/** The checks of a batch; problems of single items are part of a good answer. */
function batch(wireCase: WireCase, limits: Limits): string[] {
  const request = validate(BatchRequest, bodyOf(wireCase));
  checkBatchSize(request.items.length, limits);
  checkModel(request.model, served);
  return request.items.flatMap((item) => {
    try {
      checkInput(item.input, limits);
      checkOptions(item, abilities(wireCase), limits);
      return [];
    } catch (error) {
      return [toApiError(error).message];
    }
  });
}

function upload(wireCase: WireCase, limits: Limits): void {
  const { fields, files = {} } = filled(wireCase.multipart) as NonNullable<WireCase["multipart"]>;
  const texts = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
  const clip = files.audio_sample;
  const dim = wireCase.server === "base" ? 1024 : undefined;
  checkUpload(texts, clip !== undefined, dim, limits);
  if (clip !== undefined) clipType(clip.content_type, clip.filename);
}

/** What the checks say to a case: an error, or the messages of a batch's items. */
function verdict(wireCase: WireCase): ApiError | string[] {
  const limits: Limits = { ...LIMITS, ...wireCase.options?.limits };
  try {
    switch (wireCase.path) {
      case "/v1/audio/speech/batch":
        return batch(wireCase, limits);
      case "/v1/audio/voices":
        upload(wireCase, limits);
        return [];
      case "/v1/audio/voices/blend":
        validate(BlendRequest, bodyOf(wireCase));
        return [];
      case "/v1/audio/voice_prompts":
        validate(VoicePromptRequest, bodyOf(wireCase));
        return [];
      default: {
        const request = validate(SpeechRequest, bodyOf(wireCase));
        checkModel(request.model, served);
        checkSpeech(request, abilities(wireCase), limits);
        return [];
      }
    }
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** `body_too_large` never gets here: its size is counted while it arrives. */
const posts = CASES.filter(({ method, name }) => method === "POST" && name !== "body_too_large");
const statuses = ({ expect: wanted }: WireCase) => [wanted?.status ?? 200].flat();
const accepted = posts.filter((wireCase) => {
  const fault = wireCase.options?.fault !== undefined;
  const ssrf = wireCase.name.startsWith("ssrf_");
  const key = wireCase.name.startsWith("auth_");
  return statuses(wireCase).includes(200) || fault || ssrf || key || wireCase.name in DECIDED_LATER;
});
const refused = posts.filter((wireCase) => !accepted.includes(wireCase));

describe("requests that a case answers with an error", () => {
  it.each(refused.map((wireCase) => [wireCase.name, wireCase] as const))("%s", (_, wireCase) => {
    const error = verdict(wireCase);
    expect(error).toBeInstanceOf(ApiError);
    const envelope = (error as ApiError).envelope();
    const body = toJson(envelope).toLowerCase();
    expect(statuses(wireCase)).toContain((error as ApiError).status);
    if (wireCase.expect?.json !== undefined)
      expect(envelope).toMatchObject(wireCase.expect.json as object);
    for (const text of wireCase.expect?.error?.contains ?? []) {
      expect(body).toContain(text.toLowerCase());
    }
    for (const text of wireCase.expect?.error?.excludes ?? []) {
      expect(body).not.toContain(text.toLowerCase());
    }
  });
});

describe("requests that pass the checks", () => {
  it.each(accepted.map((wireCase) => [wireCase.name, wireCase] as const))("%s", (_, wireCase) => {
    const messages = verdict(wireCase);
    expect(messages).toBeInstanceOf(Array);
    const failed = (wireCase.expect?.json as { failed?: number } | undefined)?.failed;
    if (failed !== undefined) expect(messages).toHaveLength(failed);
    if (wireCase.path.endsWith("/batch")) {
      for (const text of wireCase.expect?.error?.contains ?? []) {
        expect(String(messages).toLowerCase()).toContain(text.toLowerCase());
      }
    }
  });
});

it("drives most of the file's requests", () => {
  expect(posts.length).toBeGreaterThan(200);
  expect(refused.length).toBeGreaterThan(75);
});

describe("batches", () => {
  it("give an item's own option before the batch's, unless it is null", () => {
    const { items } = validate(BatchRequest, {
      voice: "vivian",
      speed: 2,
      items: [
        { input: "A", voice: "ryan" },
        { input: "B", voice: null, seed: 7 },
      ],
    });
    expect(items).toEqual([
      { input: "A", voice: "ryan", speed: 2 },
      { input: "B", voice: "vivian", speed: 2, seed: 7n },
    ]);
    expect(Object.keys(BatchBody.shape)).not.toContain("stream");
  });
});
