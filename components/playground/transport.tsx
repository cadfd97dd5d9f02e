/** Speak, stop, and how the next take is made. The button is the level meter while it sounds. */
"use client";
import { Lock, LockOpen, Repeat, SlidersHorizontal, Square, Volume2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { knownLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { changeSettings, useSettings } from "../store/settings.ts";
import { useTakes } from "../store/takes.ts";
import { useVoiceChoice } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { currentLevel, isSounding, setVolume, togglePlay, usePlaying } from "./playing.ts";
import { SettingsSheet } from "./settings-sheet.tsx";
import { ShareMenu } from "./share-menu.tsx";
import { speak, stopAll, useSpeaking } from "./speaking.ts";
import { currentRequest } from "./take-actions.ts";

/** Seeds beyond this are not whole numbers to a browser. */
const MOST_SEED = Number.MAX_SAFE_INTEGER;

/** Why nothing can be said now; undefined if something can. */
function useObstacle(): string | undefined {
  const { script, transport } = useStrings("playground");
  const { engine } = useStrings("common");
  const text = useSettings((settings) => settings.text);
  const voice = useVoiceChoice((state) => state.chosen);
  const state = useServer((server) => server.state);
  if (state === "offline") return engine.offlineHint;
  if (text.trim() === "") return script.empty;
  const limit = knownLimits()?.limits.max_input_chars;
  const over = limit === undefined ? 0 : [...text].length - limit;
  if (over > 0 && limit !== undefined) return fill(script.tooLong, { over, limit });
  if (state === "warming_up") return transport.notReady;
  return voice === "" ? "" : undefined;
}

export function Transport() {
  const words = useStrings("playground").transport;
  const obstacle = useObstacle();
  const isMaking = useSpeaking(({ active }) => active.size > 0);
  const playing = usePlaying((state) => state.state);
  const loops = usePlaying((state) => state.loops);
  const volume = useSettings((settings) => settings.volume);
  const [sheetOpen, setSheetOpen] = useState(false);
  const isBusy = isMaking || isSounding(playing);

  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-end gap-2">
        <SpeakButton disabled={obstacle !== undefined} />
        {/* Disabled in name only: whoever pressed it keeps the focus. */}
        <Button
          size="large"
          onClick={stopAll}
          aria-disabled={!isBusy}
          title={words.stopHint}
          className="aria-disabled:cursor-not-allowed aria-disabled:text-muted aria-disabled:hover:border-line"
        >
          <Square size={15} aria-hidden />
          {words.stop}
        </Button>
        <SeedField />
        <TransportNote obstacle={obstacle} />
      </div>
      <div className="flex flex-wrap items-center gap-1.5">
        <label className="flex items-center gap-1.5 text-muted" title={words.volume}>
          <Volume2 size={16} aria-hidden />
          <span className="sr-only">{words.volume}</span>
          <input
            type="range"
            min={0}
            max={1}
            step={0.01}
            value={volume}
            aria-valuetext={`${Math.round(100 * volume)} %`}
            onChange={(event) => setVolume(Number(event.target.value))}
            className="h-6 w-20 accent-accent"
          />
        </label>
        <Button
          size="icon"
          kind="quiet"
          aria-label={words.loop}
          title={words.loop}
          aria-pressed={loops}
          onClick={() => usePlaying.setState({ loops: !loops })}
          className={loops ? "text-accent" : ""}
        >
          <Repeat size={16} aria-hidden />
        </Button>
        <ShareMenu />
        <Button onClick={() => setSheetOpen(true)} aria-haspopup="dialog">
          <SlidersHorizontal size={15} aria-hidden />
          {words.settings}
        </Button>
      </div>
      <SettingsSheet open={sheetOpen} onOpenChange={setSheetOpen} />
    </div>
  );
}

function SpeakButton({ disabled }: { readonly disabled: boolean }) {
  const words = useStrings("playground").transport;
  const meter = useRef<HTMLSpanElement>(null);
  const isSpeaking = usePlaying(({ state }) => isSounding(state));

  useEffect(() => {
    if (!isSpeaking) {
      if (meter.current !== null) meter.current.style.transform = "scaleX(0)";
      return;
    }
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const show = () => {
      if (meter.current !== null)
        meter.current.style.transform = `scaleX(${currentLevel().toFixed(3)})`;
    };
    if (isCalm) {
      const timer = setInterval(show, 250);
      return () => clearInterval(timer);
    }
    let frame = requestAnimationFrame(function next() {
      show();
      frame = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(frame);
  }, [isSpeaking]);

  return (
    <Button
      kind="primary"
      size="large"
      disabled={disabled}
      title={words.speakHint}
      data-testid="speak"
      onClick={(event) =>
        speak(currentRequest(), { askedAt: event.timeStamp || performance.now() })
      }
      className="relative min-w-36 overflow-hidden"
    >
      <span
        ref={meter}
        aria-hidden
        data-testid="level"
        className="absolute inset-x-0 bottom-0 h-1.5 origin-left scale-x-0 bg-on-accent/70"
      />
      {words.speak}
    </Button>
  );
}

function SeedField() {
  const words = useStrings("playground").transport;
  const seed = useSettings((settings) => settings.seed);
  const isLocked = useSettings((settings) => settings.seedLocked);
  const [text, setText] = useState<string>();
  const written = text ?? (isLocked ? String(seed) : "");
  const isValid = written === "" || (/^\d+$/.test(written) && Number(written) <= MOST_SEED);
  return (
    <div className="grid gap-1">
      <label htmlFor="seed" className="text-xs font-medium text-muted">
        {words.seed}
      </label>
      <div className="flex">
        <input
          id="seed"
          inputMode="numeric"
          value={written}
          placeholder={words.drawn}
          aria-invalid={!isValid || undefined}
          aria-describedby={isValid ? undefined : "seed-error"}
          onChange={(event) => {
            const value = event.target.value.trim();
            setText(value);
            if (/^\d+$/.test(value) && Number(value) <= MOST_SEED) {
              changeSettings({ seed: Number(value), seedLocked: true });
            } else if (value === "") changeSettings({ seedLocked: false });
          }}
          onBlur={() => setText(undefined)}
          className="figures min-h-11 w-40 rounded-l-lg border border-line bg-surface px-3 text-sm placeholder:font-sans placeholder:text-xs placeholder:text-muted aria-invalid:border-bad"
        />
        <Button
          aria-label={isLocked ? words.unlock : words.lock}
          title={isLocked ? words.unlock : words.lock}
          aria-pressed={isLocked}
          onClick={() => {
            setText(undefined);
            const { takes, selected } = useTakes.getState();
            const last = takes.find(({ id }) => id === selected)?.request.seed ?? seed;
            changeSettings({ seedLocked: !isLocked, ...(isLocked ? {} : { seed: last }) });
          }}
          className="min-h-11 rounded-l-none border-l-0"
        >
          {isLocked ? <Lock size={15} aria-hidden /> : <LockOpen size={15} aria-hidden />}
        </Button>
      </div>
      {!isValid && (
        <p id="seed-error" role="alert" className="text-xs text-bad">
          {fill(words.badSeed, { max: MOST_SEED })}
        </p>
      )}
    </div>
  );
}

/** What stands in the way, or what has just happened, in one line that keeps its place. */
function TransportNote({ obstacle }: { readonly obstacle: string | undefined }) {
  const words = useStrings("playground").transport;
  const playing = usePlaying((state) => state.state);
  const playingTake = usePlaying((state) => state.take);
  const stopMs = useTakes(({ takes }) => takes[0]?.stopMs);
  if (playing === "blocked") {
    return (
      <p
        role="alert"
        className="flex min-w-44 flex-1 flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-warn-soft px-3 py-2 text-sm"
      >
        {words.blocked}
        <Button size="small" onClick={() => togglePlay(playingTake)}>
          {words.hear}
        </Button>
      </p>
    );
  }
  const note =
    obstacle || (stopMs === undefined ? "" : fill(words.freed, { ms: Math.round(stopMs) }));
  return (
    <p
      className="min-h-5 min-w-44 flex-1 pb-1 pl-2 text-xs text-muted"
      data-testid="transport-note"
    >
      {note}
    </p>
  );
}
