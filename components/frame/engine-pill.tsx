/** State of the server and its engine in one word, with its load; leads to the status page. */
"use client";
import { clsx } from "clsx";
import Link from "next/link";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useChosenModel, useHasModels, useModelStatus } from "../store/models.ts";
import { useServer } from "../store/server.ts";

const DOTS = {
  connecting: "bg-line-strong",
  offline: "bg-bad",
  warming_up: "bg-warn",
  ready: "bg-good",
  shutting_down: "bg-warn",
  engine_dead: "bg-bad",
  unloaded: "bg-line-strong",
} as const;

const STATES = {
  unloaded: "unloaded",
  loading: "warming_up",
  warming: "warming_up",
  ready: "ready",
  draining: "unloaded",
  failed: "engine_dead",
} as const;

export function EnginePill() {
  const { engine } = useStrings("common");
  const server = useServer((state) => state.state);
  const isLocked = useServer((server) => server.isLocked);
  const ownDevice = useServer((server) => server.device);
  const tick = useServer((server) => server.tick);
  const model = useChosenModel();
  const hasModels = useHasModels();
  // Where there are several models, the pill is that of the one which speaks next.
  const reading = useModelStatus(hasModels ? model : undefined)?.reading;
  const { active = 0, waiting = 0, capacity = 0 } = reading ?? tick ?? {};
  const isUp = server !== "offline" && server !== "connecting" && server !== "shutting_down";
  const state = reading !== undefined && isUp ? STATES[reading.stage] : server;
  const device = hasModels ? model?.device : ownDevice;
  const words = {
    unloaded: engine.unloaded,
    connecting: engine.connecting,
    offline: isLocked ? engine.locked : engine.offline,
    warming_up: engine.warming,
    ready: engine.ready,
    shutting_down: engine.closing,
    engine_dead: engine.failed,
  }[state];
  const details = [
    hasModels && model?.name,
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
      {hasModels && <span className="max-w-40 truncate max-md:hidden">{model?.name}</span>}
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
