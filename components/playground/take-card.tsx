/** One take as a card: what it is, what was measured, and what can be done with it. */
"use client";
import { clsx } from "clsx";
import {
  Download,
  GitCompareArrows,
  Pause,
  Play,
  RotateCcw,
  Shuffle,
  Star,
  Trash2,
  Undo2,
} from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { memo, useState } from "react";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { loadSound } from "../store/history.ts";
import { useHasModels } from "../store/models.ts";
import { isFinished, selectTake, type Take, useTakes } from "../store/takes.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { clock } from "./clock.ts";
import { Marks } from "./marks.tsx";
import { compareSounds } from "./measure.ts";
import { MiniWave } from "./mini-wave.tsx";
import { isSounding, togglePlay, usePlaying } from "./playing.ts";
import {
  again,
  change,
  DOWNLOADS,
  download,
  freshSeeds,
  reuse,
  toggleStar,
} from "./take-actions.ts";

const TONES: Readonly<Record<Take["state"], Tone>> = {
  connecting: "plain",
  queued: "warn",
  generating: "accent",
  done: "good",
  stopped: "warn",
  failed: "bad",
};

interface TakeCardProps {
  readonly take: Take;
  /** The same function at every drawing, or the card is drawn each time. */
  readonly onRemove: (take: Take) => void;
}

/** Drawn anew only when its own take changes: the take being made changes many times a second. */
export const TakeCard = memo(function TakeCard({ take, onRemove }: TakeCardProps) {
  const words = useStrings("playground").takes;
  const { actions } = useStrings("common");
  const isSelected = useTakes(({ selected }) => selected === take.id);
  const isPlaying = usePlaying((state) => state.take === take.id && isSounding(state.state));
  const hasModels = useHasModels();
  const { request, state } = take;
  return (
    <article
      aria-label={fill(words.select, { voice: request.voiceName, seed: request.seed })}
      data-testid="take"
      data-state={state}
      className={clsx("card grid gap-2 p-3", isSelected && "border-accent ring-1 ring-accent")}
    >
      <div className="flex items-center gap-2">
        <Button
          size="icon"
          kind="quiet"
          aria-label={isPlaying ? actions.pause : actions.play}
          disabled={take.durationMs === 0}
          onClick={() => {
            selectTake(take.id);
            togglePlay(take.id);
          }}
        >
          {isPlaying ? <Pause size={16} aria-hidden /> : <Play size={16} aria-hidden />}
        </Button>
        <button
          type="button"
          onClick={() => selectTake(take.id)}
          aria-pressed={isSelected}
          title={fill(words.select, { voice: request.voiceName, seed: request.seed })}
          className="grid min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] items-center gap-3 rounded-lg text-left"
        >
          <span className="grid min-w-0">
            <span className="flex items-center gap-2">
              <span className="truncate text-sm font-medium">{request.voiceName}</span>
              {request.modelName !== undefined && hasModels && <Badge>{request.modelName}</Badge>}
              <StateBadge take={take} />
            </span>
            <span className="truncate text-xs text-muted">{request.text}</span>
          </span>
          <MiniWave take={take} />
        </button>
        <Button
          size="icon"
          kind="quiet"
          aria-pressed={take.isStarred}
          aria-label={take.isStarred ? words.unstar : words.star}
          onClick={() => toggleStar(take)}
        >
          <Star size={16} aria-hidden fill={take.isStarred ? "currentColor" : "none"} />
        </Button>
      </div>
      <Figures take={take} />
      {take.trouble && (
        <Problem trouble={take.trouble} onRetry={() => again(take)}>
          {take.durationMs > 0 && <p>{words.partial}</p>}
        </Problem>
      )}
      {isSelected && <CardDetails take={take} onRemove={onRemove} />}
    </article>
  );
});

function StateBadge({ take }: { readonly take: Take }) {
  const { state: names } = useStrings("playground").takes;
  const { state, queue, isReconnecting } = take;
  if (isReconnecting) return <Badge tone="bad">{names.reconnecting}</Badge>;
  if (state === "done") return null;
  const place = queue?.place ?? 0;
  const seconds = ((queue?.waitMs ?? 0) / 1000).toFixed(1);
  return <Badge tone={TONES[state]}>{fill(names[state], { place, seconds })}</Badge>;
}

