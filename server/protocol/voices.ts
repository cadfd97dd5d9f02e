/** The voices of a server: the list, one entry, and what uploading and deleting answer. */
import { z } from "zod";

const seconds = z.number().describe("Length of the reference in seconds");

export const UploadedVoice = z.object({
  name: z.string().describe("The name as it was written"),
  consent: z.string().describe("The consent that the uploader stated"),
  created_at: z.int().describe("Unix time of the upload; later uploads have larger numbers"),
  file_size: z.int().describe("Bytes of the uploaded file"),
  mime_type: z.string().describe("Content type of the uploaded file"),
  embedding_source: z.enum(["audio", "direct"]).describe("Clip or embedding"),
  embedding_dim: z.int().nullable().describe("Length of the embedding; null for clips"),
  ref_text: z.string().optional().describe("What is said in the clip"),
  speaker_description: z.string().optional().describe("How the voice sounds"),
  id: z.string().describe("Id of the voice, usable as `voice`"),
  duration_s: seconds.optional(),
  sample_rate: z.int().optional().describe("Samples per second of the clip"),
  language: z.string().optional().describe("Two-letter code of the language spoken"),
});
export type UploadedVoice = z.infer<typeof UploadedVoice>;

export const PresetVoice = z.object({
  name: z.string().describe("Name of the voice, usable as `voice`"),
  display_name: z.string().describe("Name to show"),
  description: z.string().describe("How the voice sounds"),
  language: z.string().describe("Two-letter code of its language; empty if unknown"),
  default: z.boolean().describe("True for the voice of requests that name none"),
  pitch_hz: z.number().optional().describe("Median pitch of its reference in hertz, if known"),
});
export type PresetVoice = z.infer<typeof PresetVoice>;

export const VoiceCatalogue = z.object({
  voices: z.array(z.string()).describe("All names, in lower case and sorted"),
  uploaded_voices: z.array(UploadedVoice).describe("Details of the uploaded ones"),
  presets: z.array(PresetVoice).describe("Details of those that come with the model"),
});
export type VoiceCatalogue = z.infer<typeof VoiceCatalogue>;

/** Puts the list together: every name once, in lower case, sorted by code point. */
export function voiceCatalogue(
  presets: readonly PresetVoice[],
  uploaded: readonly UploadedVoice[],
): VoiceCatalogue {
  const names = new Set([...presets, ...uploaded].map(({ name }) => name.toLowerCase()));
  return { voices: [...names].sort(), uploaded_voices: [...uploaded], presets: [...presets] };
}

export const VoiceDetail = z.discriminatedUnion("kind", [
  UploadedVoice.extend({ kind: z.literal("uploaded").describe("Uploaded by someone") }),
  PresetVoice.extend({ kind: z.literal("preset").describe("Comes with the model") }),
]);
export type VoiceDetail = z.infer<typeof VoiceDetail>;

const UploadedFields = UploadedVoice.pick({
  name: true,
  consent: true,
  created_at: true,
  mime_type: true,
  file_size: true,
  ref_text: true,
  speaker_description: true,
  language: true,
  embedding_source: true,
  embedding_dim: true,
}).partial({ mime_type: true, file_size: true, embedding_source: true, embedding_dim: true });

export const VoiceCreated = z.object({
  success: z.literal(true).describe("Always true"),
  voice: UploadedFields.describe("The new voice"),
  id: z.string().describe("Id of the voice, usable as `voice`"),
  object: z.literal("audio.voice").describe("Always audio.voice"),
  name: z.string().describe("Name of the voice"),
  created_at: z.int().describe("Unix time of the upload"),
});
export type VoiceCreated = z.infer<typeof VoiceCreated>;

/** The answer to an upload. */
export function voiceCreated(voice: UploadedVoice): VoiceCreated {
  const { name, consent, created_at, ref_text, speaker_description, language } = voice;
  const common = { name, consent, created_at };
  const details =
    voice.embedding_source === "direct"
      ? { embedding_source: voice.embedding_source, embedding_dim: voice.embedding_dim }
      : { mime_type: voice.mime_type, file_size: voice.file_size };
  const texts = {
    ...(ref_text === undefined ? {} : { ref_text }),
    ...(speaker_description === undefined ? {} : { speaker_description }),
    ...(language === undefined ? {} : { language }),
  };
  return {
    success: true,
    voice: { ...common, ...details, ...texts },
    id: voice.id,
    object: "audio.voice",
    name,
    created_at,
  };
}

export const VoiceDeleted = z.discriminatedUnion("success", [
  z.object({
    success: z.literal(true).describe("The voice is gone"),
    message: z.string().describe("Says so in a sentence"),
  }),
  z.object({
    success: z.literal(false).describe("There was no such uploaded voice"),
    error: z.string().describe("Says so in a sentence"),
  }),
]);
export type VoiceDeleted = z.infer<typeof VoiceDeleted>;

/** The answer to a deletion, with its status. Presets cannot be deleted and count as not found. */
export function voiceDeleted(
  name: string,
  found: boolean,
): { readonly status: 200 | 404; readonly body: VoiceDeleted } {
  if (!found) {
    return { status: 404, body: { success: false, error: `Voice '${name}' not found` } };
  }
  return { status: 200, body: { success: true, message: `Voice '${name}' deleted successfully` } };
}
