/** The model families that Sonant speaks. Adding one: its adapter file, and its line in `ADAPTERS`. */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { ModelError } from "./errors.ts";
import { KNOWN_MODELS } from "./hub/known-models.ts";
import { mossTtsNano } from "./moss-tts-nano.ts";
import { mossTtsNanoFinetune } from "./moss-tts-nano-finetune.ts";
import { settingsFields } from "./settings.ts";
import type { FolderFacts, Model, ModelAdapter } from "./types.ts";

export const ADAPTERS: readonly ModelAdapter[] = [mossTtsNano, mossTtsNanoFinetune];

/** The `pipeline` of a deploy file that leaves the family to the folder. */
const AUTO = "auto";

const families = (): string => ADAPTERS.map(({ family }) => family).join(", ");

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
 * What the adapters look at.
 * @throws ModelError `model_not_found` or `model_invalid` if a config is missing or no JSON
 */
export async function folderFacts(folder: string): Promise<FolderFacts> {
  const lm = await readConfig(folder, "lm/config.json");
  const codec = await readConfig(folder, "codec/config.json");
  return { lm, codec, lmFiles: new Set(await readdir(join(folder, "lm"))) };
}

async function checkFolder(folder: string): Promise<void> {
  const exists = await stat(folder).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  if (exists) return;
  const known = KNOWN_MODELS.find(({ id }) => id === basename(folder));
  const advice = known === undefined ? "" : `; get it with: npm run model -- pull ${known.id}`;
  throw new ModelError("model_not_found", "folder", `there is no model folder ${folder}${advice}`);
}

const adapterNamed = (name: string): ModelAdapter | undefined =>
  ADAPTERS.find(({ family }) => family === name);

function adapterOfPipeline(pipeline: string): ModelAdapter {
  const adapter = adapterNamed(pipeline);
  if (adapter !== undefined) return adapter;
  throw new ModelError(
    "model_unsupported",
    "pipeline",
    `pipeline must be one of: ${AUTO}, ${families()}; found ${pipeline}`,
  );
}

/**
 * Finds the family of a model folder: the one that was asked for, else the one that sonant.json names, else the one that
 * recognises `lm/config.json`, `codec/config.json` and the names of the files in `lm/`.
 * @param pipeline a family's name, or `auto`
 * @throws ModelError `model_not_found`, `model_invalid` or `model_unsupported`
 */
export async function detectModel(folder: string, pipeline: string = AUTO): Promise<ModelAdapter> {
  await checkFolder(folder);
  if (pipeline !== AUTO) return adapterOfPipeline(pipeline);
  const settings = await settingsFields(folder);
  if (settings?.has("family")) {
    return (
      adapterNamed(settings.string("family")) ?? settings.fail("family", `one of: ${families()}`)
    );
  }
  const facts = await folderFacts(folder);
  const adapter = ADAPTERS.find((candidate) => candidate.recognises(facts));
  if (adapter === undefined) {
    throw new ModelError(
      "model_unsupported",
      "model_type",
      `${folder} holds no model of a known family; known: ${families()}`,
    );
  }
  return adapter;
}

/**
 * Detects and loads a model folder, weights excepted: those are the engine's.
 * @param pipeline as `detectModel` takes it
 * @throws ModelError as `detectModel` does, or naming the field that does not fit
 */
export async function loadModel(folder: string, pipeline: string = AUTO): Promise<Model> {
  return (await detectModel(folder, pipeline)).load(folder);
}
