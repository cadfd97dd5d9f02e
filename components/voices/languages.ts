/** Languages of voices, by the names that the visitor's language has for them. */
"use client";
import { useLimits } from "../api/limits.ts";
import { useLocale } from "../i18n/provider.tsx";
import { useChosenModel } from "../store/models.ts";

export interface Language {
  readonly code: string;
  readonly name: string;
}

/** The name of a language; the code where there is none. */
export function languageName(code: string, locale: string): string {
  try {
    return new Intl.DisplayNames([locale], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

/**
 * What may be stated as the language of a voice: those that the model speaks, by name.
 * @param current a code that has to be among them, unless it is empty
 */
export function useLanguages(current: string): Language[] {
  const locale = useLocale();
  const limits = useLimits();
  const known = useChosenModel()?.languages ?? limits?.languages ?? [];
  return [...new Set(current === "" ? known : [...known, current])]
    .map((code) => ({ code, name: languageName(code, locale) }))
    .sort((a, b) => a.name.localeCompare(b.name, locale));
}
