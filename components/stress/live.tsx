/** A run while it is on: where its load comes from, how far it is, its figures, charts and streams. */
"use client";
import { Square } from "lucide-react";
import { useEffect, useRef } from "react";
import type { StressPlan, StressTick } from "../../server/stress/types.ts";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { useCalm } from "./calm.ts";
import { planName } from "./figures.ts";
import { Lanes } from "./lanes.tsx";
import { LiveFigures } from "./live-figures.tsx";
import { Note } from "./note.tsx";
import { stopRun, useRunning } from "./running.ts";
import { latest } from "./series.ts";
import { TickCharts } from "./tick-charts.tsx";
import { useWriters } from "./use-writers.ts";

export function Live() {
  const words = useStrings("stress").live;
  const ticks = useCalm(useRunning((run) => run.ticks));
  const tick = useCalm(useRunning((run) => run.tick));
  const plan = useRunning((run) => run.plan);
  const section = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const hasFigures = tick !== undefined;
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: there is room to scroll to once the figures are there
  useEffect(() => {
    // Below the set-up, where the page is narrow.
    const top = section.current?.getBoundingClientRect().top ?? 0;
    if (top > innerHeight / 2) section.current?.scrollIntoView();
  }, [hasFigures]);
  useProgress();
  return (
    <section
      ref={section}
      aria-labelledby="live"
      className="grid scroll-mt-28 content-start gap-4"
      data-testid="live"
    >
      <RunBar tick={tick} plan={plan}>
        <h2 id="live" ref={heading} tabIndex={-1} className="text-lg font-semibold outline-none">
          {words.title}
        </h2>
      </RunBar>
      <LiveNotes tick={tick} />
      {tick === undefined ? (
        <p className="text-sm text-muted">{words.waiting}</p>
      ) : (
        <>
          <LiveFigures tick={tick} ticks={ticks} />
          <TickCharts ticks={ticks} plan={plan} isLive />
          <Lanes tick={tick} />
        </>
      )}
    </section>
  );
}

interface RunBarProps {
  readonly tick: StressTick | undefined;
  readonly plan: StressPlan | undefined;
  readonly children: React.ReactNode;
}

/** Stays in sight while the page is scrolled: a run can always be stopped. Its shadow hides what passes above it. */
function RunBar({ tick, plan, children }: RunBarProps) {
  const { live: words, setup, runs } = useStrings("stress");
  const { seconds } = useWriters();
  const phase = useRunning((run) => run.phase);
  const shown = phase === "running" ? (tick?.phase ?? "starting") : phase;
  const stage = shown in words.phase ? words.phase[shown as keyof typeof words.phase] : "";
  return (
    <div className="card sticky top-13 z-20 flex shadow-[0_-0.75rem_var(--bg)] flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5 max-sm:top-24">
      {children}
      <p
        className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-3 text-sm"
        data-testid="phase"
      >
        <span className="font-medium">{stage}</span>
        {tick?.phase === "load" && (
          <span className="text-muted">{fill(words.step, { n: tick.step + 1 })}</span>
        )}
        {tick !== undefined && <span className="figures">{seconds(tick.at)}</span>}
        {plan !== undefined && (
          <span className="text-muted">
            {planName(plan, runs)} · {words.from[plan.source]}
          </span>
        )}
      </p>
      <Button
        kind="danger"
        onClick={stopRun}
        disabled={phase !== "running"}
        title={setup.stopHint}
        data-testid="stop"
      >
        <Square size={14} aria-hidden />
        {setup.stop}
      </Button>
    </div>
  );
}

/** Lateness of the generator above which its figures say more of itself than of the server, in milliseconds. */
const LATE_MS = 50;

function LiveNotes({ tick }: { readonly tick: StressTick | undefined }) {
  const words = useStrings("stress").live;
  const isReachable = useRunning((run) => run.isReachable);
  const wasHidden = useRunning((run) => run.wasHidden);
  const late = Math.max(tick?.generator.lagMs ?? 0, tick?.generator.behindMs ?? 0);
  return (
    <div className="grid gap-2 empty:hidden">
      {!isReachable && <Note>{words.lost}</Note>}
      {wasHidden && <Note>{words.hidden}</Note>}
      {late > LATE_MS && <Note>{fill(words.behind, { n: Math.round(late) })}</Note>}
    </div>
  );
}

/** Time between two readings that are spoken, in milliseconds. */
const SAY_MS = 10_000;

/** Tells those who do not see the charts how far the run is. */
function useProgress(): void {
  const words = useStrings("stress").live;
  const { ms } = useWriters();
  const phase = useRunning(({ tick }) => tick?.phase);
  useEffect(() => {
    if (phase !== undefined) announce(words.phase[phase]);
  }, [phase, words]);
  useEffect(() => {
    const timer = setInterval(() => {
      const { tick, ticks } = useRunning.getState();
      if (tick === undefined) return;
      const { spoken, refused } = tick.totals;
      const ttfp = ms(latest(ticks, ({ ttfpMs }) => ttfpMs.p95));
      announce(fill(words.say.progress, { active: tick.active, spoken, refused, ttfp }));
    }, SAY_MS);
    return () => clearInterval(timer);
  }, [words, ms]);
}
