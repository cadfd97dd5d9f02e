/** The runs that are kept in this browser: to be shown, named, annotated, deleted, and brought in from a file. */
"use client";
import { Pencil, Trash2, Upload } from "lucide-react";
import { useState } from "react";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { FileButton } from "../voices/file-button.tsx";
import { planName } from "./figures.ts";
import { Note } from "./note.tsx";
import { DeleteRunDialog, EditRunDialog } from "./run-dialogs.tsx";
import { importRun, type StoredRun, showRun, useRuns } from "./runs.ts";
import { useWriters } from "./use-writers.ts";

export function RunsList() {
  const words = useStrings("stress").runs;
  const { runs, shown, obstacle, load } = useRuns();
  const [badFile, setBadFile] = useState<string>();
  const bringIn = async (file: File) => {
    setBadFile(undefined);
    try {
      await importRun(await file.text());
      announce(words.imported);
    } catch (error) {
      setBadFile(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section
      aria-labelledby="runs"
      className="card grid content-start gap-3 p-4"
      data-testid="runs"
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 id="runs" className="text-lg font-semibold tracking-tight">
          {words.title}
        </h2>
        <FileButton
          accept=".json,application/json"
          size="small"
          onFile={(file) => void bringIn(file)}
        >
          <Upload size={13} aria-hidden />
          {words.import}
        </FileButton>
      </div>
      {badFile !== undefined && (
        <Problem
          trouble={{ code: "bad_report", message: fill(words.badFile, { reason: badFile }) }}
          onDismiss={() => setBadFile(undefined)}
        />
      )}
      {obstacle !== undefined && <Note>{words[obstacle]}</Note>}
      {runs.length === 0 && load === "ready" && <p className="text-sm text-muted">{words.empty}</p>}
      <ul className="grid gap-1 empty:hidden">
        {runs.map((run) => (
          <RunItem key={run.id} run={run} isShown={run.id === shown} />
        ))}
      </ul>
    </section>
  );
}

function RunItem({ run, isShown }: { readonly run: StoredRun; readonly isShown: boolean }) {
  const { runs: words, report: reportWords } = useStrings("stress");
  const { ms } = useWriters();
  const locale = useLocale();
  const [dialog, setDialog] = useState<"edit" | "delete">();
  const { report } = run;
  const name = run.name || planName(report.plan, words);
  const date = new Intl.DateTimeFormat(locale, { dateStyle: "short", timeStyle: "short" });
  const close = () => setDialog(undefined);
  return (
    <li
      className="flex items-center gap-1 rounded-lg border border-line px-2 py-1.5 data-[shown=true]:border-accent"
      data-testid="run"
      data-shown={isShown}
    >
      <button
        type="button"
        aria-pressed={isShown}
        onClick={() => showRun(run.id)}
        className="grid min-w-0 flex-1 gap-0.5 rounded-md px-1 text-left hover:bg-sunken"
      >
        <span className="flex items-center gap-2 text-sm font-medium">
          <span className="min-w-0 truncate">{name}</span>
          {isShown && <Badge tone="accent">{words.shown}</Badge>}
        </span>
        <span className="text-xs text-muted">
          {date.format(new Date(report.startedAt))} · {reportWords.ends[report.end.kind]} ·{" "}
          <span className="whitespace-nowrap">
            p95 <span className="figures">{ms(report.percentiles.ttfpMs.p95)}</span>
          </span>
        </span>
        {run.note !== "" && <span className="truncate text-xs text-muted">{run.note}</span>}
      </button>
      <Button
        size="icon"
        kind="quiet"
        aria-label={fill(words.edit, { name })}
        onClick={() => setDialog("edit")}
      >
        <Pencil size={14} aria-hidden />
      </Button>
      <Button
        size="icon"
        kind="quiet"
        aria-label={fill(words.remove, { name })}
        onClick={() => setDialog("delete")}
      >
        <Trash2 size={14} aria-hidden />
      </Button>
      {dialog === "edit" && <EditRunDialog run={run} name={name} onClose={close} />}
      {dialog === "delete" && <DeleteRunDialog run={run} name={name} onClose={close} />}
    </li>
  );
}
