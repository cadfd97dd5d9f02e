/**
 * The voices, made for judging twenty of them in two minutes by keyboard: arrows move, the first Space arms the rail and
 * from then on moving also plays, Shift+Space flips between the last two, Enter uses, Esc stops and then disarms.
 */
"use client";
import { clsx } from "clsx";
import { Plus, Square, Volume2 } from "lucide-react";
import Link from "next/link";
import { useEffect, useMemo, useRef, useState } from "react";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { chooseVoice, loadVoices, useVoiceChoice, useVoices, type Voice } from "../store/voices.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { useKeys } from "../ui/keys.ts";
import { Problem } from "../ui/problem.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { shownVoices } from "../voices/voice-order.ts";
import { audition, auditionAll, prepareSamples, stopAudition, useAudition } from "./audition.ts";
import { PitchPrint } from "./pitch-print.tsx";

const IDLE_MS = 2500;

export function VoicesRail() {
  const words = useStrings("playground").rail;
  const { load, trouble, voices, heard } = useVoices();
  const samples = useAudition((state) => state.samples);
  const isPlayingAll = useAudition((state) => state.isPlayingAll);
  const failed = useAudition((state) => state.trouble);
  const isIdle = useServer(({ state, tick }) => state === "ready" && (tick?.active ?? 1) === 0);
  const [query, setQuery] = useState("");
  const [order, setOrder] = useState<"pitch" | "name">("pitch");
  const [current, setCurrent] = useState<string>();
  const search = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (load !== "ready" || !isIdle) return;
    // A visitor who has just come speaks first; samples are made when the server had nothing to do for a while.
    const timer = setTimeout(() => void prepareSamples(), IDLE_MS);
    return () => clearTimeout(timer);
  }, [load, isIdle]);

  const shown = useMemo(() => {
    const sorted = shownVoices(voices, query, order, samples);
    return [
      ...sorted.filter(({ kind }) => kind === "preset"),
      ...sorted.filter(({ kind }) => kind === "mine"),
    ];
  }, [voices, query, order, samples]);

  useKeys({
    "/": (event) => {
      event.preventDefault();
      search.current?.focus();
    },
  });

  return (
    <section aria-labelledby="rail-title" className="grid content-start gap-3">
      <div className="flex items-center justify-between gap-2">
        <h2 id="rail-title" className="text-sm font-semibold">
          {words.title}
        </h2>
        <span className="figures text-xs text-muted" data-testid="heard">
          {fill(words.heard, { heard: heard.size, total: voices.length })}
        </span>
      </div>
      <div className="flex items-center gap-2">
        <div className="relative flex-1">
          <SearchField ref={search} label={words.search} value={query} onChange={setQuery} />
        </div>
        <select
          aria-label={words.order}
          value={order}
          onChange={(event) => setOrder(event.target.value === "name" ? "name" : "pitch")}
          className="min-h-9 rounded-lg border border-line bg-surface px-2 text-xs"
        >
          <option value="pitch">{words.sortPitch}</option>
          <option value="name">{words.sortName}</option>
        </select>
      </div>
      {load === "failed" && trouble && (
        <Problem trouble={trouble} onRetry={() => void loadVoices()} />
      )}
      {(load === "idle" || load === "loading") && voices.length === 0 ? (
        <RailSkeleton />
      ) : (
        <RailList voices={shown} current={current} onCurrent={setCurrent} query={query} />
      )}
      {failed && (
        <Problem
          trouble={failed.trouble}
          onDismiss={() => useAudition.setState({ trouble: undefined })}
        />
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          size="small"
          onClick={() =>
            isPlayingAll ? stopAudition() : void auditionAll(shown, ({ id }) => setCurrent(id))
          }
          disabled={shown.length === 0}
        >
          {isPlayingAll ? <Square size={13} aria-hidden /> : <Volume2 size={14} aria-hidden />}
          {isPlayingAll ? words.stopAll : words.playAll}
        </Button>
        <Link
          href="/voices#add"
          className="inline-flex min-h-7 items-center gap-1.5 rounded-lg border border-line bg-surface px-2.5 text-xs font-medium hover:border-line-strong"
        >
          <Plus size={14} aria-hidden />
          {words.clone}
        </Link>
      </div>
    </section>
  );
}

function RailSkeleton() {
  const { states } = useStrings("common");
  return (
    <div role="status" aria-label={states.loading} className="grid h-64 content-start gap-1.5">
      {[0, 1, 2, 3, 4].map((row) => (
        <div key={row} className="h-11 animate-pulse rounded-lg bg-sunken" />
      ))}
    </div>
  );
}

interface RailListProps {
  readonly voices: readonly Voice[];
  readonly current: string | undefined;
  readonly onCurrent: (id: string) => void;
  readonly query: string;
}

function RailList({ voices, current, onCurrent, query }: RailListProps) {
  const words = useStrings("playground").rail;
  const chosen = useVoiceChoice((state) => state.chosen);
  const [isArmed, setArmed] = useState(false);
  const lastTwo = useRef<string[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const at = voices.findIndex(({ id }) => id === (current ?? chosen));
  const active = voices[Math.max(0, at)];

  useEffect(() => {
    if (active === undefined) return;
    const row = list.current?.querySelector(`#voice-${cssId(active.id)}`);
    if (list.current && row) showWithin(list.current, row);
  }, [active]);

  const listen = (voice: Voice) => {
    const [latest] = lastTwo.current;
    if (latest !== voice.id)
      lastTwo.current = [voice.id, ...(latest === undefined ? [] : [latest])];
    void audition(voice);
  };
  const moveTo = (voice: Voice | undefined) => {
    if (voice === undefined) return;
    onCurrent(voice.id);
    if (isArmed) listen(voice);
  };
  const jump = (letter: string) => {
    const from = voices.indexOf(active as Voice) + 1;
    const rotated = [...voices.slice(from), ...voices.slice(0, from)];
    moveTo(rotated.find(({ name }) => name.toLowerCase().startsWith(letter)));
  };
  const flip = () => {
    const other = voices.find(({ id }) => id === lastTwo.current[1]);
    if (other === undefined) return;
    onCurrent(other.id);
    listen(other);
  };

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (active === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const index = voices.indexOf(active);
    const actions = new Map<string, () => void>([
      ["ArrowDown", () => moveTo(voices[Math.min(index + 1, voices.length - 1)])],
      ["ArrowUp", () => moveTo(voices[Math.max(index - 1, 0)])],
      ["Home", () => moveTo(voices[0])],
      ["End", () => moveTo(voices.at(-1))],
      ["Enter", () => chooseVoice(active.id)],
      [
        " ",
        () => {
          if (event.shiftKey) return flip();
          setArmed(true);
          listen(active);
        },
      ],
    ]);
    const action = actions.get(event.key);
    if (event.key === "Escape") {
      const { playing, loading } = useAudition.getState();
      if (playing === undefined && loading === undefined && !isArmed) return;
      if (playing !== undefined || loading !== undefined) stopAudition();
      else setArmed(false);
    } else if (action !== undefined) action();
    else if (event.key.length === 1 && /\p{L}/u.test(event.key)) jump(event.key.toLowerCase());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  if (voices.length === 0) {
    return (
      <p className="rounded-lg bg-sunken px-3 py-4 text-sm text-muted">
        {query === "" ? words.emptyMine : fill(words.noMatch, { query })}
      </p>
    );
  }
  const firstMine = voices.findIndex(({ kind }) => kind === "mine");
  return (
    <div
      ref={list}
      role="listbox"
      tabIndex={0}
      aria-label={words.label}
      aria-activedescendant={active && `voice-${cssId(active.id)}`}
      data-armed={isArmed}
      onKeyDown={onKeyDown}
      className="grid max-h-[40vh] lg:max-h-[min(60vh,34rem)] content-start gap-1 overflow-y-auto rounded-xl border border-line bg-surface p-1.5"
    >
      {voices.map((voice, index) => (
        <div key={voice.id} className="contents">
          {(index === 0 || index === firstMine) && (
            <div role="presentation" className="px-2 pb-0.5 pt-1.5 text-xs font-medium text-muted">
              {voice.kind === "mine" ? words.mine : words.presets}
            </div>
          )}
          <RailRow
            voice={voice}
            isActive={voice === active}
            isChosen={voice.id === chosen}
            onListen={() => {
              onCurrent(voice.id);
              listen(voice);
            }}
            onUse={() => {
              onCurrent(voice.id);
              chooseVoice(voice.id);
            }}
          />
        </div>
      ))}
    </div>
  );
}

/** Scrolls the list to a row, and nothing else: on a phone the page would jump to the list when it is opened. */
function showWithin(list: HTMLElement, row: Element): void {
  const [frame, place] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
  if (place.top < frame.top) list.scrollTop -= frame.top - place.top;
  else if (place.bottom > frame.bottom) list.scrollTop += place.bottom - frame.bottom;
}

/** Ids of voices may hold characters that an element's id in a selector may not. */
function cssId(id: string): string {
  return id.replace(/[^\w-]/g, "_");
}

interface RailRowProps {
  readonly voice: Voice;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onListen: () => void;
  readonly onUse: () => void;
}

function RailRow({ voice, isActive, isChosen, onListen, onUse }: RailRowProps) {
  const words = useStrings("playground").rail;
  const sample = useAudition((state) => state.samples[voice.id]);
  const isPlaying = useAudition((state) => state.playing === voice.id);
  const isLoading = useAudition((state) => state.loading === voice.id);
  const wasHeard = useVoices((state) => state.heard.has(voice.id));
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the listbox around it has the keys, for the active option
    <div
      id={`voice-${cssId(voice.id)}`}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      title={voice.description}
      onClick={onUse}
      className={clsx(
        "group flex min-h-11 cursor-pointer items-center gap-2 rounded-lg border px-2 py-1 text-sm",
        isActive ? "border-line-strong" : "border-transparent",
        isChosen ? "bg-accent-soft" : "hover:bg-sunken",
      )}
    >
      <span
        aria-hidden
        title={fill(words.listen, { voice: voice.name })}
        data-testid={`listen-${voice.id}`}
        onClick={(event) => {
          event.stopPropagation();
          onListen();
        }}
        className={clsx(
          "grid size-8 shrink-0 place-items-center rounded-md hover:bg-surface",
          isPlaying ? "text-accent" : "text-muted",
          isLoading && "animate-pulse",
        )}
      >
        <Volume2 size={16} />
      </span>
      <span className="grid min-w-0 flex-1">
        <span className="flex items-center gap-1.5">
          <span className="truncate font-medium">{voice.name}</span>
          {isChosen && <Badge tone="accent">{words.chosen}</Badge>}
          {wasHeard && <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-accent" />}
          <span className="ml-auto">
            <PitchPrint trace={sample?.trace} isLive={isPlaying} />
          </span>
        </span>
        <span className="truncate text-xs text-muted">{voice.description}</span>
      </span>
    </div>
  );
}
