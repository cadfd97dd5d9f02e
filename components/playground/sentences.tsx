/** The sentences of the selected take: lit while they are heard, a click plays from there, or says one again. */
"use client";
import { clsx } from "clsx";
import { useEffect, useState } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { type TakeSentence, useTakes } from "../store/takes.ts";
import { clock } from "./clock.ts";
import { playhead, seekTo } from "./playing.ts";
import { retakeSentence } from "./take-actions.ts";

/** Index of the sentence that is heard; looked up ten times a second. */
function useSpokenSentence(id: string | undefined, sentences: readonly TakeSentence[]): number {
  const [spoken, setSpoken] = useState(-1);
  useEffect(() => {
    const timer = setInterval(() => {
      const at = playhead(id);
      setSpoken(
        at === undefined
          ? -1
          : sentences.findIndex(
              ({ startMs, endMs }) => at >= startMs && at < (endMs ?? Number.POSITIVE_INFINITY),
            ),
      );
    }, 100);
    return () => clearInterval(timer);
  }, [id, sentences]);
  return spoken;
}

export function Sentences() {
  const words = useStrings("playground").script;
  const take = useTakes(({ takes, selected }) => takes.find(({ id }) => id === selected));
  const sentences = take?.sentences ?? [];
  const spoken = useSpokenSentence(take?.id, sentences);
  if (take === undefined || sentences.length === 0) return null;
  return (
    <ol aria-label={words.sentences} className="flex flex-wrap gap-1.5">
      {sentences.map((sentence, index) => (
        <li key={`${sentence.startMs}-${sentence.text}`} className="group flex max-w-full">
          <button
            type="button"
            aria-current={index === spoken || undefined}
            title={fill(words.seek, { text: sentence.text.trim() })}
            onClick={() => seekTo(take.id, sentence.startMs)}
            className={clsx(
              "min-w-0 rounded-l-lg border border-r-0 border-line px-2 py-1 text-left text-xs",
              index === spoken
                ? "bg-accent-soft font-medium text-accent-strong"
                : "bg-surface hover:bg-sunken",
            )}
          >
            <span className="figures mr-1.5 text-muted">{clock(sentence.startMs)}</span>
            <span className="inline-block max-w-56 truncate align-bottom">
              {sentence.text.trim()}
            </span>
          </button>
          <button
            type="button"
            aria-label={fill(words.retake, { text: sentence.text.trim() })}
            title={words.retakeShort}
            onClick={() => retakeSentence(take, sentence.text.trim())}
            className="rounded-r-lg border border-line bg-surface px-1.5 text-xs text-muted hover:bg-sunken hover:text-ink"
          >
            ↻
          </button>
        </li>
      ))}
    </ol>
  );
}
