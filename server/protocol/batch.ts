/** `POST /v1/audio/speech/batch`: several texts in one request, each with its own result. */
import { z } from "zod";
import { ApiError } from "./envelope.ts";
import type { Limits } from "./limits.ts";
import { checkSpellings, type Plain, plainSpelling } from "./references.ts";
import { generationFields, outputFields, referenceField, voiceFields } from "./speech-fields.ts";
import { Usage } from "./usage.ts";

const { seed, speaker_embedding, extra_params } = generationFields;
const { non_streaming_mode } = generationFields;

/** Options that an item may set for itself; the batch sets them for items that do not. */
const sharedFields = { ...voiceFields, ...outputFields, ...referenceField, non_streaming_mode };

export const BatchItemBody = z
  .object({
    input: z.string().describe("What to say"),
    ...sharedFields,
    seed,
    speaker_embedding,
    extra_params,
  })
  .check(checkSpellings);

export const BatchBody = z
  .object({
    items: z.array(BatchItemBody).min(1).describe("The texts, each with options of its own"),
    ...sharedFields,
  })
  .check(checkSpellings);
export type BatchInput = z.input<typeof BatchBody>;

/** One item with the batch's options filled in. */
export type BatchItem = Plain<z.output<typeof BatchItemBody>>;

function merged({ items, ...shared }: z.output<typeof BatchBody>) {
  const defaults = plainSpelling(shared);
  return {
    model: defaults.model,
    items: items.map((item): BatchItem => ({ ...defaults, ...plainSpelling(item) })),
  };
}

/** Reads a batch: every item complete, an item's own option before the batch's. */
export const BatchRequest = BatchBody.transform(merged);
export type BatchRequest = z.output<typeof BatchRequest>;

/** @throws ApiError `batch_too_large` */
export function checkBatchSize(count: number, limits: Limits): void {
  if (count <= limits.tts_batch_max_items) return;
  const message = `Batch contains ${count} items, exceeding the maximum of ${limits.tts_batch_max_items}.`;
  throw new ApiError("batch_too_large", message, { param: "items" });
}

export const BatchResult = z.object({
  index: z.int().describe("Place of the item in the request"),
  status: z.enum(["success", "error"]).describe("How it went"),
  audio_data: z.string().nullable().describe("The audio in base64; null on error"),
  media_type: z.string().nullable().describe("Content type of the audio; null on error"),
  error: z.string().nullable().describe("What went wrong; null on success"),
  usage: Usage.nullable().describe("Tokens used; null on error"),
  sample_rate: z.int().optional().describe("Samples per second"),
  channels: z.int().optional().describe("Channels of the audio"),
  duration_s: z.number().optional().describe("Length of the audio in seconds"),
  seed: z.union([z.int(), z.bigint()]).optional().meta({
    description: "The seed that was used",
    type: "integer",
    format: "int64",
  }),
});
export type BatchResult = z.infer<typeof BatchResult>;

export const BatchResponse = z.object({
  id: z.string().describe("Id of the batch: speech-batch-…"),
  results: z.array(BatchResult).describe("In the order of the items"),
  total: z.int().describe("Number of items"),
  succeeded: z.int().describe("Items that succeeded"),
  failed: z.int().describe("Items that failed"),
});
export type BatchResponse = z.infer<typeof BatchResponse>;

export interface BatchSuccess {
  readonly audioBase64: string;
  readonly mediaType: string;
  readonly usage: Usage;
  readonly sampleRate: number;
  readonly channels: number;
  readonly seconds: number;
  readonly seed: bigint;
}

/** The result of an item that was spoken. */
export function batchSuccess(index: number, audio: BatchSuccess): BatchResult {
  return {
    index,
    status: "success",
    audio_data: audio.audioBase64,
    media_type: audio.mediaType,
    error: null,
    usage: audio.usage,
    sample_rate: audio.sampleRate,
    channels: audio.channels,
    duration_s: audio.seconds,
    seed: audio.seed,
  };
}

/** The result of an item that failed; the others are not affected. */
export function batchFailure(index: number, message: string): BatchResult {
  return {
    index,
    status: "error",
    audio_data: null,
    media_type: null,
    error: message,
    usage: null,
  };
}

/** The whole answer, from results in any order. */
export function batchResponse(id: string, results: readonly BatchResult[]): BatchResponse {
  const ordered = [...results].sort((a, b) => a.index - b.index);
  const succeeded = ordered.filter(({ status }) => status === "success").length;
  const total = ordered.length;
  return { id, results: ordered, total, succeeded, failed: total - succeeded };
}
