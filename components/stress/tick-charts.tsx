/** The charts of a run over time, and all of them again as a table. */
"use client";
import { useMemo, useState } from "react";
import type { StressPlan, StressTickRecord } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { ChartCard } from "./chart-card.tsx";
import { type ChartSpec, chartSpecs } from "./chart-specs.ts";
import { UNKNOWN } from "./figures.ts";
import { rowsOf, valuesOf } from "./series.ts";
import { useWriters } from "./use-writers.ts";

interface TickChartsProps {
  readonly ticks: readonly StressTickRecord[];
  readonly plan: StressPlan | undefined;
  /** The legends tell the latest values; of a run that is over the last moment says little. */
  readonly isLive?: boolean;
}

export function TickCharts({ ticks, plan, isLive = false }: TickChartsProps) {
  const words = useStrings("stress").charts;
  const writers = useWriters();
  const specs = useMemo(() => chartSpecs(words, writers, plan), [words, writers, plan]);
  return (
    <div className="grid gap-3">
      <section
        aria-label={words.label}
        className="grid gap-3 md:grid-cols-2 2xl:grid-cols-4"
        data-testid="charts"
      >
        {specs.map((spec) => (
          <TickChart key={spec.id} {...{ spec, ticks, isLive }} />
        ))}
      </section>
      <TickTable specs={specs} ticks={ticks} />
    </div>
  );
}

interface TickChartProps extends Pick<TickChartsProps, "ticks"> {
  readonly spec: ChartSpec;
  readonly isLive: boolean;
}

function TickChart({ spec, ticks, isLive }: TickChartProps) {
  const { seconds } = useWriters();
  const { x, lines } = useMemo(
    () => ({
      x: ticks.map(({ at }) => at),
      lines: spec.lines.map((line) => ({ ...line, values: valuesOf(ticks, line.reading) })),
    }),
    [spec, ticks],
  );
  const { id, title, marks, format, top } = spec;
  return (
    <ChartCard
      {...{ id, title, x, lines, marks, format, top }}
      formatX={seconds}
      sync="stress-ticks"
      hidesLatest={!isLive}
    />
  );
}

const MOST_ROWS = 60;

function TickTable({
  specs,
  ticks,
}: {
  readonly specs: readonly ChartSpec[];
  readonly ticks: readonly StressTickRecord[];
}) {
  const words = useStrings("stress").charts;
  const { seconds } = useWriters();
  // Written anew twice a second while a run is on, so only where it is looked at.
  const [isOpen, setOpen] = useState(false);
  const { rows, every } = rowsOf(isOpen ? ticks : [], MOST_ROWS);
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="min-h-10 px-3 py-2.5 text-sm font-semibold">{words.table}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-label={words.table} tabIndex={0} className="max-h-96 overflow-auto px-3 pb-3">
        <table className="w-full text-right text-xs">
          <caption className="pb-2 text-left text-muted">
            {every === 1 ? words.tableAboutAll : fill(words.tableAbout, { n: every })}
          </caption>
          <thead className="text-muted">
            <tr>
              <th rowSpan={2} className="py-1 pr-3 text-left font-medium">
                {words.time}
              </th>
              {specs.map(({ id, title, lines }) => (
                <th key={id} scope="colgroup" colSpan={lines.length} className="px-2 font-medium">
                  {title}
                </th>
              ))}
            </tr>
            <tr>
              {specs.flatMap(({ id, lines }) =>
                lines.map(({ label }) => (
                  <th key={`${id} ${label}`} className="whitespace-nowrap py-1 pl-3 font-medium">
                    {label}
                  </th>
                )),
              )}
            </tr>
          </thead>
          <tbody className="figures">
            {rows.map((tick) => (
              <tr key={tick.at} className="border-t border-line">
                <th scope="row" className="whitespace-nowrap py-1 pr-3 text-left font-normal">
                  {seconds(tick.at)}
                </th>
                {specs.flatMap(({ id, lines, format }) =>
                  lines.map(({ label, reading }) => {
                    const value = reading(tick);
                    return (
                      <td key={`${id} ${label}`} className="whitespace-nowrap py-1 pl-3">
                        {value === null || value === undefined ? UNKNOWN : format(value)}
                      </td>
                    );
                  }),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
