/** Where the load comes from, and what that does to the figures. */
"use client";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Choice } from "./choice.tsx";
import type { SourceLimits } from "./form.ts";
import { changeForm, useForm } from "./form-store.ts";
import { useGenerator } from "./server-run.ts";

interface GeneratorNote {
  /** The server's workers cannot be asked. */
  readonly isOff: boolean;
  /** What stands in their way, in a sentence. */
  readonly text: string | undefined;
}

/** What there is to say of the server's workers. */
export function useGeneratorNote(): GeneratorNote {
  const words = useStrings("stress").setup;
  const { state, hello, isBusy } = useGenerator();
  if (state === "connecting") return { isOff: true, text: words.serverWaiting };
  if (state === "absent") return { isOff: true, text: words.serverNone };
  if (hello?.enabled === false) return { isOff: true, text: words.serverOff };
  return { isOff: false, text: isBusy ? words.serverBusy : undefined };
}

export function SourceChoice({ limits }: { readonly limits: SourceLimits }) {
  const words = useStrings("stress").setup;
  const source = useForm((form) => form.source);
  const { isOff, text } = useGeneratorNote();
  const about = source === "browser" ? words.browserAbout : words.serverAbout;
  return (
    <Choice
      label={words.source}
      value={source}
      options={[
        { value: "browser", label: words.browser },
        { value: "server", label: words.server, isOff: isOff && source !== "server" },
      ]}
      onChange={(source) => changeForm({ source })}
    >
      <p>{fill(about, { max: limits.streams })}</p>
      {text !== undefined && <p data-testid="generator-note">{text}</p>}
    </Choice>
  );
}
