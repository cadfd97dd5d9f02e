/** Voices made from voices: clone prompts (a reference encoded once) and blends of embeddings. */
import { z } from "zod";
import { complain, real, withoutNulls } from "./fields.ts";

export const VoicePromptBody = z
  .object({
    ref_audio: z
      .string()
      .nullish()
      .describe("Speech to sound like: an http(s) URL, a data URL or base64 of an audio file"),
    audio_sample: z.string().nullish().describe("Another name for `ref_audio`"),
    ref_text: z.string().nullish().describe("What is said in the clip"),
    name: z.string().nullish().describe("Name to remember it by"),
  })
  .check((context) => {
    const { ref_audio: reference, audio_sample: sample } = context.value;
    if ((reference ?? sample ?? undefined) === undefined) {
      complain(context, ["ref_audio"], "either 'ref_audio' or 'audio_sample' is required");
    }
    if (typeof reference === "string" && typeof sample === "string" && reference !== sample) {
      complain(context, ["audio_sample"], "'ref_audio' and 'audio_sample' are mutually exclusive");
    }
  });
export type VoicePromptInput = z.input<typeof VoicePromptBody>;

export const VoicePromptRequest = VoicePromptBody.transform(({ audio_sample, ...rest }) => ({
  ...withoutNulls(rest),
  ref_audio: rest.ref_audio ?? audio_sample ?? "",
}));
export type VoicePromptRequest = z.output<typeof VoicePromptRequest>;

export const VoicePromptCreated = z.object({
  id: z.string().describe("Id of the prompt (vp_…), usable as `voice` and as `ref_audio`"),
  object: z.literal("audio.voice_prompt").describe("Always audio.voice_prompt"),
  frames: z.int().describe("Frames of the encoded reference"),
  duration_s: z.number().describe("Length of the reference in seconds"),
  content_sha256: z.string().describe("Hash of the decoded reference"),
  expires_at: z.int().nullable().describe("Unix time after which the id is unknown; null: never"),
});
export type VoicePromptCreated = z.infer<typeof VoicePromptCreated>;

export const BlendRequest = z.object({
  voices: z
    .array(
      z.object({
        voice: z.string().describe("Name or id of a voice"),
        weight: real(0, 1).describe("Its share"),
      }),
    )
    .min(2)
    .describe("The voices to blend"),
  method: z.enum(["slerp", "lerp"]).default("slerp").describe("How to go from one to the other"),
  name: z.string().nullish().describe("Name of the new voice"),
});
export type BlendRequest = z.output<typeof BlendRequest>;
