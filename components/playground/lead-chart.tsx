/** How far arrival was ahead of playback, over the course of a take: a step for each chunk, a notch for each underrun. */
"use client";
import { useStrings } from "../i18n/provider.tsx";
import type { Arrival, Underrun } from "../store/takes.ts";

const WIDTH = 240;
const HEIGHT = 48;

interface LeadChartProps {
  readonly arrivals: readonly Arrival[];
  readonly underruns: readonly Underrun[];
}

export function LeadChart({ arrivals, underruns }: LeadChartProps) {
  const words = useStrings("playground").gauges;
  const last = arrivals.at(-1);
  if (last === undefined) return <p className="text-sm text-muted">{words.none}</p>;
  const first = arrivals[0]?.atMs ?? 0;
  const span = Math.max(1, last.atMs - first);
  const highest = Math.max(1, ...arrivals.map(({ leadMs, durationMs }) => leadMs + durationMs));
  const x = (ms: number) => ((ms - first) / span) * WIDTH;
  const y = (ms: number) => HEIGHT - (Math.max(0, ms) / highest) * (HEIGHT - 4);
  const line = arrivals
    .flatMap(({ atMs, leadMs, durationMs }) => [
      `${x(atMs).toFixed(1)},${y(leadMs).toFixed(1)}`,
      `${x(atMs).toFixed(1)},${y(leadMs + durationMs).toFixed(1)}`,
    ])
    .join(" ");
  const lead = last.leadMs + last.durationMs;
  const least = Math.min(...arrivals.slice(1).map(({ leadMs }) => leadMs), lead);
  return (
    <div className="grid gap-1">
      <p className="figures text-2xl">
        {(lead / 1000).toFixed(1)} <span className="text-sm text-muted">s</span>
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-12 w-full rounded-md bg-sunken"
        role="img"
        aria-label={`${words.lead}: ${(lead / 1000).toFixed(1)} s, min ${(least / 1000).toFixed(1)} s`}
      >
        <polyline
          points={line}
          fill="none"
          stroke="var(--wave)"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
        {underruns.map(({ atMs }) => (
          <line
            key={atMs}
            x1={x(first + atMs)}
            x2={x(first + atMs)}
            y1={0}
            y2={HEIGHT}
            stroke="var(--bad)"
            strokeWidth="2"
            vectorEffect="non-scaling-stroke"
          />
        ))}
      </svg>
    </div>
  );
}
