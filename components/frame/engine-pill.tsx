/** State of the server and its engine in one word, with its load; leads to the status page. */
"use client";
import { clsx } from "clsx";
import Link from "next/link";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";

const DOTS = {
  connecting: "bg-line-strong",
  offline: "bg-bad",
  warming_up: "bg-warn",
  ready: "bg-good",
  shutting_down: "bg-warn",
  engine_dead: "bg-bad",
} as const;

export function EnginePill() {
  const { engine } = useStrings("common");
  const state = useServer((server) => server.state);
  const active = useServer((server) => server.tick?.active ?? 0);
  const waiting = useServer((server) => server.tick?.waiting ?? 0);
  const capacity = useServer((server) => server.tick?.capacity ?? 0);
  const isLocked = useServer((server) => server.isLocked);
  const device = useServer((server) => server.device);
  const words = {
    connecting: engine.connecting,
    offline: isLocked ? engine.locked : engine.offline,
    warming_up: engine.warming,
    ready: engine.ready,
    shutting_down: engine.closing,
    engine_dead: engine.failed,
  }[state];
  const details = [
    device && fill(engine.device, { device }),
    capacity > 0 && fill(engine.load, { active, capacity }),
    waiting > 0 && fill(engine.waiting, { waiting }),
    state === "offline" && !isLocked && engine.offlineHint,
  ].filter(Boolean);
  return (
    <Link
      href="/status"
      title={details.join(" · ")}
      data-state={state}
      className="flex min-h-8 items-center gap-2 rounded-full border border-line bg-surface px-3 text-xs hover:border-line-strong"
    >
      <span aria-hidden className={clsx("size-2 rounded-full", DOTS[state])} />
      <span>{words}</span>
      {device && <span className="figures text-muted max-md:hidden">{device}</span>}
      {state === "ready" && capacity > 0 && (
        <span className="figures text-muted">
          <span aria-hidden>
            {active}/{capacity}
          </span>
          <span className="sr-only">{fill(engine.load, { active, capacity })}</span>
        </span>
      )}
    </Link>
  );
}
