/** The model families that Sonant speaks. Adding one: its adapter file, and its line in `ADAPTERS`. */
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { ModelError } from "./errors.ts";
import { KNOWN_MODELS } from "./hub/known-models.ts";
import { mossTtsNano } from "./moss-tts-nano.ts";
import type { Model, ModelAdapter } from "./types.ts";

const ADAPTERS: readonly ModelAdapter[] = [mossTtsNano];

async function readConfig(folder: string, name: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(join(folder, name), "utf8");
  } catch {
    throw new ModelError(
      "model_not_found",
      name,
      `${folder} is not a model folder: ${name} is missing`,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelError("model_invalid", name, `${name} is not valid JSON`);
  }
}

/**
 * Finds the family of a model folder (`lm/config.json` and `codec/config.json` in it).
 * @throws ModelError `model_not_found`, `model_invalid` or `model_unsupported`
 */
export async function detectModel(folder: string): Promise<ModelAdapter> {
  const exists = await stat(folder).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  if (!exists) {
    const known = KNOWN_MODELS.find(({ id }) => id === basename(folder));
    const advice = known === undefined ? "" : `; get it with: npm run model -- pull ${known.id}`;
    throw new ModelError(
      "model_not_found",
      "folder",
      `there is no model folder ${folder}${advice}`,
    );
  }
  const lm = await readConfig(folder, "lm/config.json");
  const codec = await readConfig(folder, "codec/config.json");
  const adapter = ADAPTERS.find((candidate) => candidate.recognises(lm, codec));
  if (adapter === undefined) {
    const families = ADAPTERS.map(({ family }) => family).join(", ");
    throw new ModelError(
      "model_unsupported",
      "model_type",
      `${folder} holds no model of a known family; known: ${families}`,
    );
  }
  return adapter;
}

/** Detects and loads a model folder, weights excepted: those are the engine's. */
export async function loadModel(folder: string): Promise<Model> {
  return (await detectModel(folder)).load(folder);
}
