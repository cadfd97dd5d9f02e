/** Names of the headers and trailers of an audio response, and what a browser may read of them. */
import type { Delivery } from "./formats.ts";

export const HEADERS = {
  requestId: "X-Request-Id",
  sampleRate: "X-Sample-Rate",
  channels: "X-Channels",
  bitDepth: "X-Bit-Depth",
  audioSampleRate: "X-Audio-Sample-Rate",
  streamFormat: "X-Stream-Format",
  seed: "X-Seed",
  segments: "X-Segments",
  truncated: "X-Audio-Truncated",
  ignoredFields: "X-Ignored-Fields",
  inputTokens: "X-Vllm-Omni-Input-Tokens",
  outputTokens: "X-Vllm-Omni-Output-Tokens",
  totalTokens: "X-Vllm-Omni-Total-Tokens",
  inputTextTokens: "X-Vllm-Omni-Input-Text-Tokens",
  inputAudioTokens: "X-Vllm-Omni-Input-Audio-Tokens",
  wordTimestamps: "X-Word-Timestamps",
  wordTimestampsOmitted: "X-Word-Timestamps-Omitted",
  retryAfter: "Retry-After",
} as const;

/** Sent after the body to clients that ask with `TE: trailers`. */
export const TRAILERS = {
  duration: "X-Audio-Duration",
  rtf: "X-Rtf",
  ttfa: "X-Ttfa-Ms",
} as const;

/** Value of Access-Control-Expose-Headers. */
export const EXPOSED_HEADERS = [...Object.values(HEADERS), ...Object.values(TRAILERS)].join(", ");

export interface AudioHeaders {
  readonly requestId: string;
  readonly sampleRate: number;
  readonly channels: number;
  readonly delivery: Delivery;
  readonly seed: bigint;
  readonly ignoredFields: readonly string[];
}

/** The headers that every audio response carries, whatever its format. */
export function audioHeaders(audio: AudioHeaders): Record<string, string> {
  return {
    [HEADERS.requestId]: audio.requestId,
    [HEADERS.sampleRate]: String(audio.sampleRate),
    [HEADERS.audioSampleRate]: String(audio.sampleRate),
    [HEADERS.channels]: String(audio.channels),
    [HEADERS.bitDepth]: "16",
    [HEADERS.streamFormat]: audio.delivery,
    [HEADERS.seed]: String(audio.seed),
    ...ignoredFieldsHeader(audio.ignoredFields),
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
  };
}

const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 40;

/** Tells which members of a body nobody read; nothing if all were read. */
export function ignoredFieldsHeader(names: readonly string[]): Record<string, string> {
  return names.length === 0 ? {} : { [HEADERS.ignoredFields]: ignoredFieldsValue(names) };
}

/** Names come from the client: only a few, short, and of characters that a header may hold. */
function ignoredFieldsValue(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_NAMES)
    .map((name) => name.replace(/[^\w.-]/g, "?").slice(0, MAX_NAME_LENGTH));
  return names.length > MAX_NAMES ? `${shown.join(", ")}, ...` : shown.join(", ");
}
