/**
 * Which models a server begins with. A deploy file that is named decides alone; without one, the starter and the models that
 * were pulled are all there, each by its own deploy file, and `--model` says which of them speaks first.
 */
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Environment } from "../config/environment.ts";
import { DEFAULT_FILE } from "../config/load.ts";
import { pulledModels, usualFolder } from "../models/hub/pulled-models.ts";

/** Nothing is there under the name that was given. */
export class UnknownModel extends Error {}

export interface Wish {
  /** Root of the project. */
  readonly root: string;
  /** Deploy file of `--config`. */
  readonly config: string | undefined;
  /** Name or folder of `--model`. */
  readonly model: string | undefined;
  readonly environment: Environment;
}

export interface Choice {
  /** Deploy file to begin with; undefined: the one that the environment or the default says. */
  readonly file: string | undefined;
  /** Deploy files of the models beside it. */
  readonly more: readonly string[];
  /** Variables that replace what the environment says; an undefined one is unset. */
  readonly variables: Environment;
}

interface Known {
  /** Name on the command line. */
  readonly id: string;
  readonly folder: string;
  readonly file: string;
}

const STARTER = "starter";

/** @throws UnknownModel naming those that are there */
export async function chooseModels({ root, config, model, environment }: Wish): Promise<Choice> {
  const known: Known[] = [
    { id: STARTER, folder: usualFolder(root, { id: STARTER }), file: join(root, DEFAULT_FILE) },
    ...(await pulledModels(root)).map(({ id }) => {
      return { id, folder: usualFolder(root, { id }), file: join(root, `deploy/${id}.yaml`) };
    }),
  ];
  const folder = model === undefined ? undefined : await folderOf(model, known);
  if (config || environment.SONANT_CONFIG) {
    return {
      file: config,
      more: [],
      variables: folder === undefined ? {} : { SONANT_MODEL: folder },
    };
  }
  // Whoever names a folder by the environment has set the server up, and is not offered anything.
  if (folder === undefined && environment.SONANT_MODEL) {
    return { file: undefined, more: [], variables: {} };
  }
  const first = folder === undefined ? known[0] : known.find((one) => one.folder === folder);
  const more = known.filter((one) => one !== first).map(({ file }) => file);
  if (first !== undefined)
    return { file: first.file, more, variables: { SONANT_MODEL: undefined } };
  const names = environment.SONANT_MODEL_NAMES || basename(folder ?? "");
  return {
    file: undefined,
    more,
    variables: { SONANT_MODEL: folder, SONANT_MODEL_NAMES: names },
  };
}

/** The folder behind what was written: a folder that is there, else the name of a known model. */
async function folderOf(written: string, known: readonly Known[]): Promise<string> {
  const folder = resolve(written);
  const isFolder = await stat(folder).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  if (isFolder) return folder;
  const named = known.find(({ id }) => id === written);
  if (named !== undefined) return named.folder;
  const ids = known.map(({ id }) => id).join(", ");
  const advice = `a folder, or the name of one that is here: ${ids}`;
  throw new UnknownModel(`There is no model '${written}'. --model takes ${advice}.`);
}
