/** What a run came to: how it ended, knee, charts, tables, the probe's verdict, and what can be taken along. */
"use client";
import { useRef } from "react";
import type { StressReport } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { Badge, type Tone } from "../ui/badge.tsx";
import { ExportBar } from "./export-bar.tsx";
import { planName } from "./figures.ts";
import { Note } from "./note.tsx";
import { PercentileTable } from "./percentile-table.tsx";
import { ProbeVerdict } from "./probe-verdict.tsx";
import { ReportCharts } from "./report-charts.tsx";
import type { StoredRun } from "./runs.ts";
import { StepsTable } from "./steps-table.tsx";
import { TickCharts } from "./tick-charts.tsx";
import { useWriters } from "./use-writers.ts";

const END_TONES: Readonly<Record<StressReport["end"]["kind"], Tone>> = {
  finished: "good",
  stopped: "warn",
  limit: "warn",
  failed: "bad",
};

export function ReportView({ run }: { readonly run: StoredRun }) {
  const { report: words, runs } = useStrings("stress");
  const pictures = useRef<HTMLDivElement>(null);
  const { report, name } = run;
  const { end, knee, caveats, probe } = report;
  const title = name || planName(report.plan, runs);
  return (
    <section aria-labelledby="report" className="grid content-start gap-4" data-testid="report">
      <div className="card grid gap-3 p-4">
        <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
          <h2 id="report" className="text-lg font-semibold tracking-tight">
            {words.title}: {title}
          </h2>
          <span data-testid="end" data-end={end.kind}>
            <Badge tone={END_TONES[end.kind]}>{words.ends[end.kind]}</Badge>
          </span>
          {report.generator.kind === "browser" && <Badge>{words.facts.sources.browser}</Badge>}
        </div>
        <p lang="en" className="text-sm">
          {end.reason}
        </p>
        {end.kind === "stopped" && <p className="text-sm text-muted">{words.partial}</p>}
        {run.note !== "" && <p className="whitespace-pre-wrap text-sm">{run.note}</p>}
        <Facts report={report} />
        {knee !== null && (
          <div className="grid gap-0.5 border-t border-line pt-3" data-testid="knee">
            <p className="font-semibold">
              {knee.concurrency === null ? words.noKnee : fill(words.knee, { n: knee.concurrency })}
            </p>
            <p lang="en" className="text-sm text-muted">
              {knee.reason}
            </p>
          </div>
        )}
        <ExportBar run={run} title={title} pictures={pictures} />
      </div>
      {caveats.length > 0 && (
        <section className="grid gap-2" aria-labelledby="caveats">
          <h3 id="caveats" className="text-sm font-semibold">
            {words.caveats}
          </h3>
          {caveats.map((caveat) => (
            <Note key={caveat}>
              <span lang="en">{caveat}</span>
            </Note>
          ))}
        </section>
      )}
      {probe !== null && <ProbeVerdict probe={probe} />}
      <PercentileTable report={report} />
      {report.steps.length > 0 && <StepsTable report={report} />}
      <div ref={pictures} className="grid gap-3">
        <ReportCharts report={report} />
        {report.ticks.length > 0 && <TickCharts ticks={report.ticks} plan={report.plan} />}
      </div>
    </section>
  );
}

function Facts({ report }: { readonly report: StressReport }) {
  const { facts: words } = useStrings("stress").report;
  const { times, plain, percent, seconds } = useWriters();
  const locale = useLocale();
  const { server, generator, totals } = report;
  const started = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
  const codes = Object.entries(totals.codes);
  const rows: [string, string][] = [
    [words.source, fill(words.sources[generator.kind], { n: generator.processes })],
    [
      words.server,
      server === null
        ? words.unknownServer
        : [server.model, server.device, server.engine, server.version].filter(Boolean).join(" · "),
    ],
    [words.started, started.format(new Date(report.startedAt))],
    [words.length, seconds(report.seconds)],
    [words.requests, fill(words.requestsValue, { ...totals, codes: "" })],
    [words.rate, plain(report.requestsPerSecond)],
    [words.speed, fill(words.speedValue, { n: times(report.timesRealTime) })],
    [
      words.continuity,
      fill(words.continuityValue, {
        share: percent(report.continuity),
        strict: percent(report.continuityStrict),
      }),
    ],
  ];
  if (codes.length > 0) {
    rows.push([words.codes, codes.map(([code, count]) => `${code} ${count}`).join(" · ")]);
  }
  return (
    <dl className="grid gap-x-6 gap-y-1.5 text-sm sm:grid-cols-2">
      {rows.map(([name, value]) => (
        <div key={name} className="grid grid-cols-[8.5rem_minmax(0,1fr)] gap-2">
          <dt className="text-muted">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
