/** Several deploy files for one server: what has to fit together, and what each of them decides. Touches no disk. */
import { dirname, resolve as resolvePath } from "node:path";
import type { ModelConfig } from "./config.ts";
import { resolveModel } from "./resolve.ts";
import type { DeployFile } from "./schema.ts";

/** A deploy file that was checked, and where it lies. */
export interface ReadFile {
  readonly source: string;
  readonly file: DeployFile;
}

/** What is wrong with files that are right each by itself: sentences that name the key. */
export function problemsTogether(first: ReadFile, others: readonly ReadFile[]): string[] {
  const { load, max_loaded: most } = first.file.models;
  const problems: string[] = [];
  const owners = new Map<string, string>();
  for (const { source, file } of [first, ...others]) {
    for (const name of new Set(file.served_model_names)) {
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, source);
      else {
        problems.push(
          `served_model_names: '${name}' stands in ${owner} and in ${source}; a name has to belong to one model`,
        );
      }
    }
  }
  const all = 1 + others.length;
  if (load === "at_start" && most > 0 && most < all) {
    problems.push(
      `models.max_loaded: ${most} is fewer than the ${all} models that are loaded at the start; raise it, write 0, or set models.load to on_request`,
    );
  }
  return problems;
}

/**
 * The other models. An alias that several files have belongs to the first of them, and to no model where another one has
 * it as a name.
 */
export function resolveOthers(first: ReadFile, others: readonly ReadFile[]): ModelConfig[] {
  const taken = new Set([first, ...others].flatMap(({ file }) => file.served_model_names));
  for (const alias of first.file.openai_aliases) taken.add(alias);
  return others.map(({ source, file }) => {
    const own = resolveModel(file, {
      source,
      resolvePath: (path) => resolvePath(dirname(source), path),
    });
    const openaiAliases = own.openaiAliases.filter((alias) => !taken.has(alias));
    for (const alias of openaiAliases) taken.add(alias);
    return { ...own, openaiAliases };
  });
}

/** Sections that belong to the server and not to a model. */
const SHARED = ["server", "limits", "ref_audio", "ws", "stress", "cluster"] as const;

/** Sentences about keys of another model's file that differ from the first file, whose values count for the whole server. */
export function keysWithoutEffect(first: ReadFile, other: ReadFile): string[] {
  const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  const folderOf = ({ source, file }: ReadFile) =>
    resolvePath(dirname(source), file.voices.directory);
  const keys = [
    ...SHARED.filter((key) => differs(first.file[key], other.file[key])),
    ...(folderOf(first) === folderOf(other) ? [] : ["voices.directory"]),
    ...(differs(first.file.voices.s3, other.file.voices.s3) ? ["voices.s3"] : []),
    ...(other.file.models.files.length > 0 ? ["models"] : []),
  ];
  return keys.map((key) => `${other.source}: ${key} has no effect; that of ${first.source} counts`);
}
