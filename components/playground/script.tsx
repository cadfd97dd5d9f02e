/** What will be said: the text with its counter, and the sentences of the selected take. */
"use client";
import { useEffect, useRef, useState } from "react";
import { useLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { changeSettings, FIRST_TEXT, useSettings } from "../store/settings.ts";
import { Button } from "../ui/button.tsx";
import { cleanPaste, estimateSeconds } from "./paste.ts";

export function Script() {
  const words = useStrings("playground").script;
  const text = useSettings((settings) => settings.text);
  const limit = useLimits()?.limits.max_input_chars;
  const [wasCleaned, setCleaned] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const chars = [...text].length;
  const over = limit === undefined ? 0 : chars - limit;

  useEffect(() => {
    if (!wasCleaned) return;
    const timer = setTimeout(() => setCleaned(false), 4000);
    return () => clearTimeout(timer);
  }, [wasCleaned]);

  const onPaste = (event: React.ClipboardEvent<HTMLTextAreaElement>) => {
    const pasted = event.clipboardData.getData("text/plain");
    const clean = cleanPaste(pasted);
    if (clean === pasted) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    event.currentTarget.setRangeText(clean, selectionStart, selectionEnd, "end");
    changeSettings({ text: event.currentTarget.value });
    setCleaned(true);
  };

  return (
    <div className="grid gap-2">
      <textarea
        ref={area}
        id="script"
        aria-label={words.label}
        aria-describedby="script-count"
        aria-invalid={over > 0 || undefined}
        value={text}
        placeholder={words.placeholder}
        rows={5}
        spellCheck
        onPaste={onPaste}
        onChange={(event) => changeSettings({ text: event.target.value })}
        className="w-full resize-y rounded-xl border border-line bg-surface px-4 py-3 text-base leading-relaxed placeholder:text-muted hover:border-line-strong aria-invalid:border-bad sm:text-lg"
      />
      <div className="flex flex-wrap items-center justify-between gap-2 text-xs text-muted">
        <p id="script-count" className={over > 0 ? "font-medium text-bad" : ""}>
          {over > 0 && limit !== undefined
            ? fill(words.tooLong, { over, limit })
            : `${limit === undefined ? fill(words.count, { chars, limit: "…" }) : fill(words.count, { chars, limit })} · ${fill(words.estimate, { seconds: estimateSeconds(text) })}`}
        </p>
        <div className="flex items-center gap-1">
          <span aria-live="polite">{wasCleaned && words.cleaned}</span>
          {text !== FIRST_TEXT && (
            <Button
              kind="quiet"
              size="small"
              onClick={(event) => {
                changeSettings({ text: FIRST_TEXT });
                // The button goes with this. A finger has no focus to keep, and would bring up the keyboard of a phone.
                if (event.detail === 0) area.current?.focus();
              }}
            >
              {words.sample}
            </Button>
          )}
          {text !== "" && (
            <Button
              kind="quiet"
              size="small"
              onClick={() => {
                changeSettings({ text: "" });
                area.current?.focus();
              }}
            >
              {words.clear}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}
