/** What is known of the server: its state, its latest figures, and whether it can be reached. Filled by components/api. */
import { create } from "zustand";
import type { Version } from "../../server/protocol/documents.ts";
import type { StatusTick } from "../../server/protocol/playground.ts";

export interface ServerState {
  readonly state: "connecting" | "offline" | StatusTick["state"];
  readonly tick: StatusTick | undefined;
  /** The last ticks, oldest first, one a second. */
  readonly history: readonly StatusTick[];
  /** The server is there, but lets nobody in without its key. */
  readonly isLocked: boolean;
  /** What it says of its build and engine. */
  readonly about: Version | undefined;
  readonly device: string | undefined;
  readonly version: string | undefined;
}

/** Ticks that are kept: ten minutes. */
const KEPT_TICKS = 600;

export const useServer = create<ServerState>()(() => ({
  state: "connecting",
  tick: undefined,
  history: [],
  isLocked: false,
  about: undefined,
  device: undefined,
  version: undefined,
}));

export function addTick(tick: StatusTick): void {
  useServer.setState(({ history }) => ({
    tick,
    state: tick.state,
    history: [...history.slice(1 - KEPT_TICKS), tick],
  }));
}
