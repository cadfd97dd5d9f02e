/** Time-stamped marks on a take: a designer's review sheet. */
"use client";
import { Flag, X } from "lucide-react";
import { useState } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import type { Take } from "../store/takes.ts";
import { Button } from "../ui/button.tsx";
import { clock } from "./clock.ts";
import { playhead, seekTo } from "./playing.ts";
import { addMark, change } from "./take-actions.ts";

export function Marks({ take }: { readonly take: Take }) {
  const words = useStrings("playground").takes;
  const { actions } = useStrings("common");
  const [text, setText] = useState("");
  return (
    <div className="grid gap-1.5">
      <form
        className="flex gap-1.5"
        onSubmit={(event) => {
          event.preventDefault();
          addMark(take, playhead(take.id) ?? 0, text);
          setText("");
        }}
      >
        <input
          aria-label={words.markText}
          placeholder={words.markText}
          value={text}
          onChange={(event) => setText(event.target.value)}
          className="min-h-8 min-w-0 flex-1 rounded-lg border border-line bg-surface px-2.5 text-sm placeholder:text-muted hover:border-line-strong"
        />
        <Button type="submit" size="small" className="min-h-8">
          <Flag size={13} aria-hidden />
          {words.addMark}
        </Button>
      </form>
      {take.marks.length > 0 && (
        <ul aria-label={words.marks} className="flex flex-wrap gap-1.5">
          {take.marks.map((mark) => (
            <li
              key={`${mark.atMs}-${mark.text}`}
              className="flex items-center rounded-lg border border-line text-xs"
            >
              <button
                type="button"
                aria-label={fill(words.markLabel, { time: clock(mark.atMs) })}
                onClick={() => seekTo(take.id, mark.atMs)}
                className="min-h-7 px-2 hover:bg-sunken"
              >
                <span className="figures mr-1.5 text-muted">{clock(mark.atMs)}</span>
                {mark.text}
              </button>
              <button
                type="button"
                aria-label={`${actions.remove}: ${clock(mark.atMs)}`}
                onClick={() => change(take.id, { marks: take.marks.filter((one) => one !== mark) })}
                className="grid size-7 place-items-center text-muted hover:text-ink"
              >
                <X size={12} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
