/**
 * The voices of the official release, as its list with codes has them. That list and the one of the PyTorch runtime use the
 * same names for different recordings; only this one has codes, so only this one is taken.
 */
import { z } from "zod";
import { HubError } from "./errors.ts";

/** Voices of somebody: of a real person, or of a character whose voice belongs to an actor. */
const IMITATIONS: Readonly<Record<string, string>> = {
  Trump: "a real person",
  Soyo: "a character of a game",
  Saki: "a character of a game",
  Mortis: "a character of a game",
  Umiri: "a character of a game",
  Anon: "a character of a game",
  Arisa: "a character of a game",
};

const LANGUAGES: Readonly<Record<string, string>> = {
  Chinese: "zh",
  English: "en",
  Japanese: "ja",
};
/** Where a list has no groups, the recording's name says the language. */
const RECORDINGS: Readonly<Record<string, string>> = { zh: "zh", en: "en", jp: "ja" };

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u;
const MOST_FRAMES = 375;
const BOOKS = 16;
const FRAMES_PER_SECOND = 12.5;

const list = z.object({
  builtin_voices: z.array(
    z.object({
      voice: z.string().regex(NAME),
      display_name: z.string().optional(),
      group: z.string().optional(),
      audio_file: z.string().optional(),
      prompt_audio_codes: z.array(z.array(z.number().int().min(0).max(1023)).length(BOOKS)),
    }),
  ),
});

export interface VoiceFile {
  readonly name: string;
  /** Content of `voices/NAME.json`. */
  readonly json: string;
}

export interface OfficialVoices {
  readonly voices: readonly VoiceFile[];
  /** Those that were left out, and why. */
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

/**
 * Turns the release's list into voices of a model folder.
 * @param all also those that imitate somebody
 * @throws HubError `voices_invalid` naming the field
 */
export function officialVoices(text: string, all: boolean): OfficialVoices {
  const voices: VoiceFile[] = [];
  const leftOut: { name: string; reason: string }[] = [];
  const seen = new Set<string>();
  for (const entry of parse(text)) {
    const { voice: name, prompt_audio_codes: codes } = entry;
    const imitated = IMITATIONS[name];
    const key = name.toLowerCase();
    if (seen.has(key)) leftOut.push({ name, reason: "another voice has that name" });
    else if (imitated !== undefined && !all) {
      leftOut.push({ name, reason: `it imitates ${imitated}` });
    } else if (codes.length === 0 || codes.length > MOST_FRAMES) {
      leftOut.push({
        name,
        reason: `it has ${codes.length} frames; 1 to ${MOST_FRAMES} are taken`,
      });
    } else voices.push({ name, json: voiceJson(entry) });
    seen.add(key);
  }
  return { voices, leftOut };
}

type Entry = z.infer<typeof list>["builtin_voices"][number];

function parse(text: string): readonly Entry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HubError("voices_invalid", "the list of voices is not valid JSON");
  }
  const { success, data, error } = list.safeParse(value);
  if (success) return data.builtin_voices;
  const [issue] = error.issues;
  throw new HubError(
    "voices_invalid",
    `the list of voices does not fit at ${issue?.path.join(".")}: ${issue?.message}`,
  );
}

function voiceJson({ voice, display_name, group, audio_file, prompt_audio_codes }: Entry): string {
  const [groupLanguage = ""] = (group ?? "").split(" ");
  const [recording = ""] = (audio_file?.split("/").at(-1) ?? "").split("_");
  const language = LANGUAGES[groupLanguage] ?? RECORDINGS[recording];
  const description = group ?? (display_name !== voice ? display_name : undefined);
  return `${JSON.stringify({
    name: voice,
    ...(description ? { description } : {}),
    ...(language === undefined ? {} : { language }),
    frame_rate: FRAMES_PER_SECOND,
    n_vq: BOOKS,
    codes: prompt_audio_codes,
  })}\n`;
}
