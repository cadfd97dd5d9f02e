/** `POST /v1/audio/speech/batch`: items side by side, each with a result of its own. */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Speaker } from "../house/types.ts";
import {
  BatchBody,
  type BatchItem,
  BatchRequest,
  type BatchResult,
  batchFailure,
  batchResponse,
  batchSuccess,
  checkBatchSize,
} from "../protocol/batch.ts";
import { toApiError, validate } from "../protocol/envelope.ts";
import { NDJSON_CONTENT_TYPE } from "../protocol/formats.ts";
import { ignoredFieldsHeader } from "../protocol/headers.ts";
import { toJson } from "../protocol/json.ts";
import { ignoredFields } from "../protocol/speech.ts";
import type { HttpDeps } from "./deps.ts";
import { encodedFile } from "./encoding.ts";
import { prepareSpeech } from "./prepare.ts";
import { heldForAnswer, jsonBody, workSignal } from "./requests.ts";
import { Utterance } from "./utterance.ts";

interface Batch {
  readonly id: string;
  readonly deps: HttpDeps;
  /** Speaks all items. */
  readonly speaker: Speaker;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

export function addBatchRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.post("/v1/audio/speech/batch", async (request, reply) => {
    const body = jsonBody(request);
    const { model, items } = validate(BatchRequest, body);
    checkBatchSize(items.length, deps.config.limits);
    const id = `speech-batch-${randomUUID().replaceAll("-", "")}`;
    const signal = workSignal(reply, deps.config.server.requestTimeoutMs);
    const speaker = heldForAnswer(reply, await deps.models.hold(model, signal));
    const results = inParallel(items, { id, deps, speaker, requestId: request.id, signal });
    reply.headers(ignoredFieldsHeader(ignoredFields(BatchBody, body)));
    return wantsLines(request) ? sendLines(reply, results) : sendAll(reply, id, results);
  });
}

function wantsLines({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes(NDJSON_CONTENT_TYPE) ?? false;
}

async function sendAll(reply: FastifyReply, id: string, results: AsyncIterable<BatchResult>) {
  const all: BatchResult[] = [];
  for await (const result of results) all.push(result);
  return reply.type("application/json; charset=utf-8").send(toJson(batchResponse(id, all)));
}

function sendLines(reply: FastifyReply, results: AsyncIterable<BatchResult>) {
  return reply
    .type(NDJSON_CONTENT_TYPE)
    .send(Readable.from(linesOf(results), { highWaterMark: 1 }));
}

async function* linesOf(results: AsyncIterable<BatchResult>): AsyncGenerator<string, void> {
  for await (const result of results) yield `${toJson(result)}\n`;
}

/**
 * Results as they come. As many items are spoken side by side as the engine has room for, so that a batch never makes
 * itself wait in line until it is refused.
 */
async function* inParallel(
  items: readonly BatchItem[],
  batch: Batch,
): AsyncGenerator<BatchResult, void> {
  const width = Math.max(1, batch.speaker.service.load.capacity);
  const running = new Map<number, Promise<BatchResult>>();
  const queue = items.entries();
  const startNext = () => {
    const next = queue.next();
    if (next.done) return;
    const [index, item] = next.value;
    running.set(index, resultOf(index, item, batch));
  };
  for (let i = 0; i < width; i++) startNext();
  while (running.size > 0) {
    const result = await Promise.race(running.values());
    running.delete(result.index);
    batch.signal.throwIfAborted();
    startNext();
    yield result;
  }
}

/** Never rejects: a failure is a result, and concerns no other item. */
async function resultOf(index: number, item: BatchItem, batch: Batch): Promise<BatchResult> {
  try {
    return await spoken(index, item, batch);
  } catch (error) {
    const failure = toApiError(error);
    const { cause } = failure.details;
    if (failure.status >= 500) batch.deps.logger?.error({ err: cause ?? failure, batch: batch.id });
    return batchFailure(index, failure.message);
  }
}

async function spoken(index: number, item: BatchItem, batch: Batch): Promise<BatchResult> {
  const { deps, speaker, requestId, signal } = batch;
  const { settings, model, format, input, seed } = await prepareSpeech(item, speaker, signal);
  const id = `${requestId}-${index}`;
  const session = {
    ...settings,
    requestId: id,
    transport: "batch",
    model,
    format,
    signal,
  } as const;
  const utterance = new Utterance(speaker.service, session, input);
  try {
    const { bytes, contentType } = await encodedFile(
      utterance.audio(),
      { ...settings, format },
      deps.metrics,
    );
    const { usage, seconds } = utterance.report;
    const { buffer, byteOffset, byteLength } = bytes;
    return batchSuccess(index, {
      audioBase64: Buffer.from(buffer, byteOffset, byteLength).toString("base64"),
      mediaType: contentType,
      usage,
      sampleRate: settings.sampleRate,
      channels: settings.channels,
      seconds,
      seed,
    });
  } finally {
    await utterance.close();
  }
}
