/** What a model and this server can do, and which voice a name stands for. */
import type { Speaker } from "../house/types.ts";
import { FORMATS } from "../protocol/formats.ts";
import type { SpeechAbilities } from "../protocol/speech-rules.ts";

/** Names of OpenAI's own voices, which its clients send to every server. */
const OPENAI_VOICES: ReadonlySet<string> = new Set([
  "alloy",
  "ash",
  "ballad",
  "cedar",
  "coral",
  "echo",
  "fable",
  "marin",
  "nova",
  "onyx",
  "sage",
  "shimmer",
  "verse",
]);

/** A voice as the library knows it. */
export interface NamedVoice {
  /** Undefined: whatever the model speaks with by itself. */
  readonly name: string | undefined;
  /** Undefined: there is no such voice. */
  readonly kind: "preset" | "uploaded" | undefined;
}

type VoiceDeps = Pick<Speaker, "config" | "voices">;

async function kindOf(name: string, { voices }: VoiceDeps): Promise<NamedVoice["kind"]> {
  // Prompts are looked up when they are used; their ids belong to nobody else.
  if (name.startsWith("vp_")) return "uploaded";
  try {
    return (await voices.get(name)).kind;
  } catch (error) {
    if ((error as { code?: unknown }).code === "voice_not_found") return undefined;
    throw error;
  }
}

/** The voice behind a name: the server's default for none and for `default`, a stand-in for OpenAI's names. */
export async function namedVoice(asked: string | undefined, deps: VoiceDeps): Promise<NamedVoice> {
  const { default: byDefault, openaiMap } = deps.config.voices;
  if (asked === undefined || asked.toLowerCase() === "default") {
    return { name: byDefault ?? asked, kind: "preset" };
  }
  const kind = await kindOf(asked, deps);
  const key = asked.toLowerCase();
  if (kind !== undefined || !OPENAI_VOICES.has(key)) return { name: asked, kind };
  const name = openaiMap[key] ?? byDefault;
  return { name, kind: name === undefined ? "preset" : await kindOf(name, deps) };
}

/** @param voice the only voice that will be asked about */
export function abilitiesFor(speaker: Speaker, voice?: NamedVoice): SpeechAbilities {
  const { config, service, abilities = {} } = speaker;
  const { label = service.model.family.replaceAll("_", "-") } = abilities;
  return {
    label,
    formats: FORMATS,
    channels: config.output.allowChannels,
    languages: abilities.languages ?? [],
    tasks: abilities.tasks ?? [],
    embeddingDim: abilities.embeddingDim,
    defaultVoice: config.voices.default ?? service.model.defaultVoice,
    aligner: false,
    fileReferences: config.references.allowedLocalPath !== undefined,
    voiceKind: () => voice?.kind,
  };
}
