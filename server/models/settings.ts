/**
 * `sonant.json` of a model folder: what its maker recommends. Everything in it is optional and overrides
 * the family's defaults.
 */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { Fields } from "./fields.ts";
import type { ModelLimits, Sampling } from "./types.ts";

export interface ModelSettings {
  readonly name: string;
  readonly description: string;
  readonly languages: readonly string[];
  readonly defaultVoice: string | undefined;
  readonly sampling: Sampling;
  readonly limits: ModelLimits;
}

export const SETTINGS_FILE = "sonant.json";
const TEMPERATURE = { min: 0.01, max: 5 };
const TOP_P = { min: 0.01, max: 1 };
const TOP_K_MAX = 16384;

function readSampling(fields: Fields, defaults: Sampling): Sampling {
  return {
    textTemperature: fields.number("text_temperature", TEMPERATURE, defaults.textTemperature),
    textTopK: fields.integer("text_top_k", 0, TOP_K_MAX, defaults.textTopK),
    textTopP: fields.number("text_top_p", TOP_P, defaults.textTopP),
    audioTemperature: fields.number("audio_temperature", TEMPERATURE, defaults.audioTemperature),
    audioTopK: fields.integer("audio_top_k", 0, TOP_K_MAX, defaults.audioTopK),
    audioTopP: fields.number("audio_top_p", TOP_P, defaults.audioTopP),
    audioRepetitionPenalty: fields.number(
      "audio_repetition_penalty",
      { min: 0.5, max: 3 },
      defaults.audioRepetitionPenalty,
    ),
  };
}

function readLimits(fields: Fields, defaults: ModelLimits): ModelLimits {
  return {
    segmentTokens: fields.integer("segment_tokens", 8, 4096, defaults.segmentTokens),
    segmentWords: fields.integer("segment_words", 4, 4096, defaults.segmentWords),
    firstSegmentTokens: fields.integer(
      "first_segment_tokens",
      4,
      4096,
      defaults.firstSegmentTokens,
    ),
    maxFrames: fields.integer("max_frames", 8, 10_000, defaults.maxFrames),
    maxReferenceFrames: fields.integer(
      "max_reference_frames",
      1,
      10_000,
      defaults.maxReferenceFrames,
    ),
  };
}

/**
 * The file's fields; undefined if the folder has no such file.
 * @throws ModelError `model_invalid` if it is not a JSON object
 */
export async function settingsFields(folder: string): Promise<Fields | undefined> {
  const path = join(folder, SETTINGS_FILE);
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  return exists ? Fields.fromFile(path, SETTINGS_FILE, "model_invalid") : undefined;
}

/**
 * What every family reads from the file; the defaults stand where it or a field is absent.
 * @throws ModelError `model_invalid` naming the field and what is allowed
 */
export function readSettings(fields: Fields | undefined, defaults: ModelSettings): ModelSettings {
  if (fields === undefined) return defaults;
  return {
    name: fields.string("name", defaults.name),
    description: fields.string("description", defaults.description),
    languages: fields.strings("languages", defaults.languages),
    defaultVoice: fields.has("default_voice")
      ? fields.string("default_voice")
      : defaults.defaultVoice,
    sampling: fields.has("sampling")
      ? readSampling(fields.object("sampling"), defaults.sampling)
      : defaults.sampling,
    limits: fields.has("limits")
      ? readLimits(fields.object("limits"), defaults.limits)
      : defaults.limits,
  };
}
