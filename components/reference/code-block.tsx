/** Code to be copied: one piece, or the same request in several languages. */
"use client";
import { useState } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { type CodeOptions, codeFor, LANGUAGES, type Language, type Wish } from "./code.ts";

export function CodeBlock({ label, code }: { readonly label: string; readonly code: string }) {
  return (
    <div className="relative rounded-lg bg-sunken">
      <div className="absolute right-2 top-2">
        <CopyButton text={code} />
      </div>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        className="figures max-h-96 overflow-auto whitespace-pre rounded-lg px-3 pb-3 pt-11 text-xs leading-relaxed"
      >
        {code}
      </section>
    </div>
  );
}

/** The request of a trial as code. */
export function CodeOfWish({
  wish,
  options,
}: {
  readonly wish: Wish;
  readonly options: CodeOptions;
}) {
  const words = useStrings("reference").code;
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <div className="grid gap-2">
      <fieldset className="flex flex-wrap gap-1">
        <legend className="sr-only">{words.languages}</legend>
        {LANGUAGES.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === language}
            onClick={() => setLanguage(name)}
            className="min-h-7 rounded-lg px-2.5 text-xs text-muted hover:bg-sunken aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent-strong"
          >
            {name}
          </button>
        ))}
      </fieldset>
      <CodeBlock label={`${words.label}: ${language}`} code={codeFor(language, wish, options)} />
    </div>
  );
}
