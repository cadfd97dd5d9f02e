/** Voices as the wire describes them. */
import type { UploadedVoice } from "../protocol/voices.ts";
import type { StoredVoice } from "./store.ts";

/** An uploaded voice in the words of the protocol. */
export function uploadedVoice(voice: StoredVoice): UploadedVoice {
  const { refText, speakerDescription, language } = voice;
  return {
    id: voice.id,
    name: voice.name,
    consent: voice.consent,
    created_at: voice.createdAt,
    file_size: voice.fileSize,
    mime_type: voice.mimeType,
    embedding_source: "audio",
    embedding_dim: null,
    ...(refText === undefined ? {} : { ref_text: refText }),
    ...(speakerDescription === undefined ? {} : { speaker_description: speakerDescription }),
    duration_s: voice.durationSeconds,
    sample_rate: voice.sampleRate,
    ...(language === undefined ? {} : { language }),
  };
}
