/** The verdict in one line, the stages that a server goes through, and the same for programs. */
"use client";
import { clsx } from "clsx";
import { useEffect, useRef } from "react";
import { askForKey } from "../api/key.ts";
import { announce } from "../frame/announcer.tsx";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { Button } from "../ui/button.tsx";
import { placeOf, type Readiness, STAGES, type Stage, type Verdict } from "./readiness.ts";

const TONES: Readonly<Record<Verdict, string>> = {
  connecting: "bg-line-strong",
  offline: "bg-bad",
  loading: "bg-warn",
  warming: "bg-warn",
  ready: "bg-good",
  full: "bg-warn",
  draining: "bg-warn",
  failed: "bg-bad",
};

export function VerdictCard({ readiness }: { readonly readiness: Readiness }) {
  const words = useStrings("status");
  const isLocked = useServer((server) => server.isLocked);
  const { verdict, reason } = readiness;
  useAnnouncement(words.verdict[verdict], verdict);
  return (
    <section
      aria-labelledby="verdict"
      className="card grid gap-4 p-4"
      data-testid="verdict"
      data-verdict={verdict}
    >
      <div className="grid gap-1">
        <h2 id="verdict" className="flex items-center gap-3 text-xl font-semibold">
          <span aria-hidden className={clsx("size-3 shrink-0 rounded-full", TONES[verdict])} />
          {words.verdict[verdict]}
        </h2>
        <p className="max-w-prose text-sm text-muted">{words.verdictAbout[verdict]}</p>
        {reason !== undefined && reason !== verdict && <p className="text-sm">{reason}</p>}
        {isLocked && (
          <p className="flex flex-wrap items-center gap-3 text-sm">
            {words.locked}
            <Button size="small" onClick={askForKey}>
              {words.enterKey}
            </Button>
          </p>
        )}
      </div>
      <ol aria-label={words.stages.label} className="grid grid-cols-2 gap-2 sm:grid-cols-4">
        {STAGES.map((stage) => (
          <StageStep key={stage} stage={stage} verdict={verdict} />
        ))}
      </ol>
      <ul aria-label={words.links.label} className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {(["health", "ready", "metrics"] as const).map((name) => (
          <li key={name}>
            <a
              href={{ health: "/healthz", ready: "/readyz", metrics: "/metrics" }[name]}
              className="inline-block min-h-6 text-accent underline underline-offset-4"
            >
              {words.links[name]}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function StageStep({ stage, verdict }: { readonly stage: Stage; readonly verdict: Verdict }) {
  const words = useStrings("status").stages;
  const place = placeOf(stage, verdict);
  return (
    <li
      aria-current={place === "now" ? "step" : undefined}
      className={clsx(
        "grid gap-0.5 border-t-4 pt-1.5 text-sm",
        place === "now" && "border-accent font-semibold",
        place === "done" && "border-good",
        (place === "next" || place === undefined) && "border-line text-muted",
      )}
    >
      {words[stage]}
      <span className="text-xs font-normal text-muted">
        {place === undefined ? "–" : words[place]}
      </span>
    </li>
  );
}

/** Changes are read out; what the page begins with is not. */
function useAnnouncement(sentence: string, verdict: Verdict): void {
  const before = useRef(verdict);
  useEffect(() => {
    if (before.current === verdict) return;
    before.current = verdict;
    announce(sentence);
  }, [sentence, verdict]);
}
