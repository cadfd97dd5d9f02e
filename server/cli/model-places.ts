/** What the commands around pulled models share: where models lie, questions, and how mistakes end. */
import { existsSync, realpathSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { ModelError } from "../models/errors.ts";
import { HubError } from "../models/hub/errors.ts";
import { KNOWN_MODELS } from "../models/hub/known-models.ts";
import { ROOT, usage } from "./native-tool.ts";

export const STARTER = join(ROOT, "native/models/starter");

/** Where a model is pulled to if nothing else is said; the deploy files expect it there. */
export function defaultFolder(id: string): string {
  return follow(join(ROOT, "native/models", id));
}

/** A folder as it is written on the command line. */
export function givenFolder(path: string): string {
  return follow(resolve(path));
}

/** The folder itself where the path is a link to it: what replaces it has to lie on the same disk. */
function follow(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** A known model's folder, or one that is named by its path. @throws HubError `model_unknown` */
export function folderOf(nameOrPath: string): string {
  if (nameOrPath === "starter") return STARTER;
  if (KNOWN_MODELS.some(({ id }) => id === nameOrPath)) return defaultFolder(nameOrPath);
  if (existsSync(nameOrPath)) return givenFolder(nameOrPath);
  const ids = ["starter", ...KNOWN_MODELS.map(({ id }) => id)].join(", ");
  throw new HubError(
    "model_unknown",
    `there is neither a model nor a folder '${nameOrPath}'; known models: ${ids}`,
  );
}

/** A path for people: relative where that is shorter. */
export function shown(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") || near === "" ? path : near;
}

/**
 * Asks at the terminal. Where nobody can answer, the command ends with status 2.
 * @returns whether the answer is yes
 */
export async function agreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    usage("Nobody can be asked here, so nothing was done; --yes agrees beforehand.");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/** Runs a command; what is wrong ends as one sentence and a status. */
export async function runCommand(work: () => Promise<number>, help: string): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    const { code, message, stack } = error as NodeJS.ErrnoException;
    if (code?.startsWith("ERR_PARSE_ARGS")) usage(`${message}\n${help}`);
    const isExpected = error instanceof HubError || error instanceof ModelError;
    process.stderr.write(`${isExpected || code !== undefined ? message : stack}\n`);
    process.exitCode = 1;
  }
}
