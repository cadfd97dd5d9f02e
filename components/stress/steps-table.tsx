/** The steps of a run: what each had to carry and what became of it; the knee is marked. */
"use client";
import type { StressReport, StressStep } from "../../server/stress/types.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import { UNKNOWN } from "./figures.ts";
import { ScrollTable } from "./scroll-table.tsx";
import { useWriters } from "./use-writers.ts";

export function StepsTable({ report }: { readonly report: StressReport }) {
  const words = useStrings("stress").report;
  const { plain, percent } = useWriters();
  const knee = report.knee?.concurrency ?? null;
  const cellsOf = (step: StressStep) => {
    const { counts, percentiles } = step;
    return [
      String(step.index + 1),
      <Load key="load" step={step} isKnee={step.wanted === knee && step.met === true} />,
      plain(step.seconds),
      String(counts.spoken),
      String(counts.refused),
      String(counts.failed),
      plain(percentiles.ttfpMs.p50),
      plain(percentiles.ttfpMs.p95),
      plain(percentiles.ttfpMs.p99),
      plain(percentiles.rtf.p50),
      plain(step.timesRealTime),
      percent(step.continuity),
      percent(step.continuityStrict),
      <Verdict key="verdict" step={step} />,
    ];
  };
  return (
    <ScrollTable
      title={words.steps}
      testId="steps"
      columns={Object.values(words.stepColumns)}
      rows={report.steps.map((step) => ({ id: String(step.index), cells: cellsOf(step) }))}
    />
  );
}

function Load({ step, isKnee }: { readonly step: StressStep; readonly isKnee: boolean }) {
  const words = useStrings("stress").report;
  const { plain } = useWriters();
  return (
    <span className="inline-flex items-center gap-1.5">
      {isKnee && <Badge tone="accent">{words.kneeHere}</Badge>}
      {plain(step.wanted)}
    </span>
  );
}

function Verdict({ step: { met, verdict } }: { readonly step: StressStep }) {
  const words = useStrings("stress").report;
  if (met === null) return UNKNOWN;
  return (
    <span title={verdict}>
      <Badge tone={met ? "good" : "bad"}>{met ? words.met : words.crossed}</Badge>
      {!met && <span className="sr-only">{verdict}</span>}
    </span>
  );
}
