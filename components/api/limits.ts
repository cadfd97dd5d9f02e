/** What the server takes at most, read once for the whole page. */
"use client";
import { useEffect } from "react";
import { create } from "zustand";
import type { LimitsDocument } from "../../server/protocol/limits.ts";
import { client } from "./client.ts";

const useStore = create<{ document: LimitsDocument | undefined }>()(() => ({
  document: undefined,
}));
let reading: Promise<void> | undefined;

/** Reads the limits if they are not known; failing leaves them unknown, and the next call tries again. */
export function loadLimits(): Promise<void> {
  reading ??= client()
    .limits()
    .then(
      (document) => useStore.setState({ document }),
      () => {
        reading = undefined;
      },
    );
  return reading;
}

/** The server's limits; undefined until they are known. */
export function useLimits(): LimitsDocument | undefined {
  useEffect(() => void loadLimits(), []);
  return useStore((state) => state.document);
}

export function knownLimits(): LimitsDocument | undefined {
  return useStore.getState().document;
}