function Figures({ take }: { readonly take: Take }) {
  const words = useStrings("playground").takes;
  const figures = [
    [words.seed, String(take.request.seed)],
    [words.ttfp, take.ttfpMs === undefined ? "–" : `${Math.round(take.ttfpMs)} ms`],
    [words.rtf, take.rtf === undefined ? "–" : take.rtf.toFixed(3)],
    [words.length, clock(take.durationMs)],
    [words.hash, take.hash?.slice(0, 8) ?? "–"],
  ] as const;
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {figures.map(([name, value]) => (
        <div key={name} className="flex items-baseline gap-1.5">
          <dt className="text-muted">{name}</dt>
          <dd className="figures">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function CardDetails({ take, onRemove }: TakeCardProps) {
  const words = useStrings("playground").takes;
  const [trouble, setTrouble] = useState<Trouble>();
  const isOver = isFinished(take);
  return (
    <div className="grid gap-2 border-t border-line pt-2">
      <div className="flex flex-wrap items-center gap-1.5">
        <Button size="small" onClick={() => again(take)}>
          <RotateCcw size={13} aria-hidden />
          {words.again}
        </Button>
        <Button size="small" onClick={() => freshSeeds(take)}>
          <Shuffle size={13} aria-hidden />
          {words.fresh}
        </Button>
        <Button size="small" onClick={() => reuse(take)}>
          <Undo2 size={13} aria-hidden />
          {words.reuse}
        </Button>
        <DownloadMenu take={take} onTrouble={setTrouble} />
        <ByteCheck take={take} />
        <Button
          size="icon"
          kind="quiet"
          aria-label={words.remove}
          title={words.remove}
          disabled={!isOver}
          onClick={() => onRemove(take)}
          className="ml-auto"
        >
          <Trash2 size={15} aria-hidden />
        </Button>
      </div>
      {trouble && <Problem trouble={trouble} onDismiss={() => setTrouble(undefined)} />}
      <input
        aria-label={words.note}
        placeholder={words.notePlaceholder}
        value={take.note}
        onChange={(event) => change(take.id, { note: event.target.value })}
        className="min-h-8 rounded-lg border border-line bg-surface px-2.5 text-sm placeholder:text-muted hover:border-line-strong"
      />
      {isOver && take.durationMs > 0 && <Marks take={take} />}
    </div>
  );
}

const MENU = "z-40 min-w-44 rounded-xl border border-line bg-surface p-1 shadow-xl";
const ITEM =
  "cursor-pointer rounded-lg px-3 py-1.5 text-sm outline-none data-[highlighted]:bg-sunken data-[disabled]:text-muted";

interface DownloadMenuProps {
  readonly take: Take;
  readonly onTrouble: (trouble: Trouble | undefined) => void;
}

function DownloadMenu({ take, onTrouble }: DownloadMenuProps) {
  const { actions } = useStrings("common");
  const fetchFile = (format: (typeof DOWNLOADS)[number]) => {
    onTrouble(undefined);
    download(take, format).catch((error: unknown) => onTrouble(troubleOf(error)));
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <Button size="small" disabled={take.durationMs === 0}>
          <Download size={13} aria-hidden />
          {actions.download}
        </Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align="start" sideOffset={4} className={MENU}>
          {DOWNLOADS.map((format) => (
            <DropdownMenu.Item
              key={format}
              disabled={format !== "wav" && take.state !== "done"}
              onSelect={() => fetchFile(format)}
              className={ITEM}
            >
              {format.toUpperCase()}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** Compares the bytes of two takes, and says where they part. */
function ByteCheck({ take }: { readonly take: Take }) {
  const words = useStrings("playground").takes;
  const takes = useTakes((state) => state.takes);
  const others = takes.filter(({ id, state }) => id !== take.id && state === "done");
  const [verdict, setVerdict] = useState("");
  const compare = async (other: Take) => {
    const [a, b] = await Promise.all([loadSound(take), loadSound(other)]);
    if (a === undefined || b === undefined) return;
    const found = compareSounds(a, b);
    if (found.kind === "identical") setVerdict(words.identical);
    else if (found.kind === "length") {
      setVerdict(fill(words.lengths, { a: a.seconds.toFixed(2), b: b.seconds.toFixed(2) }));
    } else {
      const ms = Math.round((1000 * found.frame) / a.sampleRate);
      setVerdict(fill(words.differs, { sample: found.frame, ms }));
    }
  };
  return (
    <>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <Button
            size="small"
            disabled={others.length === 0 || take.state !== "done"}
            title={words.compareWith}
          >
            <GitCompareArrows size={13} aria-hidden />
            {words.compare}
          </Button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content align="start" sideOffset={4} className={MENU}>
            {others.slice(0, 12).map((other) => (
              <DropdownMenu.Item
                key={other.id}
                onSelect={() => void compare(other)}
                className={ITEM}
              >
                {other.request.voiceName} · {other.request.seed} · {clock(other.durationMs)}
              </DropdownMenu.Item>
            ))}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <span aria-live="polite" className="text-xs text-muted" data-testid="verdict">
        {verdict}
      </span>
    </>
  );
}
