/** What the plain page and the server say to each other. Pure: shared by server, browser and tests. */
import { z } from "zod";

/** The longest text of one request, in Unicode code points. */
export const MAX_TEXT_LENGTH = 16_000;

export const SpeakRequest = z.object({
  text: z
    .string()
    .refine((text) => text.trim() !== "", "Input text cannot be empty")
    .refine(
      (text) => Array.from(text).length <= MAX_TEXT_LENGTH,
      `Input text is longer than ${MAX_TEXT_LENGTH} characters`,
    )
    .describe("What to say"),
  voice: z.string().optional().describe("A name from GET /voices; the default voice if absent"),
  seed: z
    .int()
    .min(0)
    .optional()
    .describe("The same seed, text and voice give the same audio; drawn at random if absent"),
});
export type SpeakRequest = z.infer<typeof SpeakRequest>;

export const VoiceList = z.object({
  default: z.string(),
  voices: z.array(z.object({ name: z.string(), description: z.string() })),
});
export type VoiceList = z.infer<typeof VoiceList>;
