/** `POST /v1/audio/speech`: whole, as a byte stream, or as server-sent events. */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { validate } from "../protocol/envelope.ts";
import {
  CONTENT_TYPES,
  chooseDelivery,
  type Delivery,
  SSE_CONTENT_TYPE,
} from "../protocol/formats.ts";
import { audioHeaders, HEADERS, TRAILERS } from "../protocol/headers.ts";
import { ignoredFields, SpeechBody, SpeechRequest } from "../protocol/speech.ts";
import { usageHeaders } from "../protocol/usage.ts";
import type { Transport } from "../speech/types.ts";
import type { HttpDeps } from "./deps.ts";
import {
  type EncodedPiece,
  type EncodingMetrics,
  encodedAudio,
  encodedFile,
  encoderFor,
} from "./encoding.ts";
import { type PreparedSpeech, prepareSpeech } from "./prepare.ts";
import { heldForAnswer, jsonBody, workSignal } from "./requests.ts";
import { speechEvents } from "./sse-stream.ts";
import { Utterance } from "./utterance.ts";

const TRANSPORTS: Readonly<Record<Delivery, Transport>> = {
  whole: "http",
  audio: "http_stream",
  sse: "sse",
};

export function addSpeechRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.post("/v1/audio/speech", (request, reply) => speak(request, reply, deps));
}

async function speak(request: FastifyRequest, reply: FastifyReply, deps: HttpDeps) {
  const { config, models } = deps;
  const body = jsonBody(request);
  const asked = validate(SpeechRequest, body);
  const delivery = chooseDelivery(asked, request.headers.accept, config.server.streamDefault);
  const signal = workSignal(reply, config.server.requestTimeoutMs);
  const speaker = heldForAnswer(reply, await models.hold(asked.model, signal));
  const speech = await prepareSpeech(asked, speaker, signal);
  const open = () =>
    new Utterance(
      speaker.service,
      {
        ...speech.settings,
        requestId: request.id,
        model: speech.model,
        transport: TRANSPORTS[delivery],
        format: speech.format,
        signal,
      },
      speech.input,
    );
  const ignored = ignoredFields(SpeechBody, body);
  const headers = headersOf(request, speech, delivery, ignored);
  if (delivery === "whole") return sendWhole(reply, open(), speech, headers, deps.metrics);
  return sendStream(request, reply, open, speech, {
    delivery,
    headers,
    early: config.server.earlyHeaders,
    metrics: deps.metrics,
  });
}

function headersOf(
  { id }: FastifyRequest,
  { settings, seed }: PreparedSpeech,
  delivery: Delivery,
  ignored: readonly string[],
): Record<string, string> {
  const { sampleRate, channels } = settings;
  return audioHeaders({
    requestId: id,
    sampleRate,
    channels,
    delivery,
    seed,
    ignoredFields: ignored,
  });
}

async function sendWhole(
  reply: FastifyReply,
  utterance: Utterance,
  { format, settings }: PreparedSpeech,
  headers: Record<string, string>,
  metrics: EncodingMetrics,
) {
  try {
    const { bytes, contentType } = await encodedFile(
      utterance.audio(),
      { ...settings, format },
      metrics,
    );
    const { usage, truncated, segments } = utterance.report;
    return reply
      .headers({
        ...headers,
        ...usageHeaders(usage),
        [HEADERS.truncated]: String(truncated),
        [HEADERS.segments]: String(segments),
      })
      .type(contentType)
      .send(bytes);
  } finally {
    await utterance.close();
  }
}

interface StreamOptions {
  readonly delivery: "audio" | "sse";
  readonly headers: Record<string, string>;
  /** Headers leave at admission instead of with the first audio. */
  readonly early: boolean;
  readonly metrics: EncodingMetrics;
}

/** Headers leave with the first audio, unless the operator wants them early: a failure before that has a status. */
async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  open: () => Utterance,
  { format, settings }: PreparedSpeech,
  { delivery, headers, early, metrics }: StreamOptions,
) {
  const encoder = await encoderFor({ ...settings, format }, metrics);
  const utterance = opened(open, encoder);
  const pieces = encodedAudio(utterance.audio(), encoder);
  const first = early ? [] : [await firstOf(pieces)];
  const body = joined(first, pieces);
  const stream =
    delivery === "sse"
      ? speechEvents(body, { ...settings, format }, () => utterance.report.usage)
      : bytesOf(body);
  reply.headers(headers).type(delivery === "sse" ? SSE_CONTENT_TYPE : CONTENT_TYPES[format]);
  const hasTrailers = wantsTrailers(request);
  if (hasTrailers) reply.header("trailer", Object.values(TRAILERS).join(", "));
  const answer = hasTrailers ? withTrailers<string | Uint8Array>(stream, reply, utterance) : stream;
  // One piece at a time: a slow reader holds up the session and not the server's memory.
  reply.send(Readable.from(answer, { highWaterMark: 1 }));
  if (early) reply.raw.flushHeaders();
  return reply;
}

function opened(open: () => Utterance, encoder: { close(): void }): Utterance {
  try {
    return open();
  } catch (error) {
    encoder.close();
    throw error;
  }
}

async function firstOf(pieces: AsyncIterator<EncodedPiece, void>): Promise<EncodedPiece> {
  const { value } = await pieces.next();
  // Speech without audio is an error that was thrown above, and encoders of audio have at least a tail.
  if (value === undefined) throw new Error("The encoder swallowed the audio.");
  return value;
}

async function* joined(first: readonly EncodedPiece[], rest: AsyncGenerator<EncodedPiece, void>) {
  try {
    yield* first;
    yield* rest;
  } finally {
    await rest.return();
  }
}

async function* bytesOf(pieces: AsyncIterable<EncodedPiece>): AsyncGenerator<Uint8Array, void> {
  for await (const { bytes } of pieces) yield bytes;
}

function wantsTrailers({ headers }: FastifyRequest): boolean {
  return /\btrailers\b/i.test(String(headers.te ?? ""));
}

/** The body, and after it what is only known at its end. */
async function* withTrailers<T>(
  body: AsyncIterable<T>,
  reply: FastifyReply,
  utterance: Utterance,
): AsyncGenerator<T, void> {
  yield* body;
  const { seconds, rtf, ttfaMs = 0 } = utterance.report;
  reply.raw.addTrailers({
    [TRAILERS.duration]: seconds.toFixed(3),
    [TRAILERS.rtf]: rtf.toFixed(4),
    [TRAILERS.ttfa]: ttfaMs.toFixed(1),
  });
}
