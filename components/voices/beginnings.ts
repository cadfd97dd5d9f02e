/** What a new voice starts with. Light, so that other pages can have it without the workbench that uses it. */
"use client";
import { useLimits } from "../api/limits.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";

/** What is known of the voice beforehand, in the visitor's language. */
export interface Beginnings {
  /** Name of a voice whose file says none. */
  readonly name: string;
  readonly language: string;
}

/** The visitor's own language is the likeliest to be spoken, if the model knows it. */
export function useBeginnings(): Beginnings {
  const { details } = useStrings("voices");
  const locale = useLocale();
  const limits = useLimits();
  return { name: details.newName, language: limits?.languages.includes(locale) ? locale : "" };
}
