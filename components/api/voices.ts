/** The voices of the server in one shape, whoever made them. */
import { client } from "./client.ts";

export interface Voice {
  /** What requests call it. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  readonly kind: "preset" | "mine";
  readonly description: string;
  /** Two-letter code; empty if unknown. */
  readonly language: string;
  readonly isDefault: boolean;
  /** Unix time in seconds; 0 for presets. */
  readonly createdAt: number;
  /** Length of the reference in seconds, if known. */
  readonly referenceSeconds: number | undefined;
  readonly consent: string;
  /** Median pitch of the reference in hertz, if the server knows it. */
  readonly pitchHz: number | undefined;
}

/**
 * The voices of a model: presets in its own order, then the visitor's, the newest first.
 * @param model undefined: the one that speaks by default
 * @throws SonantError
 */
export async function fetchVoices(model: string | undefined): Promise<Voice[]> {
  const { presets, uploaded_voices: uploaded } = await client().voices({ model });
  const shipped = presets.map(
    (preset): Voice => ({
      id: preset.name,
      name: preset.display_name,
      kind: "preset",
      description: preset.description,
      language: preset.language,
      isDefault: preset.default,
      createdAt: 0,
      referenceSeconds: undefined,
      consent: "",
      pitchHz: preset.pitch_hz,
    }),
  );
  const own = uploaded.map(
    (voice): Voice => ({
      id: voice.id,
      name: voice.name,
      kind: "mine",
      description: voice.speaker_description ?? "",
      language: voice.language ?? "",
      isDefault: false,
      createdAt: voice.created_at,
      referenceSeconds: voice.duration_s,
      consent: voice.consent,
      pitchHz: undefined,
    }),
  );
  return [...shipped, ...own.sort((a, b) => b.createdAt - a.createdAt)];
}
