/** Real-time factor as a dial: the left end is instant, the mark in the middle is real time. */
"use client";
import { useLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";

/** Milliseconds of sound in a frame, until the server has said. */
const USUAL_FRAME_MS = 80;

/** Factors run over the dial by their logarithm, from a hundredth to a hundred: 1 is in the middle. */
function angleOf(rtf: number): number {
  const decades = Math.log10(Math.min(100, Math.max(0.01, rtf)));
  return (decades / 2) * 90;
}

export function RtfDial({ rtf }: { readonly rtf: number | undefined }) {
  const words = useStrings("playground").gauges;
  const frameMs = useLimits()?.frame_ms ?? USUAL_FRAME_MS;
  if (rtf === undefined || rtf <= 0) return <p className="text-sm text-muted">{words.none}</p>;
  const isFast = rtf < 1;
  const times = 1 / rtf;
  return (
    <div className="flex items-center gap-3">
      <svg viewBox="-50 -50 100 56" className="w-24 shrink-0" aria-hidden>
        <title>{words.rtf}</title>
        <path d="M -42 0 A 42 42 0 0 1 0 -42" fill="none" stroke="var(--good)" strokeWidth="7" />
        <path
          d="M 0 -42 A 42 42 0 0 1 42 0"
          fill="none"
          stroke="var(--bad)"
          strokeWidth="7"
          strokeDasharray="5 3"
        />
        <line x1="0" y1="-33" x2="0" y2="-49" stroke="var(--ink)" strokeWidth="2" />
        <g transform={`rotate(${angleOf(rtf).toFixed(1)})`}>
          <line
            x1="0"
            y1="4"
            x2="0"
            y2="-36"
            stroke="var(--ink)"
            strokeWidth="2.5"
            strokeLinecap="round"
          />
        </g>
        <circle r="4" fill="var(--ink)" />
      </svg>
      <div className="grid">
        <p className="figures text-2xl" data-testid="rtf">
          {rtf < 0.1 ? rtf.toFixed(3) : rtf.toFixed(2)}
        </p>
        <p className="text-xs text-muted">
          {isFast
            ? fill(words.faster, { times: times >= 10 ? times.toFixed(0) : times.toFixed(1) })
            : words.slower}
        </p>
        <p className="figures text-xs text-muted">
          {fill(words.frames, { n: (1000 / frameMs / rtf).toFixed(0) })}
        </p>
      </div>
    </div>
  );
}
