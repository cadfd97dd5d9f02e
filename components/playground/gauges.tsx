/** What was measured of the selected take: time to first sound, real-time factor, buffer lead, continuity. */
"use client";
import { Info } from "lucide-react";
import { type ReactNode, useState } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { type Take, type TtfpSplit, useTakes } from "../store/takes.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { LeadChart } from "./lead-chart.tsx";
import { useOutput } from "./output.ts";
import { RtfDial } from "./rtf-dial.tsx";

export function Gauges() {
  const words = useStrings("playground").gauges;
  const take = useTakes(({ takes, selected }) => takes.find(({ id }) => id === selected));
  return (
    <section aria-labelledby="gauges-title" className="grid content-start gap-3">
      <h2 id="gauges-title" className="text-sm font-semibold">
        {words.title}
      </h2>
      <div className="grid gap-3 sm:grid-cols-2 xl:grid-cols-1">
        <Gauge title={words.ttfp} about={words.ttfpAbout} height="min-h-38">
          <Ttfp take={take} />
        </Gauge>
        <Gauge title={words.rtf} about={words.rtfAbout} height="min-h-20">
          <RtfDial rtf={take?.rtf} />
        </Gauge>
        <Gauge title={words.lead} about={words.leadAbout} height="min-h-21">
          <LeadChart arrivals={take?.arrivals ?? []} underruns={take?.underruns ?? []} />
        </Gauge>
        <Gauge title={words.continuity} about={words.continuityAbout} height="min-h-13">
          <Continuity take={take} />
        </Gauge>
      </div>
      <Output />
      {take && (
        <CopyButton
          kind="quiet"
          label={words.raw}
          text={() => JSON.stringify(rawFigures(take), null, 2)}
          className="justify-self-start"
        />
      )}
    </section>
  );
}

/** Everything that was measured, for those who want to look closer. */
function rawFigures(take: Take): object {
  const {
    id,
    createdAt,
    request,
    state,
    durationMs,
    ttfpMs,
    split,
    rtf,
    arrivals,
    underruns,
    hash,
    stopMs,
  } = take;
  return {
    id,
    createdAt,
    request,
    state,
    durationMs,
    ttfpMs,
    split,
    rtf,
    stopMs,
    hash,
    underruns,
    arrivals,
  };
}

interface GaugeProps {
  readonly title: string;
  readonly about: string;
  /** Class of the least height: what is filled with every take must not push the rest about. */
  readonly height: string;
  readonly children: ReactNode;
}

function Gauge({ title, about, height, children }: GaugeProps) {
  const words = useStrings("playground").gauges;
  const [isOpen, setOpen] = useState(false);
  return (
    <section aria-label={title} className="card grid content-start gap-2 p-3">
      <div className="flex items-center justify-between gap-2">
        <h3 className="text-xs font-medium text-muted">{title}</h3>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={`${words.what} ${title}`}
          onClick={() => setOpen(!isOpen)}
          className="grid size-6 place-items-center rounded-md text-muted hover:bg-sunken hover:text-ink"
        >
          <Info size={14} aria-hidden />
        </button>
      </div>
      {isOpen && <p className="text-xs leading-relaxed text-muted">{about}</p>}
      <div className={height}>{children}</div>
    </section>
  );
}

/** Order of time, and the pattern that tells the parts apart beside their colour. */
const PARTS: readonly { readonly key: keyof TtfpSplit; readonly fill: string }[] = [
  { key: "network", fill: "var(--line-strong)" },
  { key: "queue", fill: "var(--warn)" },
  { key: "prefill", fill: "var(--wave)" },
  { key: "firstFrame", fill: "var(--accent)" },
  { key: "codec", fill: "var(--good)" },
  { key: "client", fill: "var(--muted)" },
];

function Ttfp({ take }: { readonly take: Take | undefined }) {
  const words = useStrings("playground").gauges;
  if (take?.ttfpMs === undefined) return <p className="text-sm text-muted">{words.none}</p>;
  const { split, ttfpMs } = take;
  return (
    <div className="grid gap-2">
      <p className="figures text-2xl" data-testid="ttfp">
        {Math.round(ttfpMs)} <span className="text-sm text-muted">ms</span>
      </p>
      {split && (
        <>
          <div aria-hidden className="flex h-3 gap-px overflow-hidden rounded-full bg-sunken">
            {PARTS.map(({ key, fill: color }) => (
              <div key={key} style={{ flexGrow: split[key], background: color }} />
            ))}
          </div>
          <dl className="grid grid-cols-3 gap-x-3 gap-y-1 text-xs">
            {PARTS.map(({ key, fill: color }) => (
              <div key={key} className="grid">
                <dt className="flex items-center gap-1 text-muted">
                  <span aria-hidden className="size-2 rounded-sm" style={{ background: color }} />
                  {words[key]}
                </dt>
                <dd className="figures">{split[key].toFixed(1)}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {take.headSilenceMs !== undefined && (
        <p className="text-xs text-muted">
          {fill(words.silence, { ms: Math.round(take.headSilenceMs) })}
        </p>
      )}
    </div>
  );
}

function Continuity({ take }: { readonly take: Take | undefined }) {
  const words = useStrings("playground").gauges;
  if (take === undefined || take.arrivals.length === 0) {
    return <p className="text-sm text-muted">{words.none}</p>;
  }
  const lostMs = take.underruns.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const share = take.durationMs > 0 ? take.durationMs / (take.durationMs + lostMs) : 1;
  const count = take.underruns.length;
  return (
    <div className="grid gap-1">
      <p className="figures text-2xl">
        {(100 * share).toFixed(share === 1 ? 0 : 1)} <span className="text-sm text-muted">%</span>
      </p>
      <p className="text-xs text-muted" data-testid="underruns" data-count={count}>
        {count === 0 ? words.noUnderruns : fill(words.underruns, { count, ms: Math.round(lostMs) })}
      </p>
    </div>
  );
}

function Output() {
  const words = useStrings("playground").gauges;
  const output = useOutput();
  if (output === undefined) return null;
  const { contextRate, outputLatencyMs, isResampled } = output;
  return (
    <p className="text-xs text-muted">
      {fill(words.output, { rate: contextRate, latency: Math.round(outputLatencyMs) })}
      {isResampled && ` · ${fill(words.resampled, { rate: contextRate })}`}
    </p>
  );
}
