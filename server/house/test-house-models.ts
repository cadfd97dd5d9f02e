/** Model folders and configurations for tests of several models: the starter, another one made of it, and a broken one. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config, ModelConfig } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";

const ROOT = join(import.meta.dirname, "../..");
const STARTER = join(ROOT, "native/models/starter");

export interface TestFolders {
  /** The weights of the starter under another name, with two of its voices, another default and another temperature. */
  readonly second: string;
  /** Holds no model. */
  readonly broken: string;
  /** For uploaded voices. */
  readonly voices: string;
  remove(): void;
}

export function testFolders(): TestFolders {
  const folder = mkdtempSync(join(tmpdir(), "sonant-models-"));
  const second = join(folder, "second");
  cpSync(STARTER, second, { recursive: true });
  for (const file of readdirSync(join(second, "voices"))) {
    if (!["otto.json", "mia.json"].includes(file)) rmSync(join(second, "voices", file));
  }
  const about = JSON.parse(readFileSync(join(second, "sonant.json"), "utf8"));
  const sampling = { ...about.sampling, audio_temperature: 0.8 };
  const own = { name: "Second", description: "Another one.", default_voice: "otto", sampling };
  writeFileSync(join(second, "sonant.json"), JSON.stringify({ ...about, ...own }));
  // Another file in the codec's folder is another codec to those who keep codes.
  writeFileSync(join(second, "codec/NOTE"), "second");
  const broken = join(folder, "broken");
  mkdirSync(broken);
  const voices = join(folder, "uploads");
  return { second, broken, voices, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** What the file of a model named `name` would decide. */
export function modelConfig(
  config: Config,
  name: string,
  change: Partial<ModelConfig>,
): ModelConfig {
  const { engine, sampling, chunks, output } = config;
  const voices = { default: undefined, openaiMap: {} };
  const shared = {
    source: `${name}.yaml`,
    pipeline: "auto",
    engine,
    sampling,
    chunks,
    output,
    voices,
  };
  return { ...shared, model: STARTER, servedModelNames: [name], openaiAliases: [], ...change };
}

/** The shipped configuration with other models beside the first. */
export async function severalModels(
  others: (config: Config) => readonly ModelConfig[],
  models: Partial<Config["models"]> = {},
): Promise<Config> {
  const environment = { SONANT_DEVICE: "cpu", SONANT_THREADS: "1" };
  const { config } = await loadConfig({ environment, root: ROOT });
  return { ...config, models: { ...config.models, others: others(config), ...models } };
}
