/** Whether the server can speak, from whatever it can be asked: its ticks, else its two small documents. Pure. */
import type { Health, Ready } from "../../server/protocol/documents.ts";
import type { StatusTick } from "../../server/protocol/playground.ts";

export type Verdict =
  | "connecting"
  | "offline"
  | "loading"
  | "warming"
  | "ready"
  | "full"
  | "draining"
  | "failed";

export interface Readiness {
  readonly verdict: Verdict;
  /** What the server says beyond that, in its own words. */
  readonly reason: string | undefined;
}

/** What was answered when it was asked; `unreachable` if nothing was. */
export type Asked = { readonly ready: Ready; readonly health: Health } | "unreachable" | undefined;

/** @param tick the latest one, while ticks come */
export function readinessOf(tick: StatusTick | undefined, asked: Asked): Readiness {
  if (tick !== undefined) return { verdict: tick.stage, reason: tick.reason };
  if (asked === undefined) return { verdict: "connecting", reason: undefined };
  if (asked === "unreachable") return { verdict: "offline", reason: undefined };
  const { ready, health } = asked;
  if (ready.ready) return { verdict: "ready", reason: undefined };
  switch (ready.reason) {
    case "overloaded":
      return { verdict: "full", reason: undefined };
    case "shutting_down":
      return { verdict: "draining", reason: undefined };
    case "engine_dead":
      return { verdict: "failed", reason: health.reason };
    default:
      return { verdict: health.reason === "loading" ? "loading" : "warming", reason: undefined };
  }
}

export const STAGES = ["loading", "warming", "ready", "draining"] as const;
export type Stage = (typeof STAGES)[number];

/** Where a stage stands beside the present one; undefined while that is not known or lies outside of them. */
export function placeOf(stage: Stage, verdict: Verdict): "done" | "now" | "next" | undefined {
  const present = STAGES.indexOf(verdict === "full" ? "ready" : (verdict as Stage));
  if (present === -1) return undefined;
  const place = STAGES.indexOf(stage);
  if (place === present) return "now";
  return place < present ? "done" : "next";
}
