/** What the headers of an audio answer tell about the audio, as an object. */
import { HEADERS } from "../headers.ts";
import type { Usage } from "../usage.ts";
import { SonantError } from "./error.ts";
import type { HeaderSource } from "./error-answers.ts";

export interface SpeechReceipt {
  readonly requestId: string;
  readonly contentType: string;
  /** Hz */
  readonly sampleRate: number;
  readonly channels: number;
  /** How it was delivered. */
  readonly delivery: "whole" | "audio" | "sse";
  /** The seed that was used, in decimal: it may be larger than a number can hold exactly. */
  readonly seed: string;
  /** Fields of the request that the server does not know. */
  readonly ignoredFields: readonly string[];
  /** Pieces that the text was cut into. Only known of a whole answer, like the members that follow. */
  readonly segments: number | undefined;
  readonly truncated: boolean | undefined;
  readonly usage: Usage | undefined;
}

function numberOf(headers: HeaderSource, name: string): number | undefined {
  const value = headers.get(name);
  return value === null || !Number.isFinite(Number(value)) ? undefined : Number(value);
}

function usageOf(headers: HeaderSource): Usage | undefined {
  const input = numberOf(headers, HEADERS.inputTokens);
  const output = numberOf(headers, HEADERS.outputTokens);
  if (input === undefined || output === undefined) return undefined;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: numberOf(headers, HEADERS.totalTokens) ?? input + output,
    input_token_details: {
      text_tokens: numberOf(headers, HEADERS.inputTextTokens) ?? 0,
      audio_tokens: numberOf(headers, HEADERS.inputAudioTokens) ?? 0,
    },
  };
}

/** @throws SonantError `malformed_answer` if the headers do not say how the audio is to be played */
export function receiptOf(headers: HeaderSource): SpeechReceipt {
  const sampleRate = numberOf(headers, HEADERS.sampleRate);
  const channels = numberOf(headers, HEADERS.channels);
  if (sampleRate === undefined || channels === undefined) {
    throw new SonantError(
      "malformed_answer",
      `The server's answer does not state ${HEADERS.sampleRate} and ${HEADERS.channels}.`,
    );
  }
  const ignored = headers.get(HEADERS.ignoredFields);
  return {
    requestId: headers.get(HEADERS.requestId) ?? "",
    contentType: headers.get("content-type") ?? "",
    sampleRate,
    channels,
    delivery: (headers.get(HEADERS.streamFormat) ?? "whole") as SpeechReceipt["delivery"],
    seed: headers.get(HEADERS.seed) ?? "",
    ignoredFields: ignored === null ? [] : ignored.split(", "),
    segments: numberOf(headers, HEADERS.segments),
    truncated:
      headers.get(HEADERS.truncated) === null
        ? undefined
        : headers.get(HEADERS.truncated) === "true",
    usage: usageOf(headers),
  };
}
