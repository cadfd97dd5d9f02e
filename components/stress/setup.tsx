/** The set-up of a run: what is asked for, from where, and how much of it at most. */
"use client";
import { Play } from "lucide-react";
import { longestOf } from "../../server/stress/shape.ts";
import { STRESS_TARGETS } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { Button } from "../ui/button.tsx";
import { SelectField, TextArea } from "../ui/field.tsx";
import { Switch } from "../ui/switch.tsx";
import {
  DETAIL_FIELDS,
  FORM_SHAPES,
  FORM_TEXTS,
  type FormProblems,
  LIMIT_FIELDS,
  type NumberField,
  ownTexts,
  SHAPE_FIELDS,
} from "./form.ts";
import { changeForm, useForm } from "./form-store.ts";
import { FormNumber, useProblemText } from "./number-field.tsx";
import { PRESETS, withPreset } from "./presets.ts";
import { isOn, startRun, useRunning } from "./running.ts";
import { SourceChoice, useGeneratorNote } from "./source-choice.tsx";
import { type PlanReading, usePlan } from "./use-plan.ts";
import { VoiceChoice } from "./voice-choice.tsx";

export function Setup() {
  const words = useStrings("stress").setup;
  const isRunning = useRunning(isOn);
  const reading = usePlan();
  const { plan, problems } = reading;
  return (
    <section aria-labelledby="setup" className="card grid content-start gap-4 p-4">
      <h2 id="setup" className="text-lg font-semibold tracking-tight">
        {words.title}
      </h2>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (plan !== undefined) startRun(plan, reading.limits.streams);
        }}
      >
        <fieldset disabled={isRunning} className="grid min-w-0 gap-4 disabled:opacity-70">
          <legend className="sr-only">{words.title}</legend>
          <Presets />
          <SourceChoice limits={reading.limits} />
          <TargetField reading={reading} />
          <ShapeFields reading={reading} />
          <LimitFields problems={problems} />
          <TextFields problems={problems} />
          <VoiceChoice />
          <Details problems={problems} />
        </fieldset>
        <StartButton reading={reading} isRunning={isRunning} />
      </form>
    </section>
  );
}

function Presets() {
  const words = useStrings("stress").setup;
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-xs font-medium text-muted">{words.presets}</legend>
      <div className="flex flex-wrap gap-1.5">
        {PRESETS.map((preset) => (
          <Button
            key={preset}
            size="small"
            onClick={() => changeForm(withPreset(useForm.getState(), preset))}
          >
            {words.preset[preset]}
          </Button>
        ))}
      </div>
    </fieldset>
  );
}

function TargetField({ reading: { limits } }: { readonly reading: PlanReading }) {
  const words = useStrings("stress").setup;
  const target = useForm((form) => form.target);
  const source = useForm((form) => form.source);
  const isFew = source === "browser" && target !== "ws" && limits.streams < 10;
  return (
    <SelectField
      label={words.target}
      value={target}
      hint={isFew ? fill(words.fewRequests, { max: limits.streams }) : undefined}
      onChange={(event) =>
        changeForm({ target: STRESS_TARGETS.find((one) => one === event.target.value) ?? "ws" })
      }
    >
      {(["ws", "http", "sse"] as const).map((one) => (
        <option key={one} value={one}>
          {words.targets[one]}
        </option>
      ))}
    </SelectField>
  );
}

function ShapeFields({ reading: { plan, problems } }: { readonly reading: PlanReading }) {
  const words = useStrings("stress").setup;
  const shape = useForm((form) => form.shape);
  const takes = plan === undefined ? undefined : Math.ceil(longestOf(plan));
  return (
    <div className="grid gap-2">
      <SelectField
        label={words.shape}
        value={shape}
        hint={words.shapeAbout[shape]}
        onChange={(event) =>
          changeForm({ shape: FORM_SHAPES.find((one) => one === event.target.value) ?? "fixed" })
        }
      >
        {FORM_SHAPES.map((one) => (
          <option key={one} value={one}>
            {words.shapes[one]}
          </option>
        ))}
      </SelectField>
      <Numbers names={SHAPE_FIELDS[shape]} problems={problems} />
      <p className="min-h-4 text-xs text-muted">
        {takes !== undefined &&
          fill(shape === "knee" ? words.takesKnee : words.takes, { n: takes })}
      </p>
    </div>
  );
}

