/** The panel in which the API is tried: what to send, the same as code, and what became of it. */
"use client";
import { Play, Send, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { inWords } from "../api/trouble.ts";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { ModelSelect } from "../playground/model-select.tsx";
import { useChosenModel, useHasModels } from "../store/models.ts";
import { useSettings } from "../store/settings.ts";
import { loadVoices, useVoiceChoice, useVoices } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { SelectField, TextArea, TextField } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { type CodeOptions, TRANSPORTS, type Transport, type Wish } from "./code.ts";
import { CodeOfWish } from "./code-block.tsx";
import { cancelTrial, hearAgain, tryOut, useTrial } from "./trial.ts";
import { WireLog } from "./wire-log.tsx";

const FORMATS = ["pcm", "wav", "flac", "mp3", "aac", "opus"] as const;

/** A seed as it is typed: undefined for none, null for what is none. */
function seedOf(text: string): number | undefined | null {
  if (text.trim() === "") return undefined;
  const seed = Number(text);
  return Number.isSafeInteger(seed) && seed >= 0 ? seed : null;
}

export function TrialPanel({ options }: { readonly options: CodeOptions }) {
  const words = useStrings("reference").trial;
  const settings = useSettings();
  const chosen = useVoiceChoice((state) => state.chosen);
  const own = useChosenModel()?.id;
  const model = useHasModels() ? own : undefined;
  const [transport, setTransport] = useState<Transport>("whole");
  const [text, setText] = useState<string>();
  const [voice, setVoice] = useState<string>();
  const [format, setFormat] = useState<string>("wav");
  const [seedText, setSeedText] = useState("");
  const phase = useTrial((state) => state.phase);
  useEffect(() => void (useVoices.getState().load === "idle" && loadVoices()), []);

  const input = text ?? settings.text;
  const seed = seedOf(seedText);
  const wish: Wish = {
    transport,
    input,
    model,
    voice: (voice ?? chosen) || "default",
    format,
    seed: seed ?? undefined,
  };
  const isEmpty = input.trim() === "";
  const isRunning = phase === "running";
  const choose = (next: Transport) => {
    setTransport(next);
    // What each is best heard in; a format that was chosen by hand is overruled once, in sight.
    setFormat(next === "whole" ? "wav" : "pcm");
  };
  return (
    <section aria-labelledby="trial-title" className="card grid gap-3 p-3" data-testid="trial">
      <div>
        <h2 id="trial-title" className="font-semibold">
          {words.title}
        </h2>
        <p className="text-xs text-muted">{words.about}</p>
      </div>
      <Transports chosen={transport} onChoose={choose} />
      <TextArea
        label={words.text}
        rows={3}
        value={input}
        onChange={(event) => setText(event.currentTarget.value)}
        error={isEmpty ? words.noText : undefined}
      />
      <ModelSelect />
      <div className="grid grid-cols-2 gap-2">
        <VoiceField value={wish.voice} onChange={setVoice} />
        <SelectField
          label={words.format}
          value={format}
          onChange={(event) => setFormat(event.currentTarget.value)}
        >
          {FORMATS.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
      </div>
      <TextField
        label={words.seed}
        inputMode="numeric"
        value={seedText}
        hint={words.seedHint}
        error={seed === null ? words.seedWrong : undefined}
        onChange={(event) => setSeedText(event.currentTarget.value)}
      />
      <div className="flex flex-wrap gap-2">
        <Button
          kind="primary"
          onClick={() => tryOut(wish)}
          disabled={isEmpty || seed === null || isRunning}
        >
          <Send size={15} aria-hidden />
          {words.send}
        </Button>
        <CancelButton isRunning={isRunning} />
      </div>
      <Outcome onRetry={() => tryOut(wish)} />
      <CodeOfWish wish={wish} options={options} />
    </section>
  );
}

interface TransportsProps {
  readonly chosen: Transport;
  readonly onChoose: (transport: Transport) => void;
}

function Transports({ chosen, onChoose }: TransportsProps) {
  const words = useStrings("reference").trial;
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="pb-1 text-xs font-medium text-muted">{words.transport}</legend>
      {TRANSPORTS.map((transport) => (
        <label
          key={transport}
          className="flex min-h-8 cursor-pointer items-center rounded-lg border border-line px-2.5 text-xs has-checked:border-accent has-checked:bg-accent-soft has-checked:font-medium has-checked:text-accent-strong has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-(--focus)"
        >
          <input
            type="radio"
            name="transport"
            className="sr-only"
            checked={transport === chosen}
            onChange={() => onChoose(transport)}
          />
          {words.transports[transport]}
        </label>
      ))}
    </fieldset>
  );
}

function VoiceField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (id: string) => void;
}) {
  const words = useStrings("reference").trial;
  const voices = useVoices((state) => state.voices);
  return (
    <SelectField
      label={words.voice}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {voices.length === 0 && <option value="default">{words.noVoices}</option>}
      {voices.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

function CancelButton({ isRunning }: { readonly isRunning: boolean }) {
  const { actions } = useStrings("common");
  const words = useStrings("reference").trial;
  const sound = useTrial((state) => state.sound);
  if (isRunning) {
    return (
      <Button kind="danger" onClick={cancelTrial}>
        <Square size={14} aria-hidden />
        {actions.cancel}
      </Button>
    );
  }
  if (sound === undefined) return null;
  return (
    <Button onClick={hearAgain}>
      <Play size={14} aria-hidden />
      {words.again}
    </Button>
  );
}

function Outcome({ onRetry }: { readonly onRetry: () => void }) {
  const words = useStrings("reference").trial;
  const troubles = useStrings("troubles");
  const trial = useTrial();
  const { phase, trouble, soundTrouble, firstMs, log } = trial;
  useEffect(() => {
    if (firstMs !== undefined) announce(fill(words.announceFirst, { ms: Math.round(firstMs) }));
  }, [firstMs, words]);
  if (phase === "empty") return <p className="text-sm text-muted">{words.empty}</p>;
  return (
    <div className="grid gap-3" data-testid="trial-outcome" data-phase={phase}>
      <p role="status" className="text-sm text-muted">
        {words[phase]}
      </p>
      {trouble !== undefined && <Problem trouble={trouble} onRetry={onRetry} />}
      {soundTrouble !== undefined && (
        <p role="alert" className="text-sm text-warn">
          {words.unheard} {inWords(soundTrouble, troubles).message}
        </p>
      )}
      <Figures />
      <WireLog log={log} />
    </div>
  );
}

function Figures() {
  const words = useStrings("reference").trial;
  const { units } = useStrings("common");
  const locale = useLocale();
  const { status, firstMs, totalMs, bytes, sound } = useTrial();
  const ms = (value: number) => fill(units.ms, { n: Math.round(value) });
  const facts: readonly (readonly [string, string | undefined])[] = [
    [words.status, status === undefined ? undefined : String(status)],
    [words.firstMs, firstMs === undefined ? undefined : ms(firstMs)],
    [words.totalMs, totalMs === undefined ? undefined : ms(totalMs)],
    [
      words.bytes,
      bytes === 0 ? undefined : fill(words.bytesValue, { n: bytes.toLocaleString(locale) }),
    ],
    [
      words.seconds,
      sound === undefined || totalMs === undefined
        ? undefined
        : fill(units.seconds, { n: sound.seconds.toFixed(2) }),
    ],
  ];
  return (
    <dl className="grid grid-cols-[repeat(auto-fill,minmax(7rem,1fr))] gap-2">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt className="text-xs text-muted">{name}</dt>
            <dd className="figures text-sm">{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
