/** `npm run model -- list | verify | remove`: what models are here, whether they are whole, and how one is got rid of. */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { HubError } from "../models/hub/errors.ts";
import { KNOWN_MODELS } from "../models/hub/known-models.ts";
import { withFolderLock } from "../models/hub/lock.ts";
import {
  findFaults,
  foreignFiles,
  MANIFEST_FILE,
  type Manifest,
  quickFaults,
  readManifest,
} from "../models/hub/manifest.ts";
import { bytesInterrupted, placesOf, pulledModel } from "../models/hub/places.ts";
import {
  agreed,
  defaultFolder,
  folderOf,
  givenFolder,
  runCommand,
  STARTER,
  shown,
} from "./model-places.ts";
import { size, TransferProgress } from "./model-progress.ts";
import { usage } from "./native-tool.ts";

export const CARE_USAGE = `
npm run model -- list [FOLDER]...
npm run model -- verify NAME|FOLDER
npm run model -- remove NAME|FOLDER [--yes]`;

const bytesOf = ({ files }: Manifest) => files.reduce((sum, file) => sum + file.size, 0);

/** Says of each known model, and of the folders that are named, what is there. */
export function listCommand(args: string[]): Promise<void> {
  return runCommand(async () => {
    const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
    const rows = [
      row("starter", STARTER, existsSync(STARTER) ? "part of the repository" : "missing"),
    ];
    for (const { id } of KNOWN_MODELS) {
      const folder = defaultFolder(id);
      rows.push(row(id, folder, await stateOf(folder, `npm run model -- pull ${id}`)));
    }
    for (const path of positionals) {
      const folder = givenFolder(path);
      rows.push(row("", folder, await stateOf(folder, "nothing was pulled to it")));
    }
    process.stdout.write(`${rows.join("\n")}\n`);
    return 0;
  }, CARE_USAGE);
}

const row = (id: string, folder: string, state: string) =>
  `${id.padEnd(14)}  ${shown(folder).padEnd(32)}  ${state}`;

async function stateOf(folder: string, advice: string): Promise<string> {
  const places = placesOf(folder);
  const interrupted = await bytesInterrupted(places);
  const rest = interrupted > 0 ? `; ${size(interrupted)} of an interrupted pull` : "";
  try {
    const manifest = await pulledModel(folder);
    if (manifest === undefined) return `not here (${advice})${rest}`;
    const faults = await quickFaults(folder, manifest);
    const [first] = faults;
    const state =
      first === undefined
        ? "whole by names and sizes"
        : `DAMAGED: ${first.path} ${first.problem}${faults.length > 1 ? `, and ${faults.length - 1} more` : ""}`;
    const commits = manifest.repositories.map(
      ({ part, commit }) => `${part} ${commit.slice(0, 12)}`,
    );
    return `${size(bytesOf(manifest))}, ${manifest.source}: ${commits.join(", ")}; ${state}${rest}`;
  } catch (error) {
    if (error instanceof HubError) return error.message;
    throw error;
  }
}

/** Compares every file with the manifest; status 1 if one is wrong. */
export function verifyCommand(args: string[]): Promise<void> {
  return runCommand(async () => {
    const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
    const folder = onlyFolder(positionals);
    const manifest = await readManifest(folder);
    if (manifest === undefined) throw new HubError("manifest_invalid", withoutManifest(folder));
    const progress = new TransferProgress(bytesOf(manifest), process.stderr);
    let before = 0;
    const faults = await findFaults(folder, manifest, (path, bytes) => {
      if (process.stderr.isTTY) progress.update(before, path);
      before += bytes;
    }).finally(() => progress.clear());
    for (const { path, problem } of faults) process.stdout.write(`${path} ${problem}\n`);
    for (const path of await foreignFiles(folder, manifest)) {
      process.stdout.write(`${path} is not in the manifest\n`);
    }
    const count = manifest.files.length;
    const verdict =
      faults.length === 0
        ? `${count} files, ${size(bytesOf(manifest))}: all as they were pulled`
        : `${faults.length} of ${count} files are wrong; remove the model and pull it again`;
    process.stdout.write(`${shown(folder)}: ${verdict}\n`);
    return faults.length === 0 ? 0 : 1;
  }, CARE_USAGE);
}

function withoutManifest(folder: string): string {
  return folder === STARTER
    ? "the starter is part of the repository, which says by itself whether it was changed"
    : `${shown(folder)} has no ${MANIFEST_FILE}, so there is nothing to compare it with`;
}

/** Removes a pulled model and what an interrupted pull left. */
export function removeCommand(args: string[]): Promise<void> {
  return runCommand(async () => {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { yes: { type: "boolean", short: "y", default: false } },
    });
    const folder = onlyFolder(positionals);
    if (folder === STARTER) {
      throw new HubError("folder_taken", "the starter is part of the repository and stays");
    }
    const places = placesOf(folder);
    const manifest = await pulledModel(folder);
    const interrupted = await bytesInterrupted(places);
    if (manifest === undefined && interrupted === 0) {
      process.stdout.write(`${shown(folder)}: there is nothing to remove\n`);
      return 0;
    }
    const bytes = (manifest === undefined ? 0 : bytesOf(manifest)) + interrupted;
    const foreign = manifest === undefined ? [] : await foreignFiles(folder, manifest);
    const others = foreign.length > 0 ? `, with ${foreign.join(", ")}, which was not pulled` : "";
    process.stdout.write(`${shown(folder)}: ${size(bytes)}${others}\n`);
    if (!values.yes && !(await agreed("Remove it?"))) {
      process.stderr.write("Nothing was removed.\n");
      return 2;
    }
    await withFolderLock(places.lock, async () => {
      // Gone in one instant; what is left to delete is no model any more.
      if (manifest !== undefined) {
        await rm(places.workspace, { recursive: true, force: true });
        await rename(folder, places.workspace);
      }
      await rm(places.workspace, { recursive: true, force: true });
    });
    process.stdout.write("Removed.\n");
    return 0;
  }, CARE_USAGE);
}

function onlyFolder(positionals: readonly string[]): string {
  const [name, ...rest] = positionals;
  if (name === undefined || rest.length > 0) usage(CARE_USAGE);
  return folderOf(name);
}
