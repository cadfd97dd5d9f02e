/** From downloaded files to a model folder: weights converted where they have to be, voices, settings, and last the manifest. */
import { copyFile, link, mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { loadModel } from "../registry.ts";
import { SETTINGS_FILE } from "../settings.ts";
import { fileSha256 } from "./digest.ts";
import { HubError } from "./errors.ts";
import { type KnownModel, MAPPED_WEIGHTS, type Part } from "./known-models.ts";
import { allFiles, MANIFEST_FILE, type Manifest } from "./manifest.ts";
import type { PlannedFile, PullPlan } from "./plan.ts";
import { type OfficialVoices, officialVoices } from "./voices.ts";

/** The native side, which reads weights; the command line brings it. */
export interface WeightTools {
  /**
   * Makes a checkpoint folder that the engine maps out of one with other files of weights.
   * @throws Error when they cannot be read
   */
  convert(from: string, to: string): Promise<void>;
  /** Looks at every tensor of a model folder. @throws Error naming the one that does not fit */
  check(folder: string): Promise<void>;
}

/** What was made, for people. */
export interface Assembled {
  readonly manifest: Manifest;
  readonly voices: OfficialVoices;
}

/**
 * Builds the stage out of the downloads. Whatever was there of it is thrown away first; without its manifest, which is
 * written last, it is no model to anybody.
 * @param hashes SHA-256 of each downloaded file, by its path on the disk
 * @throws HubError `weights_unreadable` or `voices_invalid`, ModelError for configs that do not fit
 */
export async function assemble(
  plan: PullPlan,
  hashes: ReadonlyMap<string, string>,
  tools: WeightTools,
): Promise<Assembled> {
  const { stage } = plan.places;
  await rm(stage, { recursive: true, force: true });
  await mkdir(stage, { recursive: true });
  const known = new Map<string, string>();
  for (const part of ["lm", "codec"] as const) await assemblePart(plan, part, hashes, known, tools);
  const voices = await writeVoices(plan);
  await writeSettings(stage, plan.choices.model, voices);
  await loadModel(stage);
  await tools.check(stage).catch((error: Error) => {
    throw new HubError("weights_unreadable", `the weights do not fit: ${error.message}`);
  });
  return { manifest: await writeManifest(plan, known, voices), voices };
}

/** @param known gets the hashes of files that were taken as they are, by their path in the stage */
async function assemblePart(
  plan: PullPlan,
  part: Part,
  hashes: ReadonlyMap<string, string>,
  known: Map<string, string>,
  tools: WeightTools,
): Promise<void> {
  const folder = join(plan.places.stage, part);
  await mkdir(folder, { recursive: true });
  const files = plan.files.filter((file) => file.part === part);
  const mapped = files.some(({ file }) => file.path === MAPPED_WEIGHTS);
  if (!mapped) {
    const from = join(plan.places.downloads, part);
    await tools.convert(from, folder).catch((error: Error) => {
      const message = `the weights of ${part} cannot be converted: ${error.message}`;
      throw new HubError("weights_unreadable", message);
    });
  }
  for (const planned of files) {
    const isWeights = /\.(safetensors|bin)(\.index\.json)?$/.test(planned.file.path);
    if (isWeights && !mapped) continue;
    const name = `${part}/${planned.file.path}`;
    await place(planned, join(plan.places.stage, name));
    const hash = hashes.get(planned.target);
    if (hash !== undefined) known.set(name, hash);
  }
}

/** The same file under a second name, so that a pull which fails later has not lost it; a copy where links are unknown. */
async function place({ target }: PlannedFile, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await rm(to, { force: true });
  await link(target, to).catch(() => copyFile(target, to));
}

async function writeVoices({ choices, files, places }: PullPlan): Promise<OfficialVoices> {
  const list = files.find(({ part }) => part === "voices");
  if (list === undefined) return { voices: [], leftOut: [] };
  const found = officialVoices(await readFile(list.target, "utf8"), choices.allVoices);
  const folder = join(places.stage, "voices");
  await mkdir(folder);
  for (const { name, json } of found.voices) await writeFile(join(folder, `${name}.json`), json);
  return found;
}

/** Languages, sampling and limits are those of the family, which are the official ones. */
async function writeSettings(
  stage: string,
  model: KnownModel,
  { voices }: OfficialVoices,
): Promise<void> {
  const preferred = voices.find(({ name }) => name === model.defaultVoice) ?? voices[0];
  const settings = {
    name: model.name,
    description: model.description,
    ...(preferred === undefined ? {} : { default_voice: preferred.name }),
  };
  await writeFile(join(stage, SETTINGS_FILE), `${JSON.stringify(settings, null, 2)}\n`);
}

async function writeManifest(
  plan: PullPlan,
  known: ReadonlyMap<string, string>,
  voices: OfficialVoices,
): Promise<Manifest> {
  const { stage } = plan.places;
  const files: { path: string; size: number; sha256: string }[] = [];
  for (const path of await allFiles(stage)) {
    const file = join(stage, path);
    await sync(file);
    const { size } = await stat(file);
    files.push({ path, size, sha256: known.get(path) ?? (await fileSha256(file)) });
  }
  const manifest: Manifest = {
    version: 1,
    model: plan.choices.model.id,
    source: plan.source,
    pulled_at: new Date().toISOString(),
    repositories: plan.snapshots.map(({ part, snapshot }) => ({
      part,
      repository: snapshot.repository,
      revision: snapshot.revision,
      commit: snapshot.commit,
      licence: snapshot.licence ?? null,
    })),
    voices_left_out: voices.leftOut.map(({ name }) => name),
    files,
  };
  const path = join(stage, MANIFEST_FILE);
  await writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`);
  await sync(path);
  await sync(stage);
  return manifest;
}

/** Forces a file, or the entries of a folder, to the disk. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
