/** The figures of the moment, large. */
"use client";
import type { StressTick, StressTickRecord } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useRunning } from "./running.ts";
import { latest } from "./series.ts";
import { useWriters } from "./use-writers.ts";

interface LiveFiguresProps {
  readonly tick: StressTick;
  readonly ticks: readonly StressTickRecord[];
}

export function LiveFigures({ tick, ticks }: LiveFiguresProps) {
  const { figures: words } = useStrings("stress").live;
  const { ms, times, percent, plain } = useWriters();
  const isRate = useRunning(({ plan }) => plan?.shape.kind === "poisson");
  const { spoken, refused, failed, continuous, continuousStrict, underruns, audioSeconds } =
    tick.totals;
  const share = (part: number) => (spoken === 0 ? null : part / spoken);
  const codes = Object.entries(tick.totals.codes);
  const shown: [id: string, name: string, value: string, note: string][] = [
    [
      "active",
      words.active,
      String(tick.active),
      fill(isRate ? words.aSecond : words.ofWanted, { n: plain(tick.wanted) }),
    ],
    ["ttfp", words.ttfp, ms(latest(ticks, ({ ttfpMs }) => ttfpMs.p95)), ""],
    [
      "speed",
      words.speed,
      times(tick.timesRealTime),
      fill(words.audio, { n: Math.round(audioSeconds) }),
    ],
    [
      "continuity",
      words.continuity,
      percent(share(continuous)),
      fill(words.strict, { n: percent(share(continuousStrict)) }),
    ],
    ["spoken", words.spoken, String(spoken), fill(words.underruns, { n: underruns })],
    ["refused", words.refused, String(refused), ""],
    ["failed", words.failed, String(failed), ""],
  ];
  return (
    <div className="grid gap-2">
      <dl className="grid grid-cols-2 gap-2 sm:grid-cols-4 xl:grid-cols-7">
        {shown.map(([id, name, value, note]) => (
          <div key={id} className="card grid content-start px-3 py-2" data-figure={id}>
            <dt className="text-xs text-muted">{name}</dt>
            <dd className="grid">
              <span className="figures text-xl font-semibold">{value}</span>
              <span className="min-h-4 text-xs text-muted">{note}</span>
            </dd>
          </div>
        ))}
      </dl>
      {codes.length > 0 && (
        <p className="text-sm">
          <span className="text-muted">{words.codes}: </span>
          <span className="figures">
            {codes.map(([code, count]) => `${code} ${count}`).join(" · ")}
          </span>
        </p>
      )}
    </div>
  );
}
