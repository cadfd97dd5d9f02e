/** Why a run did not begin, or why it has no report, with what was measured of it. */
"use client";
import type { Trouble } from "../api/trouble.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Problem } from "../ui/problem.tsx";
import { dismissTrouble, isOn, useRunning } from "./running.ts";
import { TickCharts } from "./tick-charts.tsx";

export function RunTrouble() {
  const words = useStrings("stress").refusals;
  const isRunning = useRunning(isOn);
  const trouble = useRunning((run) => run.trouble);
  const ticks = useRunning((run) => run.ticks);
  const plan = useRunning((run) => run.plan);
  if (isRunning || trouble === undefined) return null;
  return (
    <div className="grid gap-4" data-testid="run-trouble" data-code={trouble.code}>
      <Problem key={trouble.code} trouble={worded(trouble, words)} onDismiss={dismissTrouble} />
      {ticks.length > 0 && <TickCharts ticks={ticks} plan={plan} />}
    </div>
  );
}

/** Refusals of the generator in the reader's language; any other as it came. */
function worded(
  trouble: Trouble,
  words: Readonly<Record<string, { readonly text: string; readonly next: string }>>,
): Trouble {
  const known = Object.hasOwn(words, trouble.code) ? words[trouble.code] : undefined;
  return known === undefined ? trouble : { ...trouble, message: known.text, hint: known.next };
}
