/**
 * The run that is on, or was last: what it has told so far, and what can be done with it. Lives beside React: a run goes on
 * whatever is mounted.
 */
"use client";
import { create } from "zustand";
import type {
  StressPlan,
  StressReport,
  StressTick,
  StressTickRecord,
} from "../../server/stress/types.ts";
import type { Trouble } from "../api/trouble.ts";
import { startInBrowser } from "./browser-run.ts";
import { LaneHistory } from "./lane-history.ts";
import { LaneSound } from "./lane-sound.ts";
import type { RunHandle, RunListener } from "./run-handle.ts";
import { keepRun } from "./runs.ts";
import { thinned } from "./series.ts";
import { startOnServer, takeUpRun } from "./server-run.ts";

interface RunningState {
  /** `ended`: nothing more will come; either there is a report, or `trouble` says why there is none. */
  readonly phase: "idle" | "starting" | "running" | "stopping" | "ended";
  readonly plan: StressPlan | undefined;
  /** ISO 8601; undefined until it has begun. */
  readonly startedAt: string | undefined;
  readonly tick: StressTick | undefined;
  /** Oldest first; of long runs not all. */
  readonly ticks: readonly StressTickRecord[];
  readonly report: StressReport | undefined;
  readonly trouble: Trouble | undefined;
  /** The connection that the run is told on. */
  readonly isReachable: boolean;
  /** The page was in the background while it made load. */
  readonly wasHidden: boolean;
  /** Lane that is listened to, from 0. */
  readonly lane: number | null;
  readonly isHeard: boolean;
}

const NOTHING: RunningState = {
  phase: "idle",
  plan: undefined,
  startedAt: undefined,
  tick: undefined,
  ticks: [],
  report: undefined,
  trouble: undefined,
  isReachable: true,
  wasHidden: false,
  lane: null,
  isHeard: false,
};

export const useRunning = create<RunningState>()(() => NOTHING);

/** What the lanes did; read by the strip, which draws it. */
export const laneHistory = new LaneHistory();

const sound = new LaneSound((isHeard) => useRunning.setState({ isHeard }));
/** The run that is on; undefined as soon as it has ended. */
let handle: RunHandle | undefined;
/** Tells runs apart, so that what comes late of one does not reach the next. */
let turn = 0;

export function isOn({ phase }: Pick<RunningState, "phase">): boolean {
  return phase === "starting" || phase === "running" || phase === "stopping";
}

/**
 * Begins a run, unless one is on.
 * @param maxStreams requests at once that whoever makes the load can carry
 */
export function startRun(plan: StressPlan, maxStreams: number): void {
  if (isOn(useRunning.getState())) return;
  const listener = begin(plan);
  if (plan.source === "browser") void startInBrowser(plan, maxStreams, listener);
  else void startOnServer(plan, listener);
}

/** Takes up what a reloaded page had begun at the server, if it is still on. */
export async function resumeRun(): Promise<void> {
  if (useRunning.getState().phase !== "idle") return;
  const before = turn;
  let listener: RunListener | undefined;
  // Nothing is shown until it is known that there is such a run, nor if another was begun meanwhile.
  const found = () => {
    if (turn === before) listener = begin(undefined);
    return listener;
  };
  const plan = await takeUpRun({
    started: (handle, startedAt) => found()?.started(handle, startedAt),
    tick: (tick) => found()?.tick(tick),
    sound: (info, pcm) => found()?.sound(info, pcm),
    reachable: (isReachable) => found()?.reachable(isReachable),
    ended: (report) => found()?.ended(report),
    failed: (trouble) => found()?.failed(trouble),
  });
  if (plan !== undefined && turn === before + 1) useRunning.setState({ plan });
}

/** Ends the run; what was measured is kept. */
export function stopRun(): void {
  if (useRunning.getState().phase !== "running") return;
  useRunning.setState({ phase: "stopping" });
  handle?.stop();
}

/** Listens to a lane, from 0, or to none. Call it inside a gesture. */
export function listenTo(lane: number | null): void {
  sound.choose(lane);
  handle?.listen(lane);
  useRunning.setState({ lane });
}

/** Forgets a failure that was read. */
export function dismissTrouble(): void {
  useRunning.setState({ trouble: undefined });
}

const HIDDEN = "The page was in the background for a while, and browsers slow such pages down.";

/** Notes that the page is not looked at while it makes load. */
function noteHidden(): void {
  const { phase, plan } = useRunning.getState();
  const makesLoad = phase === "running" && plan?.source === "browser";
  if (document.visibilityState !== "hidden" || !makesLoad) return;
  handle?.caveat(HIDDEN);
  useRunning.setState({ wasHidden: true });
}

function begin(plan: StressPlan | undefined): RunListener {
  const own = ++turn;
  const isOwn = () => own === turn;
  handle = undefined;
  laneHistory.clear();
  sound.choose(null);
  useRunning.setState({ ...NOTHING, phase: "starting", plan });
  document.addEventListener("visibilitychange", noteHidden);
  return {
    started: (started, startedAt) => {
      if (!isOwn()) return;
      handle = started;
      useRunning.setState({ phase: "running", startedAt });
      noteHidden();
    },
    tick: (tick) => isOwn() && receive(tick),
    sound: (info, pcm) => isOwn() && sound.push(info, pcm),
    reachable: (isReachable) => isOwn() && useRunning.setState({ isReachable }),
    ended: (report) => {
      if (!isOwn()) return;
      end({ report });
      void keepRun(report);
    },
    failed: (trouble) => isOwn() && end({ trouble }),
  };
}

function receive(tick: StressTick): void {
  const { lanes, lanesLeftOut: _, probe: __, ...record } = tick;
  laneHistory.add(lanes);
  useRunning.setState(({ ticks }) => ({ tick, ticks: thinned([...ticks, record]) }));
}

function end(outcome: Partial<RunningState>): void {
  handle = undefined;
  document.removeEventListener("visibilitychange", noteHidden);
  sound.finish();
  useRunning.setState({ phase: "ended", isReachable: true, lane: null, ...outcome });
}