interface NumbersProps {
  readonly names: readonly NumberField[];
  readonly problems: FormProblems;
}

function Numbers({ names, problems }: NumbersProps) {
  return (
    <div className="grid grid-cols-2 gap-2">
      {names.map((name) => (
        <FormNumber key={name} name={name} problems={problems} />
      ))}
    </div>
  );
}

function LimitFields({ problems }: { readonly problems: FormProblems }) {
  const words = useStrings("stress").setup;
  const isKnee = useForm(({ shape }) => shape === "knee");
  const problem = useProblemText(problems, "limits");
  return (
    <fieldset className="grid min-w-0 gap-2">
      <legend className="mb-1 text-sm font-semibold">{words.limits}</legend>
      <Numbers names={LIMIT_FIELDS} problems={problems} />
      {problem !== undefined && (
        <p role="alert" className="text-xs text-bad">
          {problem}
        </p>
      )}
      <p className="text-xs text-muted">{isKnee ? words.limitsAboutKnee : words.limitsAbout}</p>
    </fieldset>
  );
}

function TextFields({ problems }: { readonly problems: FormProblems }) {
  const words = useStrings("stress").setup;
  const texts = useForm((form) => form.texts);
  const own = useForm((form) => form.ownTexts);
  const problem = useProblemText(problems, "ownTexts");
  return (
    <div className="grid gap-2">
      <SelectField
        label={words.texts}
        value={texts}
        onChange={(event) =>
          changeForm({ texts: FORM_TEXTS.find((one) => one === event.target.value) ?? "mixed" })
        }
      >
        {FORM_TEXTS.map((one) => (
          <option key={one} value={one}>
            {words.textSets[one]}
          </option>
        ))}
      </SelectField>
      {texts === "own" && (
        <TextArea
          label={words.ownTexts}
          rows={4}
          value={own}
          error={problem}
          hint={fill(words.textsAbout, { n: ownTexts(own).length })}
          onChange={(event) => changeForm({ ownTexts: event.target.value })}
        />
      )}
    </div>
  );
}

function Details({ problems }: { readonly problems: FormProblems }) {
  const words = useStrings("stress").setup;
  const { source, target, probe, realTimeReaders } = useForm();
  const names: readonly NumberField[] =
    source === "server" ? [...DETAIL_FIELDS, "processes"] : DETAIL_FIELDS;
  const isWrong = names.some((name) => problems[name] !== undefined);
  return (
    <details open={isWrong || undefined} className="rounded-lg border border-line">
      <summary className="min-h-9 px-3 py-2 text-sm font-medium">{words.more}</summary>
      <div className="grid gap-3 px-3 pb-3">
        <Numbers names={names} problems={problems} />
        <Switch label={words.probe} checked={probe} onChange={(probe) => changeForm({ probe })} />
        {target === "ws" && (
          <Switch
            label={words.realTimeReaders}
            checked={realTimeReaders}
            onChange={(realTimeReaders) => changeForm({ realTimeReaders })}
          />
        )}
      </div>
    </details>
  );
}

interface StartButtonProps {
  readonly reading: PlanReading;
  readonly isRunning: boolean;
}

/** Why nothing can be started now; empty if something can. */
function useObstacle({ plan, problems }: PlanReading): string {
  const words = useStrings("stress").setup;
  const state = useServer((server) => server.state);
  const source = useForm((form) => form.source);
  const workers = useGeneratorNote();
  if (state === "offline") return words.offline;
  if (state !== "ready") return words.notReady;
  if (source === "server" && workers.isOff) return workers.text ?? "";
  return plan === undefined ? fill(words.fix, { n: Object.keys(problems).length }) : "";
}

function StartButton({ reading, isRunning }: StartButtonProps) {
  const words = useStrings("stress").setup;
  const obstacle = useObstacle(reading);
  return (
    <div className="grid gap-1">
      <Button
        type="submit"
        kind="primary"
        size="large"
        disabled={obstacle !== "" || isRunning}
        data-testid="start"
        className="justify-center"
      >
        <Play size={16} aria-hidden />
        {words.start}
      </Button>
      <p className="text-xs text-muted empty:hidden">{isRunning ? "" : obstacle}</p>
    </div>
  );
}
