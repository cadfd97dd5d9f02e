/** A case file as a list of cases that can be run one by one, whichever of the formats it has. */
import { readCaseFile } from "./case-file.ts";
import { RecipeBook } from "./recipes.ts";
import type { CaseResult } from "./report.ts";
import { runCase } from "./run.ts";
import { areaOf, SpeechApi } from "./speech-api.ts";
import type { Target } from "./target.ts";
import type { RunOptions } from "./world.ts";

export interface SuiteCase {
  readonly id: string;
  readonly name: string;
  readonly area: string;
  /** Runs it; rejects only when the run was aborted. */
  run(target: Target, options: RunOptions): Promise<CaseResult>;
}

export interface Selection {
  readonly areas?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
}

/**
 * The cases of a file.
 * @throws Error in one sentence for a file that cannot be used, and for areas and ids that are not in it
 */
export async function openSuite(path: string, selection: Selection = {}): Promise<SuiteCase[]> {
  const all = await readSuite(path);
  const { areas, ids } = selection;
  refuseUnknown("area", areas, new Set(all.map(({ area }) => area)));
  refuseUnknown("id", ids, new Set(all.map(({ id }) => id)));
  return all.filter(
    ({ id, area }) => (areas?.includes(area) ?? true) && (ids?.includes(id) ?? true),
  );
}

async function readSuite(path: string): Promise<SuiteCase[]> {
  const file = await readCaseFile(path);
  if (file.format === "speech-api") {
    const player = new SpeechApi(file.cases);
    return file.cases.map((wireCase) => ({
      id: wireCase.name,
      name: wireCase.name,
      area: areaOf(wireCase),
      run: (target, options) => player.run(wireCase, target, options),
    }));
  }
  const book = new RecipeBook(file.baseRecipe);
  return file.cases.map((wanted) => ({
    id: wanted.id,
    name: wanted.name,
    area: wanted.area,
    run: (target, options) => runCase(wanted, target, book, options),
  }));
}

function refuseUnknown(what: string, asked: readonly string[] | undefined, known: Set<string>) {
  const unknown = asked?.find((name) => !known.has(name));
  if (unknown === undefined) return;
  const some = [...known].slice(0, 20).join(", ");
  throw new Error(
    `The file has no ${what} ${unknown}; it has ${some}${known.size > 20 ? ", …" : "."}`,
  );
}
