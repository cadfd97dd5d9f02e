/** The streams in words, a few dozen at a time, each with a way to listen to it. */
"use client";
import { Volume2 } from "lucide-react";
import { useState } from "react";
import type { StressLane, StressTick } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { listenTo, useRunning } from "./running.ts";

/** Streams that are listed at most: what is read by people. */
const MOST_LISTED = 64;

export function LaneList({ tick }: { readonly tick: StressTick }) {
  const words = useStrings("stress").lanes;
  const [isOpen, setOpen] = useState(false);
  const listed = isOpen ? tick.lanes.slice(0, MOST_LISTED) : [];
  const more = tick.lanes.length - MOST_LISTED + tick.lanesLeftOut;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="min-h-6 text-sm font-medium">{words.list}</summary>
      <ul className="mt-2 grid gap-x-4 sm:grid-cols-2 xl:grid-cols-3">
        {listed.map((lane) => (
          <Lane key={lane.id} lane={lane} />
        ))}
      </ul>
      {more > 0 && <p className="mt-2 text-xs text-muted">{fill(words.more, { n: more })}</p>}
    </details>
  );
}

function Lane({ lane: { id, state, leadMs } }: { readonly lane: StressLane }) {
  const words = useStrings("stress").lanes;
  const isListened = useRunning((run) => run.lane === id);
  const name = state === "speak" && leadMs <= 0 ? "dry" : state;
  return (
    <li className="flex min-h-8 items-center gap-2 border-t border-line text-sm">
      <span className="figures w-24 shrink-0">{fill(words.stream, { n: id + 1 })}</span>
      <span className="min-w-0 flex-1 truncate text-muted">
        {fill(words.state[name], { ms: Math.round(leadMs) })}
      </span>
      <Button
        size="icon"
        kind="quiet"
        aria-label={fill(words.listenTo, { n: id + 1 })}
        aria-pressed={isListened}
        onClick={() => listenTo(isListened ? null : id)}
        className={isListened ? "text-accent!" : ""}
      >
        <Volume2 size={15} aria-hidden />
      </Button>
    </li>
  );
}
