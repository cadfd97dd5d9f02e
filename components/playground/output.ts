/** What is known of the visitor's own audio output. */
"use client";
import { create } from "zustand";
import { type OutputHealth, sharedPlayer } from "../audio/player.ts";

const useStore = create<{ health: OutputHealth | undefined }>()(() => ({ health: undefined }));

/** Reads the output's figures anew; called at the moments at which they may have changed. */
export function refreshOutput(): void {
  const health = sharedPlayer().health();
  useStore.setState({ health: health.contextRate > 0 ? health : undefined });
}

/** Rate, latency and state of the output; undefined before it was used. */
export function useOutput(): OutputHealth | undefined {
  return useStore((state) => state.health);
}
