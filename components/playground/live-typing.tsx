/**
 * Text that is spoken while it is typed. What was sent stands still and changes its colour as it is committed and spoken;
 * what is grey can still be taken back. Words are sent when they are complete, a pause flushes what is there.
 */
"use client";
import { clsx } from "clsx";
import { useEffect, useRef, useState } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { isFinished, useTakes } from "../store/takes.ts";
import { Button } from "../ui/button.tsx";
import { RangeField } from "../ui/field.tsx";
import { playhead } from "./playing.ts";
import { endText, flushText, speak, typeText } from "./speaking.ts";
import { currentRequest } from "./take-actions.ts";
import { readyToSend } from "./typing.ts";

const DEFAULT_IDLE_MS = 900;

export function LiveTyping() {
  const words = useStrings("playground").live;
  const [id, setId] = useState<string>();
  const [text, setText] = useState("");
  const [sent, setSent] = useState(0);
  const [idleMs, setIdleMs] = useState(DEFAULT_IDLE_MS);
  const [isRefused, setRefused] = useState(false);
  const take = useTakes(({ takes }) => takes.find((one) => one.id === id));
  const isOpen = take !== undefined && !isFinished(take);
  const area = useRef<HTMLTextAreaElement>(null);
  const section = useRef<HTMLElement>(null);
  const state = useRef({ id, text, sent });
  state.current = { id, text, sent };

  const sendUpTo = (end: number) => {
    const { id, text, sent } = state.current;
    if (id === undefined || end <= sent) return;
    typeText(id, text.slice(sent, end));
    state.current.sent = end;
    setSent(end);
  };
  const flush = () => {
    sendUpTo(state.current.text.length);
    if (state.current.id !== undefined) flushText(state.current.id);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the wait starts anew with each change of the text
  useEffect(() => {
    if (!isOpen || text.length === sent) return;
    const timer = setTimeout(flush, idleMs);
    return () => clearTimeout(timer);
  }, [text, idleMs, isOpen]);

  const start = () => {
    setText("");
    setSent(0);
    setId(speak({ ...currentRequest(), text: "" }, { isLive: true }));
    area.current?.focus();
  };
  const end = () => {
    if (id === undefined) return;
    sendUpTo(text.length);
    endText(id);
    // The button goes when the take has come to its end.
    section.current?.focus({ preventScroll: true });
  };
  const change = (next: string) => {
    const kept = text.slice(0, sent);
    setRefused(!next.startsWith(kept));
    if (!next.startsWith(kept)) return;
    setText(next);
    state.current.text = next;
    sendUpTo(readyToSend(next, sent));
  };

  return (
    <section
      ref={section}
      tabIndex={-1}
      aria-label={words.toggle}
      className="card grid gap-3 p-3 outline-none"
      data-testid="live"
    >
      <div className="flex flex-wrap items-center gap-2">
        {isOpen ? (
          <>
            <Button onClick={flush}>{words.flush}</Button>
            <Button onClick={end}>{words.end}</Button>
          </>
        ) : (
          <Button kind="primary" onClick={start}>
            {words.start}
          </Button>
        )}
        <RangeField
          label={words.idle}
          value={idleMs}
          min={200}
          max={3000}
          step={100}
          format={(value) => `${(value / 1000).toFixed(1)} s`}
          onChange={(event) => setIdleMs(Number(event.target.value))}
          className="ml-auto w-48"
        />
      </div>
      <p className="text-xs text-muted">{fill(words.about, { ms: idleMs })}</p>
      <textarea
        ref={area}
        aria-label={words.label}
        value={text}
        rows={3}
        readOnly={!isOpen}
        spellCheck={false}
        aria-describedby="live-note"
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
          if (event.nativeEvent.isComposing) return;
          event.preventDefault();
          flush();
        }}
        className="w-full resize-y rounded-lg border border-line bg-surface px-3 py-2 text-base leading-relaxed read-only:bg-sunken"
      />
      <p id="live-note" aria-live="polite" className="min-h-4 text-xs text-warn">
        {isRefused && words.locked}
      </p>
      {id !== undefined && <Progress id={id} text={text} sent={sent} />}
    </section>
  );
}

interface ProgressProps {
  readonly id: string;
  readonly text: string;
  readonly sent: number;
}

/** The same text with its state shown, letter by letter: by colour and by line. */
function Progress({ id, text, sent }: ProgressProps) {
  const words = useStrings("playground").live;
  const sentences = useTakes(({ takes }) => takes.find((take) => take.id === id)?.sentences);
  const [spoken, setSpoken] = useState(0);
  const committed = Math.max(0, ...(sentences ?? []).map(({ textEnd }) => textEnd));
  useEffect(() => {
    const timer = setInterval(() => {
      const at = playhead(id) ?? 0;
      const heard = (sentences ?? []).filter(
        ({ endMs }) => endMs !== undefined && at >= endMs - 50,
      );
      setSpoken(Math.max(0, ...heard.map(({ textEnd }) => textEnd)));
    }, 150);
    return () => clearInterval(timer);
  }, [id, sentences]);
  const parts = [
    { key: "spoken", name: words.legendSpoken, text: text.slice(0, spoken), look: "text-good" },
    {
      key: "committed",
      name: words.legendCommitted,
      text: text.slice(spoken, committed),
      look: "text-accent underline decoration-2 underline-offset-4",
    },
    {
      key: "sent",
      name: words.legendSent,
      text: text.slice(Math.max(spoken, committed), sent),
      look: "text-accent underline decoration-dotted underline-offset-4",
    },
    { key: "unsent", name: words.legendUnsent, text: text.slice(sent), look: "text-muted italic" },
  ];
  return (
    <div className="grid gap-2">
      <p
        className="whitespace-pre-wrap break-words text-base leading-relaxed"
        data-testid="live-text"
      >
        {parts.map(({ key, text, look }) => (
          <span key={key} data-part={key} className={look}>
            {text}
          </span>
        ))}
      </p>
      <p className="flex flex-wrap gap-x-4 text-xs">
        {parts.map(({ key, name, look }) => (
          <span key={key} className={clsx(look)}>
            {name}
          </span>
        ))}
      </p>
    </div>
  );
}
