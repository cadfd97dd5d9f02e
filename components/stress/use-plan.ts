/** The set-up, read: its plan or what is wrong with it, and what whoever makes the load can take. */
"use client";
import { useEffect, useMemo, useState } from "react";
import { STRESS_BOUNDS } from "../../server/stress/types.ts";
import { useChosenModel, useHasModels } from "../store/models.ts";
import { browserLimits, type ReadForm, readForm, type SourceLimits } from "./form.ts";
import { useForm } from "./form-store.ts";
import { useGenerator } from "./server-run.ts";

/** Until the server has said what its workers may. */
const UNTOLD: SourceLimits = {
  streams: STRESS_BOUNDS.concurrency,
  seconds: STRESS_BOUNDS.seconds,
  processes: STRESS_BOUNDS.processes,
};

export interface PlanReading extends ReadForm {
  readonly limits: SourceLimits;
}

export function usePlan(): PlanReading {
  const form = useForm();
  const hello = useGenerator((state) => state.hello);
  const isMultiplexed = useMultiplexed();
  const own = useChosenModel()?.id;
  const model = useHasModels() ? own : undefined;
  return useMemo(() => {
    const { maxStreams: streams, maxSeconds: seconds, maxProcesses: processes } = hello ?? {};
    const workers =
      streams === undefined || seconds === undefined || processes === undefined
        ? UNTOLD
        : { streams, seconds, processes };
    const limits = form.source === "server" ? workers : browserLimits(form.target, isMultiplexed);
    return { ...readForm(form, limits, model), limits };
  }, [form, hello, isMultiplexed, model]);
}

/** Whether the browser came here over a protocol that carries many requests on one connection. */
function useMultiplexed(): boolean {
  const [isMultiplexed, set] = useState(false);
  useEffect(() => {
    const [navigation] = performance.getEntriesByType("navigation");
    const protocol = (navigation as PerformanceNavigationTiming | undefined)?.nextHopProtocol;
    set(protocol === "h2" || protocol === "h3");
  }, []);
  return isMultiplexed;
}
