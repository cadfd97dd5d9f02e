/** A chart with its title and a legend that tells the values: those under the cursor, else the latest. */
"use client";
import dynamic from "next/dynamic";
import { useMemo, useState } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { UNKNOWN } from "./figures.ts";
import type { PlotLine, PlotMark } from "./plot.tsx";
import { latest, rangeOf } from "./series.ts";

const Plot = dynamic(() => import("./plot.tsx").then(({ Plot }) => Plot), {
  ssr: false,
  loading: () => <div className="h-[150px]" />,
});

interface ChartCardProps {
  readonly id: string;
  readonly title: string;
  readonly x: readonly number[];
  readonly lines: readonly PlotLine[];
  readonly marks?: readonly PlotMark[];
  readonly format: (value: number) => string;
  readonly formatX: (value: number) => string;
  readonly top?: number | undefined;
  readonly sync?: string;
  /** The legend has no values while nothing is pointed at: the last one of a distribution says nothing. */
  readonly hidesLatest?: boolean;
}

const NO_MARKS: readonly PlotMark[] = [];

export function ChartCard(props: ChartCardProps) {
  const { id, title, x, lines, marks = NO_MARKS, format, formatX, top, sync } = props;
  const words = useStrings("stress").charts;
  const [cursor, setCursor] = useState<number | null>(null);
  const label = useMemo(
    () =>
      lines
        .map(({ label, values }) => {
          const range = rangeOf(values);
          const name = `${title}, ${label}`;
          if (range === undefined) return `${name}: ${words.nothing}.`;
          const { last, low, high } = range;
          const figures = { name, last: format(last), low: format(low), high: format(high) };
          return fill(words.summary, figures);
        })
        .join(" "),
    [title, lines, format, words],
  );
  const written = ({ values }: PlotLine) => {
    const pointed = cursor === null ? undefined : values[cursor];
    const value = pointed ?? (props.hidesLatest ? undefined : latest(values, (one) => one));
    if (value !== undefined) return format(value);
    return props.hidesLatest ? "" : UNKNOWN;
  };
  return (
    <figure className="card grid content-start gap-1.5 p-3" data-chart={id}>
      <figcaption className="grid gap-1">
        <span className="text-sm font-semibold">{title}</span>
        <ul className="flex flex-wrap gap-x-3 gap-y-0.5 text-xs text-muted">
          {lines.map((line) => (
            <li key={line.label} className="inline-flex items-center gap-1.5">
              <Swatch line={line} />
              {line.label}
              <span className="figures text-ink">{written(line)}</span>
            </li>
          ))}
        </ul>
      </figcaption>
      <Plot {...{ x, lines, marks, format, formatX, top, sync, label }} onCursor={setCursor} />
    </figure>
  );
}

function Swatch({ line: { color, dash } }: { readonly line: PlotLine }) {
  return (
    <svg width="18" height="6" aria-hidden className="shrink-0">
      <path
        d="M0 3H18"
        stroke={`var(${color})`}
        strokeWidth="2.5"
        strokeDasharray={dash?.map((length) => length / 1.5).join(" ")}
      />
    </svg>
  );
}
