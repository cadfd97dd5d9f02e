/** Finds and reads the deploy file and the environment. The only file of this folder that touches the disk. */
import { readFile } from "node:fs/promises";
import { dirname, resolve as resolvePath } from "node:path";
import { parseDocument } from "yaml";
import { checkFile } from "./check.ts";
import { type Config, deepFreeze } from "./config.ts";
import { applyEnvironment, ConfigError, type Environment, ofEveryModel } from "./environment.ts";
import { keysWithoutEffect, problemsTogether, resolveOthers } from "./other-models.ts";
import { resolve } from "./resolve.ts";
import type { DeployFile } from "./schema.ts";

export const DEFAULT_FILE = "deploy/starter.yaml";

export interface LoadOptions {
  /** From `--config`; goes before SONANT_CONFIG, which goes before deploy/starter.yaml. */
  readonly file?: string | undefined;
  /** Deploy files of models that are served beside those that the file names. */
  readonly more?: readonly string[];
  readonly environment: Environment;
  /** Root of the project, and of relative paths on the command line and in the environment. */
  readonly root: string;
}

export interface Loaded {
  readonly config: Config;
  readonly warnings: readonly string[];
}

type Tree = Record<string, unknown>;

async function readTree(path: string): Promise<Tree> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new ConfigError(path, ["there is no such file, or it cannot be read"]);
  }
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    throw new ConfigError(
      path,
      document.errors.map((error) => error.message.trim()),
    );
  }
  const tree: unknown = document.toJS();
  if (typeof tree !== "object" || tree === null || Array.isArray(tree)) {
    throw new ConfigError(path, ["a deploy file is a table of keys and values"]);
  }
  return tree as Tree;
}

function platformOf(environment: Environment): "cpu" | "cuda" {
  const platform = environment.SONANT_PLATFORM || "cpu";
  if (platform === "cpu" || platform === "cuda") return platform;
  throw new ConfigError("SONANT_PLATFORM", [`'${platform}' is neither cpu nor cuda`]);
}

/** The file with the stage settings of one platform put over its own. */
function onPlatform(tree: Tree, platform: "cpu" | "cuda"): Tree {
  const platforms = tree.platforms as Record<string, { stages?: Tree[] } | null> | null | undefined;
  const changes = platforms?.[platform]?.stages;
  if (!Array.isArray(changes) || !Array.isArray(tree.stages)) return tree;
  const stages = (tree.stages as Tree[]).map((stage) => ({
    ...stage,
    ...changes.find((change) => change?.stage_id === stage?.stage_id),
  }));
  return { ...tree, stages };
}

function keysFrom(environment: Environment, name: string): string[] {
  return (environment[name] ?? "")
    .split(",")
    .map((key) => key.trim())
    .filter(Boolean);
}

interface Read {
  readonly source: string;
  readonly file: DeployFile;
  readonly warnings: readonly string[];
}

/** One deploy file, with platform and environment put over it, checked. */
async function readFileAt(
  source: string,
  { environment, root }: Pick<LoadOptions, "environment" | "root">,
): Promise<Read> {
  const written = onPlatform(await readTree(source), platformOf(environment));
  const { tree, warnings } = applyEnvironment(written, environment, (path) =>
    resolvePath(root, path),
  );
  const checked = checkFile(tree);
  if (!checked.ok) throw new ConfigError(source, checked.problems);
  return { source, file: checked.file, warnings: [...checked.warnings, ...warnings] };
}

/** The files of the other models: those that the first one names, then those that the caller offers. */
async function readOthers(first: Read, { more = [], environment, root }: LoadOptions) {
  const inFile = first.file.models.files.map((path) => resolvePath(dirname(first.source), path));
  const offered = more.map((path) => resolvePath(root, path));
  const sources = [...inFile, ...offered.filter((path) => !inFile.includes(path))];
  const own = ofEveryModel(environment);
  return Promise.all(sources.map((source) => readFileAt(source, { environment: own, root })));
}

/**
 * Loads the configuration: file, then platform, then environment, and the same for the files of other models; checked,
 * resolved and frozen.
 * @throws ConfigError with every problem that was found
 */
export async function loadConfig(options: LoadOptions): Promise<Loaded> {
  const { file, environment, root } = options;
  const source = resolvePath(root, file ?? (environment.SONANT_CONFIG || DEFAULT_FILE));
  const first = await readFileAt(source, { environment, root });
  const others = await readOthers(first, options);
  const problems = problemsTogether(first, others);
  if (problems.length > 0) throw new ConfigError(source, problems);
  const config = resolve(first.file, resolveOthers(first, others), {
    source,
    platform: platformOf(environment),
    apiKeys: keysFrom(environment, first.file.server.api_key_env),
    resolvePath: (path) => resolvePath(dirname(source), path),
  });
  const warnings = others.flatMap((other) => [
    ...other.warnings.filter((warning) => !first.warnings.includes(warning)),
    ...keysWithoutEffect(first, other),
  ]);
  return { config: deepFreeze(config), warnings: [...first.warnings, ...warnings] };
}
