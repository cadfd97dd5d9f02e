/** What crossed the wire in a trial, line by line as it happens; a chosen line is shown in full. */
"use client";
import { useState, useSyncExternalStore } from "react";
import type { FrameLogEntry } from "../../server/protocol/client/index.ts";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import type { FrameLog } from "../playground/frame-log.ts";
import { CopyButton } from "../ui/copy-button.tsx";

/** Lines that are drawn; copying gives all that are kept. */
const SHOWN = 200;

export function WireLog({ log }: { readonly log: FrameLog }) {
  const words = useStrings("reference").log;
  const entries = useSyncExternalStore(
    log.subscribe,
    () => log.entries,
    () => log.entries,
  );
  const [picked, setPicked] = useState<FrameLogEntry>();
  if (entries.length === 0) return null;
  const shown = entries.slice(-SHOWN);
  const older = log.dropped + entries.length - shown.length;
  return (
    <div className="grid gap-2" data-testid="wire-log">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-label={words.title} tabIndex={0} className="max-h-64 overflow-auto">
        <table className="figures w-full text-left text-xs" aria-label={words.title}>
          <thead className="sticky top-0 bg-surface text-muted">
            <tr>
              <th className="py-1 pr-2 text-right font-medium">{words.time}</th>
              <th className="py-1 pr-2 font-medium">{words.direction}</th>
              <th className="py-1 pr-2 font-medium">{words.type}</th>
              <th className="py-1 text-right font-medium">{words.bytes}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((entry, index) => (
              <Line
                // biome-ignore lint/suspicious/noArrayIndexKey: a log only grows at its end
                key={older + index}
                entry={entry}
                isPicked={entry === picked}
                onPick={() => setPicked(entry)}
              />
            ))}
          </tbody>
        </table>
      </section>
      <Content entry={picked} />
      <div className="flex flex-wrap items-center gap-3 text-xs text-muted">
        <CopyButton label={words.copy} text={() => entries.map(asLine).join("\n")} />
        {older > 0 && fill(words.dropped, { n: older })}
      </div>
    </div>
  );
}

interface LineProps {
  readonly entry: FrameLogEntry;
  readonly isPicked: boolean;
  readonly onPick: () => void;
}

function Line({ entry, isPicked, onPick }: LineProps) {
  const words = useStrings("reference").log;
  const { atMs, direction, type, bytes } = entry;
  return (
    <tr className={`border-t border-line ${isPicked ? "bg-accent-soft" : ""}`}>
      <td className="py-0.5 pr-2 text-right">{atMs.toFixed(1)}</td>
      <td className="whitespace-nowrap py-0.5 pr-2">
        <span aria-hidden>{direction === "out" ? "↑ " : "↓ "}</span>
        {direction === "out" ? words.out : words.in}
      </td>
      <td className="py-0.5 pr-2">
        <button
          type="button"
          aria-pressed={isPicked}
          onClick={onPick}
          className="min-h-6 break-all text-left underline decoration-line-strong underline-offset-4 hover:text-accent-strong"
        >
          {type}
        </button>
      </td>
      <td className="py-0.5 text-right">{bytes}</td>
    </tr>
  );
}

function Content({ entry }: { readonly entry: FrameLogEntry | undefined }) {
  const words = useStrings("reference").log;
  const locale = useLocale();
  if (entry === undefined) return <p className="text-xs text-muted">{words.pick}</p>;
  const binary = fill(words.binary, { n: entry.bytes.toLocaleString(locale) });
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
      tabIndex={0}
      aria-label={words.content}
      className="figures max-h-48 overflow-auto whitespace-pre-wrap break-words rounded-lg bg-sunken p-2 text-xs"
    >
      {entry.text === undefined || entry.text === "" ? binary : pretty(entry.text)}
    </section>
  );
}

/** JSON with its structure; what is none stays as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function asLine({ atMs, direction, type, bytes, text }: FrameLogEntry): string {
  return JSON.stringify({ atMs: Math.round(atMs * 10) / 10, direction, type, bytes, text });
}
