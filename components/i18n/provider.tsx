/** Hands the words of one language, chosen by the server, to every component below. */
"use client";
import { createContext, type ReactNode, useContext } from "react";
import type { Locale } from "./locales.ts";
import type { Strings } from "./strings.ts";

interface Words {
  readonly locale: Locale;
  readonly strings: Strings;
}

const WordsContext = createContext<Words | undefined>(undefined);

export function WordsProvider({ locale, strings, children }: Words & { children: ReactNode }) {
  return <WordsContext value={{ locale, strings }}>{children}</WordsContext>;
}

function useWords(): Words {
  const words = useContext(WordsContext);
  if (words === undefined) throw new Error("There is no WordsProvider above this component");
  return words;
}

/** The words of a part of the interface: `useStrings("voices")`. */
export function useStrings<P extends keyof Strings>(part: P): Strings[P] {
  return useWords().strings[part];
}

export function useLocale(): Locale {
  return useWords().locale;
}
