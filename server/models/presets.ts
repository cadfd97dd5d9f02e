/** The voices that come with a model: one JSON file each in `voices/`, or the one that was trained into it. */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { ModelError } from "./errors.ts";
import { Fields } from "./fields.ts";
import { type ModelSettings, SETTINGS_FILE } from "./settings.ts";
import type { Preset, VoiceCodes } from "./types.ts";

/** What the codes of a voice have to fit. */
export interface CodeShape {
  readonly books: number;
  /** Codes are 0 to `codebookSize` - 1. */
  readonly codebookSize: number;
  readonly maxFrames: number;
}

/** Hertz; wider than any voice, so that only what is no pitch at all is refused. */
const PITCH = { min: 20, max: 2000 };
const NAME_FORM = "1 to 64 letters, digits, spaces, dots, - or _";
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u;

/**
 * Checks rows of codes and packs them.
 * @throws ModelError naming row and column of the first code that does not fit
 */
export function packCodes(rows: unknown, shape: CodeShape, source: string): VoiceCodes {
  const fail = (field: string, allowed: string): never => {
    throw new ModelError("preset_invalid", field, `${source}: ${field} must be ${allowed}`);
  };
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > shape.maxFrames) {
    return fail("codes", `a list of 1 to ${shape.maxFrames} frames`);
  }
  const data = new Uint16Array(rows.length * shape.books);
  for (const [t, row] of (rows as readonly unknown[]).entries()) {
    if (!Array.isArray(row) || row.length !== shape.books) {
      return fail(`codes[${t}]`, `a list of ${shape.books} codes`);
    }
    for (const [k, code] of (row as readonly unknown[]).entries()) {
      const fits = typeof code === "number" && Number.isInteger(code) && code >= 0;
      if (!fits || code >= shape.codebookSize) {
        return fail(`codes[${t}][${k}]`, `a whole number from 0 to ${shape.codebookSize - 1}`);
      }
      data[t * shape.books + k] = code;
    }
  }
  return { frames: rows.length, books: shape.books, data };
}

/**
 * Reads `voices/*.json` of a model folder, sorted by name. No folder means no presets.
 *
 * @param framesPerSecond of the codec; a voice made with another rate is refused
 * @throws ModelError `preset_invalid` naming file and field
 */
export async function loadPresets(
  folder: string,
  shape: CodeShape,
  framesPerSecond: number,
): Promise<ReadonlyMap<string, Preset>> {
  const voices = join(folder, "voices");
  const files = (await readdir(voices).catch(() => [])).filter((file) => file.endsWith(".json"));
  const presets = new Map<string, Preset>();
  for (const file of files.sort()) {
    const source = `voices/${file}`;
    const fields = await Fields.fromFile(join(voices, file), source, "preset_invalid");
    const name = fields.string("name", basename(file, ".json"));
    if (!NAME.test(name)) fields.fail("name", NAME_FORM);
    if (presets.has(name)) fields.fail("name", "a name that no other voice has");
    fields.expect("frame_rate", framesPerSecond);
    fields.expect("n_vq", shape.books);
    presets.set(name, {
      name,
      description: fields.string("description", name),
      language: fields.has("language") ? fields.string("language") : "",
      transcript: fields.has("prompt_text") ? fields.string("prompt_text") : "",
      pitchHz: fields.has("pitch") ? fields.number("pitch", PITCH) : undefined,
      codes: packCodes(fields.raw("codes"), shape, source),
    });
  }
  return presets;
}

/**
 * The voice of a model that follows no reference; its name is the `default_voice` of sonant.json, or `default`.
 * @throws ModelError `model_invalid` if that is no name
 */
export function trainedVoice(settings: ModelSettings): Preset {
  const { defaultVoice: name = "default", description, languages } = settings;
  if (!NAME.test(name)) {
    const message = `${SETTINGS_FILE}: default_voice must be ${NAME_FORM}; found ${JSON.stringify(name)}`;
    throw new ModelError("model_invalid", "default_voice", message);
  }
  const [language = "", ...others] = languages;
  return {
    name,
    description,
    language: others.length === 0 ? language : "",
    transcript: "",
    codes: undefined,
  };
}
