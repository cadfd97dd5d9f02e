/** One block for each model, where the server has several: its state, who it speaks to, what it takes, and its engine. */
"use client";
import type { ModelReading } from "../../server/protocol/playground.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import {
  type ModelStatus,
  type PlayModel,
  useHasModels,
  useModelStatus,
  useModels,
} from "../store/models.ts";
import { isOff, useModelChange } from "../store/use-model-change.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";

const MEGABYTE = 1e6;

const TONES: Readonly<Record<ModelStatus["stage"], Tone>> = {
  unloaded: "plain",
  loading: "warn",
  warming: "warn",
  ready: "good",
  draining: "warn",
  failed: "bad",
};

export function ModelsList() {
  const words = useStrings("status").models;
  const models = useModels((state) => state.models);
  if (!useHasModels()) return null;
  return (
    <section aria-labelledby="models" className="grid gap-3" data-testid="models">
      <div className="grid max-w-prose gap-1">
        <h2 id="models" className="text-lg font-semibold tracking-tight">
          {words.title}
        </h2>
        <p className="text-sm text-muted">{words.about}</p>
      </div>
      <ul className="grid gap-3 md:grid-cols-2">
        {models.map((model) => (
          <ModelCard key={model.id} model={model} />
        ))}
      </ul>
    </section>
  );
}

function ModelCard({ model }: { readonly model: PlayModel }) {
  const { models: words, units } = useStrings("status");
  const { stages } = useStrings("playground").models;
  const status = useModelStatus(model);
  if (status === undefined) return null;
  const { stage, reason, reading } = status;
  const rows = [
    [words.requests, model.id],
    [words.speaking, reading && fill(words.speakingValue, figuresOf(reading))],
    [words.memory, reading && fill(units.mb, { n: Math.round(reading.engine_bytes / MEGABYTE) })],
    [words.engine, stage === "ready" ? model.engine?.description : undefined],
  ].filter((row): row is [string, string] => row[1] !== undefined);
  return (
    <li className="card grid content-start gap-3 p-4" data-model={model.id} data-stage={stage}>
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 truncate font-semibold">{model.name}</h3>
        <Badge tone={TONES[stage]}>{stages[stage]}</Badge>
        {model.isDefault && <Badge>{words.byDefault}</Badge>}
      </div>
      {reason !== undefined && <p className="text-sm [overflow-wrap:anywhere]">{reason}</p>}
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="figures text-xs leading-5 [overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
      </dl>
      <Change model={model} stage={stage} />
    </li>
  );
}

function figuresOf({ active, capacity, waiting }: ModelReading) {
  return { active, capacity, waiting };
}

interface ChangeProps {
  readonly model: PlayModel;
  readonly stage: ModelStatus["stage"];
}

/** Loads it or frees its memory; what it speaks comes to its end first. */
function Change({ model, stage }: ChangeProps) {
  const words = useStrings("status").models;
  const { isAsked, trouble, load, unload, dismiss } = useModelChange(model);
  const off = isOff(stage);
  return (
    <>
      <Button
        size="small"
        disabled={isAsked || !(off || stage === "ready")}
        aria-label={fill(off ? words.loadModel : words.unloadModel, { model: model.name })}
        onClick={() => void (off ? load() : unload())}
        className="justify-self-start"
      >
        {off ? words.load : words.unload}
      </Button>
      {trouble && <Problem trouble={trouble} onDismiss={dismiss} />}
    </>
  );
}
