/**
 * A comparison that cannot be swayed: names hidden, loudness matched, sides random, a choice only after enough was heard.
 * Keys: 1 and 2 prefer, 0 is a tie, Space listens again, Shift+Space goes to the other one.
 */
"use client";
import { useEffect, useRef, useState } from "react";
import { matchingGains } from "../audio/loudness.ts";
import { deinterleave, toFloat } from "../audio/pcm.ts";
import type { Playback } from "../audio/playback.ts";
import { sharedPlayer } from "../audio/player.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { loadSound } from "../store/history.ts";
import { type Take, useTakes } from "../store/takes.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import type { Candidate } from "./blind-candidate.ts";
import { BlindResult } from "./blind-result.tsx";
import { type Choice, makePairs, type Pair } from "./blind-rounds.ts";
import { clock } from "./clock.ts";
import { silence } from "./playing.ts";

const MOST_TAKES = 8;

export function BlindCompare({ onClose }: { readonly onClose: () => void }) {
  const words = useStrings("playground").blind;
  const [candidates, setCandidates] = useState<readonly Candidate[]>();
  const [pairs, setPairs] = useState<readonly Pair[]>([]);
  const [choices, setChoices] = useState<readonly Choice[]>([]);
  const pair = pairs[choices.length];

  useEffect(() => silence, []);

  const begin = async (takes: readonly Take[]) => {
    const made = await prepare(takes);
    setCandidates(made);
    setPairs(makePairs(made.map(({ take }) => take.id)));
    setChoices([]);
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title={words.title}
      about={words.about}
      wide
    >
      {candidates === undefined ? (
        <Pick onBegin={(takes) => void begin(takes)} />
      ) : pair === undefined ? (
        <BlindResult
          candidates={candidates}
          pairs={pairs}
          choices={choices}
          onAgain={() => setCandidates(undefined)}
        />
      ) : (
        <Round
          key={choices.length}
          candidates={candidates}
          pair={pair}
          number={choices.length + 1}
          rounds={pairs.length}
          onChoose={(choice) => setChoices([...choices, choice])}
        />
      )}
    </Dialog>
  );
}

/** Reads the sounds and finds the levels that make them equally loud. */
async function prepare(takes: readonly Take[]): Promise<Candidate[]> {
  const loaded = await Promise.all(
    takes.map(async (take) => ({ take, sound: await loadSound(take) })),
  );
  const there = loaded.flatMap(({ take, sound }) => (sound ? [{ take, sound }] : []));
  const gains = matchingGains(
    there.map(({ sound }) => ({
      planes: deinterleave(toFloat(sound.read(0, sound.frames)), sound.channels),
      sampleRate: sound.sampleRate,
    })),
  );
  return there.map((one, index) => ({ ...one, gainDb: gains[index] ?? 0 }));
}

function Pick({ onBegin }: { readonly onBegin: (takes: readonly Take[]) => void }) {
  const words = useStrings("playground").blind;
  const takes = useTakes((state) => state.takes).filter(({ state }) => state === "done");
  const [picked, setPicked] = useState<readonly string[]>(() =>
    takes.slice(0, 2).map(({ id }) => id),
  );
  if (takes.length < 2) return <p className="text-sm">{words.need}</p>;
  const toggle = (id: string) =>
    setPicked(picked.includes(id) ? picked.filter((one) => one !== id) : [...picked, id]);
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-medium">{words.pick}</legend>
      <ul className="grid gap-1">
        {takes.slice(0, 40).map((take) => {
          const isPicked = picked.includes(take.id);
          return (
            <li key={take.id}>
              <label className="flex min-h-9 items-center gap-3 rounded-lg px-2 text-sm hover:bg-sunken">
                <input
                  type="checkbox"
                  checked={isPicked}
                  disabled={!isPicked && picked.length >= MOST_TAKES}
                  onChange={() => toggle(take.id)}
                  className="size-4 accent-accent"
                />
                <span className="font-medium">{take.request.voiceName}</span>
                <span className="figures whitespace-nowrap text-xs text-muted">
                  {take.request.seed} · {clock(take.durationMs)}
                </span>
                <span className="truncate text-xs text-muted">{take.request.text}</span>
              </label>
            </li>
          );
        })}
      </ul>
      <Button
        kind="primary"
        disabled={picked.length < 2}
        onClick={() => onBegin(takes.filter(({ id }) => picked.includes(id)))}
        className="justify-self-start"
      >
        {words.start}
      </Button>
    </fieldset>
  );
}

