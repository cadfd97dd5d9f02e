/** How figures are written in the reader's language, for components. */
"use client";
import { useMemo } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { type Writers, writersFor } from "./figures.ts";

export function useWriters(): Writers {
  const words = useStrings("stress");
  const common = useStrings("common");
  return useMemo(() => writersFor(words, common), [words, common]);
}
