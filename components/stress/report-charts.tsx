/** Charts of a finished run that have no time in them: first packet by load, with the knee, and its distribution. */
"use client";
import { useMemo } from "react";
import { distributionOf } from "../../server/stress/distribution.ts";
import type { StressReport } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { ChartCard } from "./chart-card.tsx";
import type { PlotMark } from "./plot.tsx";
import { ninesOf, percentAt } from "./series.ts";
import { useWriters } from "./use-writers.ts";

export function ReportCharts({ report }: { readonly report: StressReport }) {
  return (
    <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,20rem),1fr))] gap-3 empty:hidden">
      <LoadChart report={report} />
      <DistributionChart report={report} />
    </div>
  );
}

function LoadChart({ report }: { readonly report: StressReport }) {
  const words = useStrings("stress").charts;
  const { ms, plain } = useWriters();
  const { x, lines, marks } = useMemo(() => loadChart(report, words), [report, words]);
  if (x.length < 2) return null;
  return (
    <ChartCard
      id="by-load"
      title={words.byLoad}
      {...{ x, lines, marks }}
      format={ms}
      formatX={plain}
      hidesLatest
    />
  );
}

/** One point a load, in order; of a load that was tried twice, the later try. */
function loadChart(
  { steps, knee, plan }: StressReport,
  words: {
    readonly p50: string;
    readonly p95: string;
    readonly limit: string;
    readonly knee: string;
  },
) {
  const byLoad = new Map(steps.map((step) => [step.wanted, step.percentiles.ttfpMs]));
  const points = [...byLoad].sort(([a], [b]) => a - b);
  const marks: PlotMark[] = [];
  if (plan.limits.ttfpP95Ms !== undefined) {
    const { ttfpP95Ms: value } = plan.limits;
    marks.push({ axis: "y", value, label: words.limit, color: "--bad" });
  }
  if (knee !== null && knee.concurrency !== null) {
    marks.push({ axis: "x", value: knee.concurrency, label: words.knee, color: "--accent" });
  }
  return {
    x: points.map(([wanted]) => wanted),
    lines: [
      { label: words.p50, color: "--wave", values: points.map(([, at]) => at.p50) },
      { label: words.p95, color: "--warn", dash: [8, 4], values: points.map(([, at]) => at.p95) },
    ],
    marks,
  };
}

function DistributionChart({ report }: { readonly report: StressReport }) {
  const words = useStrings("stress");
  const { ms } = useWriters();
  const { x, lines } = useMemo(() => {
    const points = distributionOf(report.histograms.ttfpMs);
    return {
      x: points.map(({ share }) => ninesOf(share)),
      lines: [
        {
          label: words.charts.share,
          color: "--wave",
          isStepped: true,
          values: points.map(({ value }) => value),
        },
      ],
    };
  }, [report, words]);
  if (x.length === 0) return null;
  return (
    <ChartCard
      id="distribution"
      title={words.charts.distribution}
      {...{ x, lines }}
      format={ms}
      formatX={(nines) => fill(words.units.percent, { n: percentAt(nines) })}
      hidesLatest
    />
  );
}
