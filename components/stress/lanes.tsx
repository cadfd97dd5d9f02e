/** One lane a stream: the strip, the same as a list, and listening to one of them under load. */
"use client";
import { Volume2, VolumeX } from "lucide-react";
import { useState } from "react";
import type { StressTick } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { LaneList } from "./lane-list.tsx";
import { LaneStrip } from "./lane-strip.tsx";
import { listenTo, stopRun, useRunning } from "./running.ts";

export function Lanes({ tick }: { readonly tick: StressTick }) {
  const words = useStrings("stress").lanes;
  return (
    <section aria-labelledby="lanes" className="card grid gap-3 p-3" data-testid="lanes">
      <div className="grid gap-1">
        <h3 id="lanes" className="text-sm font-semibold">
          {words.title}
        </h3>
        <p className="text-xs text-muted">{words.about}</p>
      </div>
      <LaneStrip tick={tick} />
      <Listening tick={tick} />
      <LaneList tick={tick} />
    </section>
  );
}

function Listening({ tick }: { readonly tick: StressTick }) {
  const words = useStrings("stress").lanes;
  const lane = useRunning((run) => run.lane);
  const isHeard = useRunning((run) => run.isHeard);
  const [text, setText] = useState("1");
  const max = tick.lanes.reduce((most, { id }) => Math.max(most, id + 1), 0) + tick.lanesLeftOut;
  const number = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  const fits = number >= 1 && number <= max;
  const state =
    lane === null ? words.none : fill(isHeard ? words.hearing : words.silent, { n: lane + 1 });
  return (
    <div className="flex flex-wrap items-start gap-2">
      <TextField
        label={words.listen}
        value={text}
        inputMode="numeric"
        autoComplete="off"
        className="w-40"
        error={fits || max === 0 ? undefined : fill(words.outOfRange, { max })}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && fits) listenTo(number - 1);
          if (event.key === "Escape") stopRun();
        }}
      />
      <Button className="mt-5" disabled={!fits} onClick={() => listenTo(number - 1)}>
        <Volume2 size={15} aria-hidden />
        {words.start}
      </Button>
      <Button className="mt-5" disabled={lane === null} onClick={() => listenTo(null)}>
        <VolumeX size={15} aria-hidden />
        {words.mute}
      </Button>
      <p className="mt-7 min-w-40 flex-1 text-xs text-muted" data-testid="listening">
        {state}
      </p>
    </div>
  );
}
