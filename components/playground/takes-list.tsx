/** All takes, the latest first: the room's memory. A removed take can be brought back for some seconds. */
"use client";
import { AudioLines } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { loadHistory, useHistory } from "../store/history.ts";
import { isFinished, type Take, useTakes } from "../store/takes.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Switch } from "../ui/switch.tsx";
import { buryTake, removeTake, restoreTake } from "./take-actions.ts";
import { TakeCard } from "./take-card.tsx";

/** How long a removal can be taken back. */
const UNDO_MS = 8000;
/** Cards that are drawn at once; more on request, so that a long history costs nothing. */
const PAGE = 20;

export function TakesList() {
  const words = useStrings("playground").takes;
  const { states, actions } = useStrings("common");
  const takes = useTakes((state) => state.takes);
  const load = useHistory((state) => state.load);
  const obstacle = useHistory((state) => state.obstacle);
  const [starredOnly, setStarredOnly] = useState(false);
  const [shown, setShown] = useState(PAGE);
  const [removed, setRemoved] = useState<Take[]>([]);
  const pending = useRef<Take[]>([]);
  const heading = useRef<HTMLHeadingElement>(null);
  pending.current = removed;

  useEffect(() => {
    void loadHistory();
    // What was removed and not brought back is gone when the page goes.
    return () => pending.current.forEach(buryTake);
  }, []);

  useEffect(() => {
    if (removed.length === 0) return;
    const timer = setTimeout(() => {
      removed.forEach(buryTake);
      setRemoved([]);
    }, UNDO_MS);
    return () => clearTimeout(timer);
  }, [removed]);

  const remove = useCallback((...gone: readonly Take[]) => {
    gone.forEach(removeTake);
    setRemoved((before) => [...before, ...gone]);
    // What was pressed is gone as well; from here the way to "Undo" is short.
    heading.current?.focus({ preventScroll: true });
  }, []);
  const visible = starredOnly ? takes.filter(({ isStarred }) => isStarred) : takes;
  const plain = takes.filter((take) => !take.isStarred && isFinished(take));

  return (
    <section aria-labelledby="takes-title" className="grid content-start gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <h2
          id="takes-title"
          ref={heading}
          tabIndex={-1}
          className="text-sm font-semibold outline-none"
        >
          {words.title}
        </h2>
        {takes.length > 0 && <Badge>{takes.length}</Badge>}
        <span className="ml-auto flex flex-wrap items-center gap-3">
          {takes.some(({ isStarred }) => isStarred) && (
            <Switch label={words.starredOnly} checked={starredOnly} onChange={setStarredOnly} />
          )}
          {plain.length > 1 && (
            <Button size="small" kind="quiet" onClick={() => remove(...plain)}>
              {words.removeAll}
            </Button>
          )}
        </span>
      </div>
      {obstacle && (
        <p role="alert" className="rounded-lg bg-warn-soft px-3 py-2 text-sm">
          {obstacle === "full" ? words.storeFull : words.storeOff}
        </p>
      )}
      {removed.length > 0 && (
        <p
          role="status"
          className="flex items-center gap-3 rounded-lg bg-sunken px-3 py-1.5 text-sm"
        >
          {words.removed}
          <Button
            size="small"
            onClick={() => {
              removed.forEach(restoreTake);
              setRemoved([]);
              heading.current?.focus({ preventScroll: true });
            }}
          >
            {words.undo}
          </Button>
        </p>
      )}
      {load !== "ready" && takes.length === 0 ? (
        <p className="text-sm text-muted">{words.loading}</p>
      ) : takes.length === 0 ? (
        <div className="grid justify-items-center gap-2 rounded-xl border border-dashed border-line px-4 py-8 text-center text-sm text-muted">
          <AudioLines aria-hidden size={22} />
          <p className="font-medium text-ink">{words.empty}</p>
          <p>{words.emptyNext}</p>
        </div>
      ) : (
        <ul className="grid gap-2">
          {visible.slice(0, shown).map((take) => (
            <li key={take.id}>
              <TakeCard take={take} onRemove={remove} />
            </li>
          ))}
          {visible.length === 0 && <li className="text-sm text-muted">{states.empty}</li>}
        </ul>
      )}
      {visible.length > shown && (
        <Button onClick={() => setShown(shown + PAGE)} className="justify-self-center">
          {actions.more} ({visible.length - shown})
        </Button>
      )}
    </section>
  );
}
