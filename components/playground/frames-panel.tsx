/** Everything that crossed the socket of the selected take, for those who build clients; can be saved as a script. */
"use client";
import { useState, useSyncExternalStore } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useTakes } from "../store/takes.ts";
import { Button } from "../ui/button.tsx";
import { save } from "../ui/save-file.ts";
import type { FrameLog } from "./frame-log.ts";
import { frameLogOf } from "./speaking.ts";

/** Rows that are drawn; the file has all that are kept. */
const SHOWN = 200;

export function FramesPanel() {
  const words = useStrings("playground").frames;
  const selected = useTakes((state) => state.selected);
  const [isOpen, setOpen] = useState(false);
  const log = frameLogOf(selected);
  return (
    <details
      className="card"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      data-testid="frames"
    >
      <summary className="px-3 py-2.5 text-sm font-semibold">{words.title}</summary>
      {isOpen && (
        <div className="grid gap-2 px-3 pb-3">
          <p className="text-xs text-muted">{words.about}</p>
          {log === undefined ? (
            <p className="text-sm text-muted">{words.empty}</p>
          ) : (
            <FramesTable log={log} />
          )}
        </div>
      )}
    </details>
  );
}

function FramesTable({ log }: { readonly log: FrameLog }) {
  const words = useStrings("playground").frames;
  const entries = useSyncExternalStore(
    log.subscribe,
    () => log.entries,
    () => log.entries,
  );
  const shown = entries.slice(-SHOWN);
  const older = log.dropped + entries.length - shown.length;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-label={words.title} tabIndex={0} className="max-h-72 overflow-auto">
        <table className="figures w-full text-left text-xs">
          <thead className="sticky top-0 bg-surface text-muted">
            <tr>
              <th className="py-1 pr-3 font-medium">{words.time}</th>
              <th className="py-1 pr-3 font-medium">{words.direction}</th>
              <th className="py-1 pr-3 font-medium">{words.type}</th>
              <th className="py-1 pr-3 text-right font-medium">{words.sequence}</th>
              <th className="py-1 text-right font-medium">{words.bytes}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((entry, index) => (
              <tr
                // biome-ignore lint/suspicious/noArrayIndexKey: a log only grows at its end
                key={older + index}
                title={entry.text}
                className="border-t border-line"
              >
                <td className="py-0.5 pr-3">{entry.atMs.toFixed(1)}</td>
                <td className="py-0.5 pr-3">
                  <span aria-hidden>{entry.direction === "out" ? "↑ " : "↓ "}</span>
                  {entry.direction === "out" ? words.out : words.in}
                </td>
                <td className="py-0.5 pr-3">{entry.type}</td>
                <td className="py-0.5 pr-3 text-right">{entry.seq ?? ""}</td>
                <td className="py-0.5 text-right">{entry.bytes}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <div className="flex flex-wrap items-center gap-3 text-xs text-muted">
        <Button size="small" onClick={() => save(scriptOf(log), "session.jsonl")}>
          {words.save}
        </Button>
        {older > 0 && fill(words.dropped, { n: older })}
      </div>
    </>
  );
}

/** One message a line, with its time and direction: what a raw socket client would send and see. */
function scriptOf(log: FrameLog): Blob {
  const lines = log.entries.map(({ direction, atMs, type, seq, bytes, text }) =>
    JSON.stringify({ atMs: Math.round(atMs * 10) / 10, direction, type, seq, bytes, text }),
  );
  return new Blob([`${lines.join("\n")}\n`], { type: "application/jsonl" });
}
