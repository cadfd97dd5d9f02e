/** The list of keys, opened with its button or with `?`. */
"use client";
import { Keyboard } from "lucide-react";
import { useState } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useKeys } from "../ui/keys.ts";

export function HelpButton() {
  const { help } = useStrings("common");
  const { keys } = useStrings("playground");
  const [open, setOpen] = useState(false);
  useKeys({ "?": () => setOpen(true) });
  return (
    <>
      <button
        type="button"
        aria-label={help.open}
        title={`${help.open} (?)`}
        onClick={() => setOpen(true)}
        className="grid size-8 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink max-sm:hidden"
      >
        <Keyboard size={17} aria-hidden />
      </button>
      <Dialog open={open} onOpenChange={setOpen} title={help.title} about={help.about}>
        <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2 text-sm">
          {Object.entries(keys).map(([key, meaning]) => (
            <div key={key} className="contents">
              <dt>
                <kbd className="figures rounded-md border border-line bg-sunken px-2 py-0.5 text-xs">
                  {KEY_NAMES[key] ?? key}
                </kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
    </>
  );
}

/** How keys are written; the words know them by names that are fit for a key of an object. */
const KEY_NAMES: Readonly<Record<string, string>> = {
  speak: "Ctrl / ⌘ Enter",
  stop: "Esc",
  pause: "Space",
  up: "K / J",
  star: "S",
  again: "R",
  fresh: "N",
  blind: "B",
  live: "L",
  recent: "1 – 9",
  search: "/",
  flip: "Shift Space",
  arrows: "↑ ↓",
  palette: "Ctrl / ⌘ K",
  help: "?",
};