type Side = "first" | "second";

/** Share of a take that has to be heard before a choice is taken. */
const ENOUGH = 0.6;

interface RoundProps {
  readonly candidates: readonly Candidate[];
  readonly pair: Pair;
  readonly number: number;
  readonly rounds: number;
  readonly onChoose: (choice: Choice) => void;
}

function Round({ candidates, pair, number, rounds, onChoose }: RoundProps) {
  const words = useStrings("playground").blind;
  const [side, setSide] = useState<Side>();
  const [heard, setHeard] = useState({ first: 0, second: 0 });
  const playback = useRef<Playback>(undefined);
  const names = { first: words.a, second: words.b };
  const missing = (["first", "second"] as const).find((one) => heard[one] < ENOUGH);

  const listen = (next: Side) => {
    const candidate = candidates.find(({ take }) => take.id === pair[next]);
    if (candidate === undefined) return;
    sharedPlayer().unlock();
    playback.current = sharedPlayer().play(candidate.sound, { gainDb: candidate.gainDb });
    setSide(next);
  };
  const choose = (choice: Choice) => {
    if (missing !== undefined) return;
    playback.current?.stop();
    onChoose(choice);
  };

  useEffect(() => {
    if (side === undefined) return;
    const timer = setInterval(() => {
      const now = playback.current;
      if (now === undefined) return;
      const share = now.audibleFrame / Math.max(1, now.audio.frames);
      setHeard((before) => (share > before[side] ? { ...before, [side]: share } : before));
    }, 100);
    return () => clearInterval(timer);
  }, [side]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    const actions = new Map<string, () => void>([
      ["1", () => choose("first")],
      ["2", () => choose("second")],
      ["0", () => choose("tie")],
      [
        " ",
        () =>
          listen(
            event.shiftKey && side === "first"
              ? "second"
              : event.shiftKey
                ? "first"
                : (side ?? "first"),
          ),
      ],
    ]);
    const action = actions.get(event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the whole round; each has a button as well
    <div className="grid gap-4" onKeyDown={onKeyDown} data-testid="round">
      <p className="text-sm text-muted">{fill(words.round, { round: number, rounds })}</p>
      <div className="grid gap-3 sm:grid-cols-2">
        {(["first", "second"] as const).map((one) => (
          <div key={one} className="card grid gap-2 p-3">
            <Button
              onClick={() => listen(one)}
              aria-pressed={side === one}
              data-testid={`listen-${one}`}
            >
              {fill(words.listen, { name: names[one] })}
            </Button>
            <progress
              max={1}
              value={heard[one]}
              aria-label={names[one]}
              className="h-2 w-full accent-accent"
            />
            <Button
              kind="primary"
              disabled={missing !== undefined}
              onClick={() => choose(one)}
              data-testid={`prefer-${one}`}
            >
              {fill(words.prefer, { name: names[one] })} ({one === "first" ? 1 : 2})
            </Button>
          </div>
        ))}
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button disabled={missing !== undefined} onClick={() => choose("tie")}>
          {words.tie} (0)
        </Button>
        <p aria-live="polite" className="text-sm text-muted">
          {missing !== undefined &&
            fill(words.unlock, {
              name: names[missing],
              percent: Math.max(1, Math.ceil(100 * (ENOUGH - heard[missing]))),
            })}
        </p>
      </div>
    </div>
  );
}
