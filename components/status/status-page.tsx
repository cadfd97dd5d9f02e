/** The status page: can it speak, how is it doing, what is it, and what went wrong. */
"use client";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { useAsked } from "./asking.ts";
import { ErrorsTable } from "./errors-table.tsx";
import { Facts } from "./facts.tsx";
import { GaugeCards } from "./gauge-cards.tsx";
import { ModelsList } from "./models-list.tsx";
import { PastTable } from "./past-table.tsx";
import { readinessOf } from "./readiness.ts";
import { VerdictCard } from "./verdict.tsx";

export function StatusPage() {
  const words = useStrings("status");
  const asked = useAsked();
  const isLive = useServer(({ state }) => state !== "offline" && state !== "connecting");
  const tick = useServer((server) => server.tick);
  const readiness = readinessOf(isLive ? tick : undefined, asked);
  return (
    <div className="grid gap-6">
      <div className="grid max-w-prose gap-1">
        <h1 className="text-2xl font-semibold tracking-tight">{words.title}</h1>
        <p className="text-sm text-muted">{words.about}</p>
      </div>
      <VerdictCard readiness={readiness} />
      <ModelsList />
      <GaugeCards isReachable={readiness.verdict !== "offline"} />
      <PastTable />
      <div className="grid items-start gap-3 lg:grid-cols-2">
        <Facts />
        <ErrorsTable />
      </div>
    </div>
  );
}
