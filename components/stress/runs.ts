/**
 * Runs that survive a reload: their reports with a name and a note, in a database of the browser's own. Failing to store
 * one never breaks the page; it is told through `useRuns`.
 */
"use client";
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import { create } from "zustand";
import type { StressReport } from "../../server/stress/types.ts";
import { flawOf } from "./report-shape.ts";

export interface StoredRun {
  /** That of the report. */
  readonly id: string;
  /** Empty: it is called by its plan. */
  readonly name: string;
  readonly note: string;
  readonly report: StressReport;
}

interface RunsSchema extends DBSchema {
  runs: { key: string; value: StoredRun };
}

interface RunsState {
  readonly load: "idle" | "loading" | "ready";
  /** Why runs are not kept: the store is full, or the browser has none. */
  readonly obstacle: "full" | "off" | undefined;
  /** The newest first. */
  readonly runs: readonly StoredRun[];
  /** Id of the run whose report is shown. */
  readonly shown: string | undefined;
}

export const useRuns = create<RunsState>()(() => ({
  load: "idle",
  obstacle: undefined,
  runs: [],
  shown: undefined,
}));

let opened: Promise<IDBPDatabase<RunsSchema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<RunsSchema> | undefined> {
  opened ??= openDB<RunsSchema>("sonant-stress", 1, {
    upgrade: (db) => void db.createObjectStore("runs", { keyPath: "id" }),
  }).catch(() => {
    useRuns.setState({ obstacle: "off" });
    return undefined;
  });
  return opened;
}

/** Reads the runs of earlier visits, once. */
export async function loadRuns(): Promise<void> {
  if (useRuns.getState().load !== "idle") return;
  useRuns.setState({ load: "loading" });
  const db = await database();
  const stored = (await db?.getAll("runs").catch(() => [])) ?? [];
  // Of another version of this page: they stay where they are, and cannot be shown here.
  const known = stored.filter(({ report }) => flawOf(report) === undefined);
  useRuns.setState(({ runs }) => ({ load: "ready", runs: inOrder([...known, ...runs]) }));
}

/** Keeps a run that has ended, and shows it. */
export async function keepRun(report: StressReport): Promise<void> {
  const known = useRuns.getState().runs.find(({ id }) => id === report.id);
  const run = known ?? { id: report.id, name: "", note: "", report };
  useRuns.setState({ shown: run.id });
  await store(run);
}

/**
 * Keeps the run of a file that was exported, and shows it.
 * @throws Error with a sentence if it holds none
 */
export async function importRun(text: string): Promise<void> {
  const { parseReport } = await import("../../server/stress/output.ts");
  const report = parseReport(text);
  const flaw = flawOf(report);
  if (flaw !== undefined)
    throw new Error(`The report is damaged: '${flaw}' is not as it should be.`);
  await keepRun(report);
}

/** Gives a run another name or note. */
export async function describeRun(
  id: string,
  words: Pick<StoredRun, "name" | "note">,
): Promise<void> {
  const known = useRuns.getState().runs.find((run) => run.id === id);
  if (known !== undefined) await store({ ...known, ...words });
}

export async function deleteRun(id: string): Promise<void> {
  useRuns.setState(({ runs, shown }) => ({
    runs: runs.filter((run) => run.id !== id),
    shown: shown === id ? undefined : shown,
  }));
  const db = await database();
  await db?.delete("runs", id).catch(() => {});
}

export function showRun(id: string | undefined): void {
  useRuns.setState({ shown: id });
}

async function store(run: StoredRun): Promise<void> {
  useRuns.setState(({ runs }) => ({ runs: inOrder([run, ...runs]) }));
  const db = await database();
  if (db === undefined) return;
  try {
    await db.put("runs", run);
    if (useRuns.getState().obstacle === "full") useRuns.setState({ obstacle: undefined });
  } catch (error) {
    const isFull = error instanceof DOMException && error.name === "QuotaExceededError";
    useRuns.setState({ obstacle: isFull ? "full" : "off" });
  }
}

/** The newest first; of two with one id, the first. */
function inOrder(runs: readonly StoredRun[]): StoredRun[] {
  const byId = new Map(runs.toReversed().map((run) => [run.id, run]));
  return [...byId.values()].sort((a, b) => b.report.startedAt.localeCompare(a.report.startedAt));
}
