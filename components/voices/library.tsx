/** All voices as cards: one's own first, then those of the model; with search, order and import. */
"use client";
import { Mic, Plus, Upload } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { prepareSamples, useAudition } from "../playground/audition.ts";
import { useServer } from "../store/server.ts";
import { loadVoices, useVoices, type Voice } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { acceptFile } from "./accept-file.ts";
import { useBeginnings } from "./beginnings.ts";
import { FileButton } from "./file-button.tsx";
import { startRecording } from "./recording.ts";
import { AUDIO_FILES, DEFAULT_MAX_SECONDS } from "./sources.tsx";
import { dismissImport, importVoice, useImport } from "./voice-actions.ts";
import { VoiceCard } from "./voice-card.tsx";
import { ORDERS, type Order, shownVoices } from "./voice-order.ts";

/** How long the server has nothing to do before samples are made, which tell the pitch of a voice. */
const IDLE_MS = 2500;

export function Library() {
  const words = useStrings("voices").library;
  const { load, trouble, voices } = useVoices();
  const samples = useAudition((state) => state.samples);
  const isIdle = useServer(({ state, tick }) => state === "ready" && (tick?.active ?? 1) === 0);
  const [query, setQuery] = useState("");
  const [order, setOrder] = useState<Order>("name");

  useEffect(() => {
    if (load !== "ready" || !isIdle) return;
    const timer = setTimeout(() => void prepareSamples(), IDLE_MS);
    return () => clearTimeout(timer);
  }, [load, isIdle]);

  const shown = useMemo(
    () => shownVoices(voices, query, order, samples),
    [voices, query, order, samples],
  );
  const isLoading = (load === "idle" || load === "loading") && voices.length === 0;
  const hasOwn = voices.some(({ kind }) => kind === "mine");

  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <div className="relative min-w-48 flex-1">
          <SearchField label={words.search} value={query} onChange={setQuery} />
        </div>
        <select
          aria-label={words.order}
          value={order}
          onChange={(event) => setOrder(ORDERS.find((one) => one === event.target.value) ?? "name")}
          className="min-h-9 rounded-lg border border-line bg-surface px-2 text-sm"
        >
          {ORDERS.map((one) => (
            <option key={one} value={one}>
              {words[one]}
            </option>
          ))}
        </select>
        <a
          href="#add"
          className="inline-flex min-h-9 items-center gap-2 rounded-lg border border-line bg-surface px-3.5 text-sm font-medium hover:border-line-strong xl:hidden"
        >
          <Plus size={15} aria-hidden />
          {words.add}
        </a>
        <FileButton accept=".json,application/json" onFile={(file) => void importVoice(file)}>
          <Upload size={15} aria-hidden />
          {words.importVoice}
        </FileButton>
      </div>
      <ImportNote />
      {load === "failed" && trouble && (
        <Problem trouble={trouble} onRetry={() => void loadVoices()} />
      )}
      {isLoading && <Skeleton />}
      {!isLoading && shown.length === 0 && query !== "" && (
        <p role="status" className="rounded-lg bg-sunken px-3 py-4 text-sm text-muted">
          {fill(words.noMatch, { query })}
        </p>
      )}
      {load === "ready" && !hasOwn && query === "" && (
        <Group title={words.mine}>
          <EmptyCard />
        </Group>
      )}
      <Voices title={words.mine} voices={shown.filter(({ kind }) => kind === "mine")} />
      <Voices title={words.presets} voices={shown.filter(({ kind }) => kind === "preset")} />
    </>
  );
}

function Voices({ title, voices }: { readonly title: string; readonly voices: readonly Voice[] }) {
  if (voices.length === 0) return null;
  return (
    <Group title={title} count={voices.length}>
      {voices.map((voice) => (
        <VoiceCard key={voice.id} voice={voice} />
      ))}
    </Group>
  );
}

interface GroupProps {
  readonly title: string;
  readonly count?: number;
  readonly children: ReactNode;
}

function Group({ title, count, children }: GroupProps) {
  return (
    <section aria-label={title} className="grid gap-2">
      <h2 className="flex items-baseline gap-2 text-sm font-semibold">
        {title}
        {count !== undefined && (
          <span className="figures text-xs font-normal text-muted">{count}</span>
        )}
      </h2>
      <div className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,19rem),1fr))] gap-3">
        {children}
      </div>
    </section>
  );
}

function Skeleton() {
  const { states } = useStrings("common");
  return (
    <div
      role="status"
      aria-label={states.loading}
      className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,19rem),1fr))] gap-3"
    >
      {[0, 1, 2, 3].map((card) => (
        <div key={card} className="h-40 animate-pulse rounded-xl bg-sunken" />
      ))}
    </div>
  );
}

/** What a visitor without a voice sees in its place. */
function EmptyCard() {
  const words = useStrings("voices").library;
  const beginnings = useBeginnings();
  const limits = useLimits()?.limits;
  const record = () => {
    document.getElementById("add")?.scrollIntoView();
    void startRecording(limits?.reference_max_seconds ?? DEFAULT_MAX_SECONDS, beginnings);
  };
  return (
    <div className="col-span-full grid gap-3 rounded-xl border border-dashed border-line-strong bg-surface p-4">
      <div>
        <h3 className="font-semibold">{words.emptyTitle}</h3>
        <p className="text-sm text-muted">{words.emptyText}</p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" onClick={record}>
          <Mic size={15} aria-hidden />
          {words.record}
        </Button>
        <FileButton accept={AUDIO_FILES} onFile={(file) => acceptFile(file, beginnings)}>
          <Upload size={15} aria-hidden />
          {words.upload}
        </FileButton>
      </div>
    </div>
  );
}

const FILE_TROUBLES = ["foreign", "newer", "damaged"] as const;

function ImportNote() {
  const words = useStrings("voices").library;
  const { actions } = useStrings("common");
  const { phase, name, trouble } = useImport();
  if (phase === "idle") return null;
  if (trouble !== undefined) {
    const known = FILE_TROUBLES.find((code) => code === trouble.code);
    const shown = known ? { code: known, message: words[known], hint: words.importNext } : trouble;
    return <Problem trouble={shown} onDismiss={dismissImport} />;
  }
  return (
    <div
      role="status"
      className="flex items-center justify-between gap-3 rounded-lg bg-accent-soft px-3 py-2 text-sm"
    >
      {phase === "importing" ? words.importing : fill(words.imported, { name })}
      {phase === "done" && (
        <Button size="small" kind="quiet" onClick={dismissImport}>
          {actions.dismiss}
        </Button>
      )}
    </div>
  );
}
