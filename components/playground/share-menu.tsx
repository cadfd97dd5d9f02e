/** The set-up as a link, or as code in three languages. */
"use client";
import { Code, Link2 } from "lucide-react";
import { useState } from "react";
import { apiKey } from "../api/key.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useModels } from "../store/models.ts";
import { takeById, useTakes } from "../store/takes.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { fragmentOf } from "./share.ts";
import { LANGUAGES, type Language, snippet } from "./snippets.ts";
import { currentRequest } from "./take-actions.ts";

/** The selected take's request, or what the controls ask for. */
function requestToShare() {
  return takeById(useTakes.getState().selected)?.request ?? currentRequest();
}

export function ShareMenu() {
  const words = useStrings("playground").transport;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <CopyButton
        size="normal"
        label={words.share}
        aria-label={words.share}
        text={() => `${location.origin}/${fragmentOf(requestToShare())}`}
      >
        <Link2 size={15} aria-hidden />
      </CopyButton>
      <Button onClick={() => setOpen(true)} aria-haspopup="dialog">
        <Code size={15} aria-hidden />
        {words.code}
      </Button>
      {isOpen && <CodeDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function CodeDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useStrings("playground").transport;
  const [language, setLanguage] = useState<Language>("curl");
  const [request] = useState(requestToShare);
  const model = useModels(({ models }) => models.find(({ isDefault }) => isDefault)?.id ?? "tts-1");
  const code = snippet(language, request, {
    origin: location.origin,
    model,
    needsKey: apiKey() !== "",
  });
  return (
    <Dialog open onOpenChange={(open) => open || onClose()} title={words.code} wide>
      <div className="grid gap-3">
        <div className="flex items-center justify-between gap-3">
          <div role="tablist" aria-label={words.code} className="flex gap-1">
            {LANGUAGES.map((name) => (
              <button
                key={name}
                type="button"
                role="tab"
                aria-selected={name === language}
                onClick={() => setLanguage(name)}
                className="rounded-lg px-3 py-1.5 text-sm text-muted hover:bg-sunken aria-selected:bg-accent-soft aria-selected:font-medium aria-selected:text-accent-strong"
              >
                {name}
              </button>
            ))}
          </div>
          <CopyButton text={code} />
        </div>
        <section
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
          tabIndex={0}
          aria-label={language}
          className="figures max-h-[50vh] overflow-auto rounded-lg bg-sunken p-3 text-xs leading-relaxed whitespace-pre"
        >
          {code}
        </section>
      </div>
    </Dialog>
  );
}
