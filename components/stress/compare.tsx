/** Two runs side by side: each figure with its difference, what differs beside the load, and both overlaid. */
"use client";
import { useMemo, useState } from "react";
import { compareReports } from "../../server/stress/compare.ts";
import { distributionOf } from "../../server/stress/distribution.ts";
import type { StressComparisonRow, StressReport } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import { SelectField } from "../ui/field.tsx";
import { ChartCard } from "./chart-card.tsx";
import { plain, planName, UNKNOWN } from "./figures.ts";
import { type StoredRun, useRuns } from "./runs.ts";
import { ScrollTable } from "./scroll-table.tsx";
import { ninesOf, overlaid, percentAt } from "./series.ts";
import { useWriters } from "./use-writers.ts";

export function Compare({ run }: { readonly run: StoredRun }) {
  const { compare: words, runs: runWords } = useStrings("stress");
  const others = useRuns(({ runs }) => runs).filter(({ id }) => id !== run.id);
  const locale = useLocale();
  const [chosen, choose] = useState("");
  const other = others.find(({ id }) => id === chosen);
  const date = new Intl.DateTimeFormat(locale, { dateStyle: "short", timeStyle: "medium" });
  const nameOf = ({ name, report }: StoredRun) =>
    `${name || planName(report.plan, runWords)} (${date.format(new Date(report.startedAt))})`;
  return (
    <section aria-labelledby="compare" className="grid gap-3" data-testid="compare">
      <h2 id="compare" className="text-lg font-semibold tracking-tight">
        {words.title}
      </h2>
      {others.length === 0 ? (
        <p className="text-sm text-muted">{words.one}</p>
      ) : (
        <SelectField
          label={words.with}
          value={other?.id ?? ""}
          className="max-w-md"
          onChange={(event) => choose(event.target.value)}
        >
          <option value="">{words.none}</option>
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {nameOf(one)}
            </option>
          ))}
        </SelectField>
      )}
      {other !== undefined && (
        <>
          <p className="grid gap-0.5 text-sm">
            <span>{fill(words.a, { name: nameOf(run) })}</span>
            <span>{fill(words.b, { name: nameOf(other) })}</span>
          </p>
          <Figures a={run.report} b={other.report} />
          <Overlays a={run.report} b={other.report} />
        </>
      )}
    </section>
  );
}

interface Pair {
  readonly a: StressReport;
  readonly b: StressReport;
}

function Figures({ a, b }: Pair) {
  const words = useStrings("stress").compare;
  const { rows, differences } = useMemo(() => compareReports(a, b), [a, b]);
  return (
    <>
      <ScrollTable
        title={words.figures}
        testId="differences"
        columns={[words.figure, "A", "B", words.difference, "%", ""]}
        rows={rows.map((row) => ({
          id: row.name,
          cells: [
            <span key="name" lang="en">
              {row.unit === "" ? row.name : `${row.name}, ${row.unit}`}
            </span>,
            row.a === null ? UNKNOWN : plain(row.a),
            row.b === null ? UNKNOWN : plain(row.b),
            signed(row.difference),
            signed(row.relative === null ? null : 100 * row.relative),
            <Better key="better" row={row} />,
          ],
        }))}
      />
      <div className="card grid gap-1 p-3 text-sm">
        <h3 className="font-semibold">{words.differences}</h3>
        {differences.length === 0 ? (
          <p className="text-muted">{words.same}</p>
        ) : (
          <ul lang="en" className="list-inside list-disc break-words">
            {differences.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function signed(value: number | null): string {
  if (value === null) return UNKNOWN;
  return value > 0 ? `+${plain(value)}` : plain(value).replace("-", "−");
}

function Better({ row: { better } }: { readonly row: StressComparisonRow }) {
  const words = useStrings("stress").compare;
  if (better === null) return null;
  return (
    <Badge tone={better === "a" ? "plain" : "accent"}>
      {fill(words.better, { run: better.toUpperCase() })}
    </Badge>
  );
}

const LOOK_A = { label: "A", color: "--wave", spansGaps: true } as const;
const LOOK_B = { label: "B", color: "--warn", dash: [8, 4], spansGaps: true } as const;

function Overlays({ a, b }: Pair) {
  const words = useStrings("stress");
  const { ms, seconds, times, plain: plainly } = useWriters();
  const overTime = useOverlay(a, b, ttfpOverTime);
  const speed = useOverlay(a, b, speedOverTime);
  const byLoad = useOverlay(a, b, ttfpByLoad);
  const distribution = useOverlay(a, b, ttfpDistribution);
  return (
    <div className="grid gap-3 md:grid-cols-2">
      <ChartCard
        id="overlay-time"
        title={words.compare.overTime}
        {...overTime}
        format={ms}
        formatX={seconds}
        hidesLatest
      />
      <ChartCard
        id="overlay-speed"
        title={words.charts.speed}
        {...speed}
        format={times}
        formatX={seconds}
        hidesLatest
      />
      {byLoad.x.length > 1 && (
        <ChartCard
          id="overlay-load"
          title={words.compare.byLoad}
          {...byLoad}
          format={ms}
          formatX={plainly}
          hidesLatest
        />
      )}
      <ChartCard
        id="overlay-distribution"
        title={words.charts.distribution}
        {...distribution}
        format={ms}
        formatX={(nines) => fill(words.units.percent, { n: percentAt(nines) })}
        hidesLatest
      />
    </div>
  );
}

type Points = readonly (readonly [number, number | null])[];

const ttfpOverTime = ({ ticks }: StressReport): Points =>
  ticks.map(({ at, ttfpMs }) => [at, ttfpMs.p95]);

const speedOverTime = ({ ticks }: StressReport): Points =>
  ticks.map(({ at, timesRealTime }) => [at, timesRealTime]);

const ttfpByLoad = ({ steps }: StressReport): Points =>
  steps.map(({ wanted, percentiles }) => [wanted, percentiles.ttfpMs.p95]);

const ttfpDistribution = ({ histograms }: StressReport): Points =>
  distributionOf(histograms.ttfpMs).map(({ share, value }) => [ninesOf(share), value]);

function useOverlay(a: StressReport, b: StressReport, points: (report: StressReport) => Points) {
  return useMemo(() => {
    const { x, ...values } = overlaid(points(a), points(b));
    const lines = [
      { ...LOOK_A, values: values.a },
      { ...LOOK_B, values: values.b },
    ];
    return { x, lines };
  }, [a, b, points]);
}
