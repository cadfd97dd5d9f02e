/** The keys of the playground. Which they are is listed in the help; what they do is each part's own affair. */
"use client";
import { useEffect } from "react";
import { useServer } from "../store/server.ts";
import { useSettings } from "../store/settings.ts";
import { takeById, useTakes } from "../store/takes.ts";
import { chooseVoice, useVoiceChoice } from "../store/voices.ts";
import { useKeys } from "../ui/keys.ts";
import { isSounding, togglePlay, usePlaying } from "./playing.ts";
import { speak, stopAll, useSpeaking } from "./speaking.ts";
import { again, currentRequest, freshSeeds, stepSelection, toggleStar } from "./take-actions.ts";

function selectedTake() {
  return takeById(useTakes.getState().selected);
}

export function usePlaygroundKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        const { text } = useSettings.getState();
        const isThere = useServer.getState().state !== "offline";
        if (text.trim() !== "" && isThere) speak(currentRequest(), { askedAt: event.timeStamp });
      } else if (event.key === "Escape" && !event.defaultPrevented) {
        const isBusy =
          useSpeaking.getState().active.size > 0 || isSounding(usePlaying.getState().state);
        const isInside = event.target instanceof Element && event.target.closest("[role=dialog]");
        if (isBusy && !isInside) stopAll();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);

  const withTake = (action: (take: NonNullable<ReturnType<typeof selectedTake>>) => void) => () => {
    const take = selectedTake();
    if (take !== undefined) action(take);
  };
  const recent = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [
      String(index + 1),
      () => {
        const id = useVoiceChoice.getState().recent[index];
        if (id !== undefined) chooseVoice(id);
      },
    ]),
  );
  useKeys({
    ...recent,
    " ": (event) => {
      // Buttons and lists have a Space of their own.
      if (
        event.target instanceof Element &&
        event.target.closest("button, a, input, [role=listbox]")
      )
        return;
      event.preventDefault();
      togglePlay(useTakes.getState().selected);
    },
    j: () => stepSelection(1),
    k: () => stepSelection(-1),
    s: withTake(toggleStar),
    r: withTake(again),
    n: withTake(freshSeeds),
  });
}
