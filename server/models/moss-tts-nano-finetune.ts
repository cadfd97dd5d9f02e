/**
 * Finetunes of MOSS-TTS-Nano: `lm/` is a checkpoint folder as upstream's finetuning writes it, `codec/` the released
 * codec, which is not trained. Its training data leaves out the `<|im_end|>` before the assistant's turn (spec 10.6), so
 * the prompt does too; sonant.json says it where a finetune was trained otherwise.
 */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "./errors.ts";
import { RELEASED } from "./moss-tts-nano.ts";
import { isNano, LORA_FILE, wasFinetuned } from "./moss-tts-nano-config.ts";
import { loadNanoModel, type NanoFamily } from "./moss-tts-nano-model.ts";
import type { ModelAdapter } from "./types.ts";

const FINETUNE: NanoFamily = {
  ...RELEASED,
  family: "moss_tts_nano_finetune",
  settings: { ...RELEASED.settings, description: "A finetune of MOSS-TTS-Nano" },
  style: { ...RELEASED.style, imEnd: false },
};

/** A LoRA adapter holds differences to weights that are elsewhere; nothing here puts the two together. */
async function refuseLora(folder: string): Promise<void> {
  const isThere = await access(join(folder, "lm", LORA_FILE)).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  throw new ModelError(
    "model_invalid",
    `lm/${LORA_FILE}`,
    `lm/${LORA_FILE}: lm must be a whole checkpoint; found a LoRA adapter. Take the folder that finetuning with --save-merged-lora-checkpoint writes beside it`,
  );
}

export const mossTtsNanoFinetune: ModelAdapter = {
  family: FINETUNE.family,
  recognises: (folder) => isNano(folder) && wasFinetuned(folder),
  async load(folder) {
    await refuseLora(folder);
    return loadNanoModel(folder, FINETUNE);
  },
};
