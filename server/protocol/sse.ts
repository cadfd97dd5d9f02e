/** Server-sent events of a streamed response. Joined, the deltas give exactly the bytes of the plain stream. */
import { z } from "zod";
import { AudioFormat } from "./formats.ts";
import { toJson } from "./json.ts";
import { Usage } from "./usage.ts";

export const WordTime = z.object({
  word: z.string().describe("The word"),
  start_ms: z.number().describe("Where it begins"),
  end_ms: z.number().describe("Where it ends"),
});
export type WordTime = z.infer<typeof WordTime>;

export const SpeechDelta = z.object({
  type: z.literal("speech.audio.delta").describe("A piece of audio"),
  audio: z.string().describe("Its bytes in base64"),
  response_format: AudioFormat.describe("Form of the audio"),
  sample_rate: z.int().describe("Samples per second"),
  channels: z.int().describe("Channels of the audio"),
  start_ms: z.number().describe("Where the piece begins in the speech"),
  duration_ms: z.number().describe("Length of the piece"),
  timestamps: z.array(WordTime).optional().describe("Words that end in this piece"),
});
export type SpeechDelta = z.infer<typeof SpeechDelta>;

export const SpeechDone = z.object({
  type: z.literal("speech.audio.done").describe("The speech is complete"),
  usage: Usage.describe("Tokens used"),
});
export type SpeechDone = z.infer<typeof SpeechDone>;

export const SpeechFailed = z.object({
  type: z.literal("speech.audio.error").describe("The speech broke off; no done event follows"),
  error: z
    .object({
      message: z.string().describe("What went wrong"),
      type: z.literal("server_error").describe("Always server_error"),
      param: z.null().describe("Always null"),
      code: z.int().describe("HTTP status that the failure would have had"),
    })
    .describe("The failure"),
});
export type SpeechFailed = z.infer<typeof SpeechFailed>;

export const SpeechEvent = z.discriminatedUnion("type", [SpeechDelta, SpeechDone, SpeechFailed]);
export type SpeechEvent = z.infer<typeof SpeechEvent>;

/** Comment that keeps a silent connection alive; sent every `PING_INTERVAL_MS`. */
export const SSE_PING = ": ping\n\n";
export const PING_INTERVAL_MS = 10_000;

/** An event as text on the wire. */
export function formatEvent(event: SpeechEvent): string {
  return `event: ${event.type}\ndata: ${toJson(event)}\n\n`;
}

/** The event that ends a stream whose generation failed. */
export function failureEvent(message: string, code: number): SpeechFailed {
  return {
    type: "speech.audio.error",
    error: { message, type: "server_error", param: null, code },
  };
}
