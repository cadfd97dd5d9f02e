/** What a new voice starts with, and what is done with a file, wherever on the page it comes in. */
"use client";
import { useLimits } from "../api/limits.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { type Beginnings, readFile } from "./draft.ts";
import { cancelRecording } from "./recording.ts";
import { importVoice } from "./voice-actions.ts";
import { isVoiceFile } from "./voice-file.ts";

/** The visitor's own language is the likeliest to be spoken, if the model knows it. */
export function useBeginnings(): Beginnings {
  const { details } = useStrings("voices");
  const locale = useLocale();
  const limits = useLimits();
  return { name: details.newName, language: limits?.languages.includes(locale) ? locale : "" };
}

/** Imports an exported voice; any other file becomes the draft. */
export function acceptFile(file: File, beginnings: Beginnings): void {
  if (isVoiceFile(file)) {
    void importVoice(file);
    return;
  }
  cancelRecording();
  void readFile(file, beginnings);
}
