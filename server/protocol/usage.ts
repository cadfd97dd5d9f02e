/** What a request used: tokens of text and reference in, frames of sound out. In bodies and, else, in headers. */
import { z } from "zod";
import { HEADERS } from "./headers.ts";

export const Usage = z.object({
  input_tokens: z.int().describe("Text and reference tokens"),
  output_tokens: z.int().describe("Frames of sound generated"),
  total_tokens: z.int().describe("Sum of both"),
  input_token_details: z
    .object({
      text_tokens: z.int().describe("Tokens of text and instructions"),
      audio_tokens: z.int().describe("Frames of the reference"),
    })
    .describe("Where the input tokens come from"),
});
export type Usage = z.infer<typeof Usage>;

/** The usage of a request from its parts. */
export function usageOf(textTokens: number, audioTokens: number, outputTokens: number): Usage {
  const input = textTokens + audioTokens;
  return {
    input_tokens: input,
    output_tokens: outputTokens,
    total_tokens: input + outputTokens,
    input_token_details: { text_tokens: textTokens, audio_tokens: audioTokens },
  };
}

/** Usage as headers, for responses whose body cannot carry it. */
export function usageHeaders(usage: Usage): Record<string, string> {
  return {
    [HEADERS.inputTokens]: String(usage.input_tokens),
    [HEADERS.outputTokens]: String(usage.output_tokens),
    [HEADERS.totalTokens]: String(usage.total_tokens),
    [HEADERS.inputTextTokens]: String(usage.input_token_details.text_tokens),
    [HEADERS.inputAudioTokens]: String(usage.input_token_details.audio_tokens),
  };
}
