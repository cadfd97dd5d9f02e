/** The live figures, each with its curve of the last minutes, and all curves again as a table. */
"use client";
import type { StatusTick } from "../../server/protocol/playground.ts";
import { useLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { type Gauge, gaugesFor } from "./gauges.ts";
import { minutesOf, pathOf, rangeOf, windowMinutes } from "./series.ts";

const BOX = { width: 240, height: 40 };

export function GaugeCards({ isReachable }: { readonly isReachable: boolean }) {
  const words = useStrings("status");
  const { units } = useStrings("common");
  const history = useServer((server) => server.history);
  const gauges = gaugesFor(words, units, useLimits()?.frame_ms);
  const tick = history.at(-1);
  return (
    <section aria-labelledby="live" className="grid gap-3" data-testid="live-figures">
      <h2 id="live" className="text-lg font-semibold tracking-tight">
        {words.live.title}
      </h2>
      {tick === undefined ? (
        <p className="text-sm text-muted">{isReachable ? words.live.waiting : words.live.none}</p>
      ) : (
        <>
          <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-5">
            {gauges.map((gauge) => (
              <GaugeCard key={gauge.id} gauge={gauge} tick={tick} history={history} />
            ))}
          </ul>
          <CurveTable gauges={gauges} history={history} />
        </>
      )}
    </section>
  );
}

interface GaugeCardProps {
  readonly gauge: Gauge;
  readonly tick: StatusTick;
  readonly history: readonly StatusTick[];
}

function GaugeCard({ gauge, tick, history }: GaugeCardProps) {
  const { live } = useStrings("status");
  const { id, name, about, figure, format, value, note, none = live.notYet } = gauge;
  const now = figure(tick);
  const text = value?.(tick) ?? (now === undefined ? "–" : format(now));
  return (
    <li className="card grid content-start gap-1 p-3" data-gauge={id}>
      <h3 className="text-xs font-medium text-muted">{name}</h3>
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className="figures text-xl font-semibold">{text}</span>
        <span className="text-xs text-muted">
          {note?.(tick) ?? (now === undefined ? none : "")}
        </span>
      </p>
      <Curve gauge={gauge} history={history} />
      <p className="text-xs text-muted">{about}</p>
    </li>
  );
}

function Curve({ gauge, history }: Pick<GaugeCardProps, "gauge" | "history">) {
  const { live } = useStrings("status");
  const range = rangeOf(history, gauge.figure);
  const label =
    range === undefined
      ? live.notYet
      : fill(live.curve, {
          name: gauge.name,
          minutes: windowMinutes(history),
          low: gauge.format(range.low),
          high: gauge.format(range.high),
        });
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 -2 ${BOX.width} ${BOX.height + 4}`}
      preserveAspectRatio="none"
      className="h-10 w-full text-wave"
    >
      <path
        d={`M0 ${BOX.height}H${BOX.width}`}
        stroke="var(--line)"
        vectorEffect="non-scaling-stroke"
      />
      <path
        d={pathOf(history, gauge.figure, BOX)}
        fill="none"
        stroke="currentColor"
        strokeWidth={1.5}
        strokeLinecap="round"
        strokeLinejoin="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}

interface CurveTableProps {
  readonly gauges: readonly Gauge[];
  readonly history: readonly StatusTick[];
}

function CurveTable({ gauges, history }: CurveTableProps) {
  const { table } = useStrings("status");
  const minutes = minutesOf(
    history,
    gauges.map(({ figure }) => figure),
  );
  return (
    <details className="card">
      <summary className="min-h-10 px-3 py-2.5 text-sm font-semibold">{table.title}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-label={table.title} tabIndex={0} className="overflow-x-auto px-3 pb-3">
        <table className="w-full text-right text-xs">
          <caption className="pb-2 text-left text-muted">{table.about}</caption>
          <thead className="text-muted">
            <tr>
              <th className="py-1 pr-3 text-left font-medium">{table.minute}</th>
              {gauges.map(({ id, name }) => (
                <th key={id} className="py-1 pl-3 font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="figures">
            {minutes.map(({ ago, means }) => (
              <tr key={ago} className="border-t border-line">
                <th scope="row" className="whitespace-nowrap py-1 pr-3 text-left font-normal">
                  {ago === 0 ? table.now : fill(table.ago, { n: ago })}
                </th>
                {gauges.map(({ id, format }, index) => {
                  const mean = means[index];
                  return (
                    <td key={id} className="whitespace-nowrap py-1 pl-3">
                      {mean === undefined ? "–" : format(mean)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
