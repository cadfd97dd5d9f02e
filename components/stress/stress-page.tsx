/** The stress page: what is to be run, the run while it is on, what it came to, and the runs before it. */
"use client";
import dynamic from "next/dynamic";
import { useEffect, useRef } from "react";
import { useKey } from "../api/key.ts";
import { announce } from "../frame/announcer.tsx";
import { useStrings } from "../i18n/provider.tsx";
import { Boundary } from "../ui/boundary.tsx";
import { useKeys } from "../ui/keys.ts";
import { Live } from "./live.tsx";
import { RunTrouble } from "./run-trouble.tsx";
import { isOn, resumeRun, stopRun, useRunning } from "./running.ts";
import { loadRuns, useRuns } from "./runs.ts";
import { RunsList } from "./runs-list.tsx";
import { askGeneratorAgain, watchGenerator } from "./server-run.ts";
import { Setup } from "./setup.tsx";

const ReportView = dynamic(() => import("./report-view.tsx").then(({ ReportView }) => ReportView), {
  ssr: false,
});
const Compare = dynamic(() => import("./compare.tsx").then(({ Compare }) => Compare), {
  ssr: false,
});

export function StressPage() {
  const words = useStrings("stress");
  const isRunning = useRunning(isOn);
  const keyChanges = useKey((state) => state.changes);
  const outcome = useRef<HTMLDivElement>(null);

  useEffect(() => {
    watchGenerator();
    void loadRuns();
    void resumeRun();
  }, []);
  useEffect(() => {
    if (keyChanges > 0) askGeneratorAgain();
  }, [keyChanges]);
  useEffect(() => {
    if (!isRunning) return;
    return () => {
      // What had the focus was part of the run and went with it.
      if (document.activeElement === document.body) outcome.current?.focus({ preventScroll: true });
    };
  }, [isRunning]);
  useKeys({ Escape: stopRun });
  useEndAnnouncement();

  return (
    <div className="grid gap-6">
      <div className="grid max-w-prose gap-1">
        <h1 className="text-2xl font-semibold tracking-tight">{words.title}</h1>
        <p className="text-sm text-muted">{words.about}</p>
      </div>
      <div className="grid items-start gap-6 lg:grid-cols-[22rem_minmax(0,1fr)] lg:grid-rows-[auto_1fr]">
        <Setup />
        <div
          ref={outcome}
          tabIndex={-1}
          className="grid min-w-0 content-start gap-6 outline-none lg:col-start-2 lg:row-span-2 lg:row-start-1"
        >
          <RunTrouble />
          {isRunning ? <Live /> : <Outcome />}
        </div>
        <RunsList />
      </div>
    </div>
  );
}

/** The run that was chosen; of one without a report, what was measured of it. */
function Outcome() {
  const words = useStrings("stress").live;
  const run = useRuns(({ runs, shown }) => runs.find(({ id }) => id === shown));
  if (run === undefined) {
    return (
      <p className="rounded-xl border border-dashed border-line-strong px-4 py-10 text-center text-sm text-muted">
        {words.empty}
      </p>
    );
  }
  return (
    <Boundary key={run.id}>
      <ReportView run={run} />
      <Compare run={run} />
    </Boundary>
  );
}

/** How a run ended is said once. */
function useEndAnnouncement(): void {
  const words = useStrings("stress").live.say;
  const kind = useRunning(({ phase, report, trouble }) => {
    if (phase !== "ended") return undefined;
    return report?.end.kind ?? (trouble === undefined ? undefined : "failed");
  });
  useEffect(() => {
    if (kind !== undefined) announce(words[kind]);
  }, [kind, words]);
}
