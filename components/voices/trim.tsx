/** Which stretch of the recording is kept: by handles on the waveform, by numbers, or by suggestion. */
"use client";
import { Square, Volume2 } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";
import type { Range } from "../audio/doctor-measure.ts";
import { interleave } from "../audio/pcm.ts";
import { TakeAudio } from "../audio/take-audio.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { type Source, setRange, useDraft } from "./draft.ts";
import { listen, stopListening, useListening } from "./listening.ts";

const TrimWave = dynamic(() => import("./trim-wave.tsx").then(({ TrimWave }) => TrimWave), {
  ssr: false,
  loading: () => <div className="size-full animate-pulse" />,
});

/** Stretches that differ by less are the same, in seconds. */
const SAME_SECONDS = 0.05;

const isSame = (a: Range, b: Range) =>
  Math.abs(a.start - b.start) < SAME_SECONDS && Math.abs(a.end - b.end) < SAME_SECONDS;

export function Trim({ source }: { readonly source: Source }) {
  const words = useStrings("voices").trim;
  const range = useDraft((state) => state.treatment.range);
  const isSaving = useDraft((state) => state.phase === "saving");
  const { seconds, whole } = source;
  const all = { start: 0, end: seconds };
  const suggestions = [
    { label: words.best, range: whole.bestWindow },
    { label: words.silence, range: whole.measures.sound },
    { label: words.all, range: all },
  ].filter(({ range }) => range === all || (range.end > range.start && !isSame(range, all)));
  const { start, end } = range;
  return (
    <section aria-labelledby="trim-title" className="grid gap-3">
      <div className="flex flex-wrap items-baseline justify-between gap-2">
        <h4 id="trim-title" className="text-sm font-semibold">
          {words.title}
        </h4>
        <span className="figures text-xs text-muted" data-testid="kept">
          {fill(words.kept, { kept: (end - start).toFixed(1), whole: seconds.toFixed(1) })}
        </span>
      </div>
      <div className="h-28 rounded-lg border border-line bg-sunken">
        <TrimWave
          sound={source.sound}
          range={range}
          label={fill(words.wave, { start: start.toFixed(1), end: end.toFixed(1) })}
        />
      </div>
      <fieldset disabled={isSaving} className="grid gap-3">
        <div className="grid grid-cols-2 gap-3">
          <SecondsField
            label={words.start}
            value={start}
            max={seconds}
            onValue={(value) => setRange({ start: value, end })}
          />
          <SecondsField
            label={words.end}
            value={end}
            max={seconds}
            onValue={(value) => setRange({ start, end: value })}
          />
        </div>
        <div className="flex flex-wrap gap-2">
          {suggestions.map(({ label, range: suggested }) => (
            <Button
              key={label}
              size="small"
              aria-pressed={isSame(range, suggested)}
              className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
              onClick={() => setRange(suggested)}
            >
              {label}
            </Button>
          ))}
        </div>
      </fieldset>
      <ListenButtons source={source} />
    </section>
  );
}

interface SecondsFieldProps {
  readonly label: string;
  readonly value: number;
  readonly max: number;
  readonly onValue: (seconds: number) => void;
}

/** What is being typed stays as it is typed; everything that is a number counts at once. */
function SecondsField({ label, value, max, onValue }: SecondsFieldProps) {
  const [typed, setTyped] = useState<string>();
  return (
    <TextField
      label={label}
      type="number"
      inputMode="decimal"
      min={0}
      max={max.toFixed(2)}
      step={0.1}
      value={typed ?? value.toFixed(2)}
      onBlur={() => setTyped(undefined)}
      onChange={({ target }) => {
        setTyped(target.value);
        if (target.value !== "" && Number.isFinite(target.valueAsNumber)) {
          onValue(target.valueAsNumber);
        }
      }}
    />
  );
}

function ListenButtons({ source }: { readonly source: Source }) {
  const words = useStrings("voices").trim;
  const { actions } = useStrings("common");
  const examined = useDraft((state) => state.examined);
  const isExamining = useDraft((state) => state.isExamining);
  const what = useListening((state) => state.what);
  const trimmed = () => {
    const planes = examined?.planes ?? [];
    const channels = planes.length === 1 ? 1 : 2;
    return TakeAudio.of(interleave(planes), source.sampleRate, channels);
  };
  const choices = [
    { name: "original", label: words.original, sound: () => source.sound, isOff: false },
    { name: "trimmed", label: words.trimmed, sound: trimmed, isOff: isExamining || !examined },
  ];
  return (
    <div className="flex flex-wrap gap-2">
      {choices.map(({ name, label, sound, isOff }) => (
        <Button
          key={name}
          size="small"
          disabled={isOff}
          onClick={() => (what === name ? stopListening() : listen(name, sound()))}
        >
          {what === name ? <Square size={13} aria-hidden /> : <Volume2 size={14} aria-hidden />}
          {what === name ? actions.stop : label}
        </Button>
      ))}
    </div>
  );
}
