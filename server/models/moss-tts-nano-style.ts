/**
 * How a checkpoint of the MOSS-TTS-Nano architecture was taught to read its prompt: `prompt` in sonant.json. The
 * released model reads the template of spec 4.2; a finetune reads what its training data held (spec 10.6).
 */
import type { Fields } from "./fields.ts";

/** Lines of the template between the reference and the text, in their order: key in sonant.json, name in the prompt. */
export const PROMPT_LINES = [
  ["instruction", "Instruction"],
  ["tokens", "Tokens"],
  ["quality", "Quality"],
  ["sound_event", "Sound Event"],
  ["ambient_sound", "Ambient Sound"],
  ["language", "Language"],
] as const;

export interface PromptStyle {
  /** Whether `<|im_end|>` closes the user's turn. */
  readonly imEnd: boolean;
  /** Whether the model follows a reference. False: it has one voice, which was trained into it. */
  readonly references: boolean;
  /** What stands on a line of the template; lines that are left out say `None`. */
  readonly lines: Readonly<Partial<Record<(typeof PROMPT_LINES)[number][0], string>>>;
}

/** The lines are part of every prefix, so they are kept short, in characters. */
const MAX_LINE = 500;

/** @throws ModelError `model_invalid` naming the field and what is allowed */
export function readPromptStyle(settings: Fields | undefined, defaults: PromptStyle): PromptStyle {
  if (!settings?.has("prompt")) return defaults;
  const fields = settings.object("prompt");
  const lines = PROMPT_LINES.flatMap(([key]) => {
    if (!fields.has(key)) return [];
    const line = fields.string(key);
    if (line.length > MAX_LINE) fields.fail(key, `a text of 1 to ${MAX_LINE} characters`);
    return [[key, line] as const];
  });
  return {
    imEnd: fields.boolean("im_end", defaults.imEnd),
    references: fields.boolean("references", defaults.references),
    lines: { ...defaults.lines, ...Object.fromEntries(lines) },
  };
}
