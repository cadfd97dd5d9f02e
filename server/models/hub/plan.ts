/** What a pull would do, before anything is fetched: which files of which commits, how large, and where they go. */
import { mkdir, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bytesThere } from "./download.ts";
import { HubError } from "./errors.ts";
import { type KnownModel, MAPPED_WEIGHTS, neededFiles, PARTS, type Part } from "./known-models.ts";
import type { Manifest } from "./manifest.ts";
import { pathBelow } from "./paths.ts";
import { type Places, placesOf, pulledModel, recover } from "./places.ts";
import { type RetryHooks, withRetries } from "./retry.ts";
import type { RemoteFile, Snapshot, Source } from "./source.ts";

export interface PullChoices {
  readonly model: KnownModel;
  readonly folder: string;
  /** Branch, tag or commit of a part; left out: the source's main branch. */
  readonly revisions: Readonly<Partial<Record<Part, string>>>;
  /** Leave the official voices out. */
  readonly withoutVoices: boolean;
  /** Take voices that imitate somebody, too. */
  readonly allVoices: boolean;
}

export interface PlannedFile {
  readonly part: Part;
  readonly file: RemoteFile;
  /** Where it is downloaded to. */
  readonly target: string;
}

export interface PullPlan {
  readonly choices: PullChoices;
  readonly source: Source["name"];
  readonly places: Places;
  readonly snapshots: readonly { readonly part: Part; readonly snapshot: Snapshot }[];
  readonly files: readonly PlannedFile[];
  /** Bytes of all files, and of those how many an earlier pull left here. */
  readonly totalBytes: number;
  readonly presentBytes: number;
  /** Bytes of the disk: what the pull takes at most on top of what is there, and what is free. */
  readonly neededBytes: number;
  readonly freeBytes: number;
  /** The model that stands there now and will be replaced. */
  readonly standing: Manifest | undefined;
}

/** Room for tables, logs and the small files. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * Asks the source what there is. Writes nothing but the folder that will hold the model.
 * @throws HubError, `folder_taken` if something else stands there, or the signal's reason
 */
export async function planPull(
  source: Source,
  choices: PullChoices,
  hooks: RetryHooks = {},
): Promise<PullPlan> {
  const { model, revisions } = choices;
  const places = placesOf(choices.folder);
  await mkdir(dirname(places.target), { recursive: true });
  await recover(places);
  const standing = await pulledModel(places.target);

  const snapshots: { part: Part; snapshot: Snapshot }[] = [];
  const files: PlannedFile[] = [];
  for (const part of PARTS) {
    if (part === "voices" && choices.withoutVoices) continue;
    const repository = model.repositories[part][source.name];
    const ask = () => source.snapshot(repository, revisions[part], hooks.signal);
    const snapshot = await withRetries(ask, hooks).catch((error: unknown) => {
      throw part === "voices" ? voicesMissing(error) : error;
    });
    snapshots.push({ part, snapshot });
    for (const file of neededFiles(model, part, snapshot)) {
      const target = pathBelow(join(places.downloads, part), file.path, snapshot.repository);
      files.push({ part, file, target });
    }
  }

  let presentBytes = 0;
  for (const { file, target } of files) presentBytes += await bytesThere(file, target);
  const totalBytes = files.reduce((sum, { file }) => sum + file.size, 0);
  const { bavail, bsize } = await statfs(dirname(places.target));
  return {
    choices,
    source: source.name,
    places,
    snapshots,
    files,
    totalBytes,
    presentBytes,
    neededBytes: totalBytes - presentBytes + convertedBytes(files) + SPARE_BYTES,
    freeBytes: bavail * bsize,
    standing,
  };
}

/** Weights that are not mapped as they are lie there twice for a while. */
function convertedBytes(files: readonly PlannedFile[]): number {
  const isMapped = (part: Part) =>
    files.some((planned) => planned.part === part && planned.file.path === MAPPED_WEIGHTS);
  const converted = files.filter(({ part }) => part !== "voices" && !isMapped(part));
  return converted.reduce((sum, { file }) => sum + file.size, 0);
}

/** Whether what stands there is what the plan would make. */
export function isUpToDate({ standing, snapshots, source, choices }: PullPlan): boolean {
  if (standing === undefined || standing.source !== source) return false;
  if (standing.model !== choices.model.id) return false;
  const leavesOut = standing.voices_left_out.length > 0;
  if (choices.allVoices && leavesOut) return false;
  return (
    snapshots.length === standing.repositories.length &&
    snapshots.every(({ part, snapshot }) =>
      standing.repositories.some(
        (entry) =>
          entry.part === part &&
          entry.repository === snapshot.repository &&
          // A source that knows no commits says nothing about whether it changed.
          entry.commit === snapshot.commit &&
          snapshot.commit !== snapshot.revision,
      ),
    )
  );
}

/** @throws HubError `disk_full` */
export function checkSpace({ neededBytes, freeBytes, places }: PullPlan): void {
  if (neededBytes <= freeBytes) return;
  throw new HubError(
    "disk_full",
    `the disk of ${places.target} has ${megabytes(freeBytes)} free and the pull needs up to ${megabytes(neededBytes)}`,
  );
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

function voicesMissing(error: unknown): unknown {
  if (!(error instanceof HubError)) return error;
  const advice = "with --no-voices the model is pulled without its voices";
  return new HubError(error.code, `${error.message} (the voices; ${advice})`, { cause: error });
}
