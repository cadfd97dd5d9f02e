/** Which model speaks, where the server has several: a choice, how that model is doing, and what can be done about it. */
"use client";
import { useEffect } from "react";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import {
  type ModelStatus,
  type PlayModel,
  useChosenModel,
  useHasModels,
  useModelStatus,
} from "../store/models.ts";
import { isOff, useModelChange } from "../store/use-model-change.ts";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { languageName } from "../voices/languages.ts";
import { ModelSelect } from "./model-select.tsx";

/** More languages than these are counted instead of named. */
const NAMED_LANGUAGES = 4;

export function ModelPicker() {
  const words = useStrings("playground").models;
  const chosen = useChosenModel();
  const hasModels = useHasModels();
  const status = useModelStatus(chosen);
  if (!hasModels || chosen === undefined || status === undefined) return null;
  return (
    <section
      aria-label={words.title}
      className="mb-4 grid content-start gap-2"
      data-testid="models"
      data-stage={status.stage}
    >
      <ModelSelect />
      <About model={chosen} />
      <State model={chosen} status={status} />
    </section>
  );
}

function About({ model }: { readonly model: PlayModel }) {
  const words = useStrings("playground").models;
  const locale = useLocale();
  const { languages, description } = model;
  const named = languages.map((code) => languageName(code, locale)).join(", ");
  const shown =
    languages.length > NAMED_LANGUAGES ? fill(words.languages, { n: languages.length }) : named;
  return (
    <p className="text-xs text-muted" title={named}>
      {[description, shown].filter(Boolean).join(" · ")}
    </p>
  );
}

interface StateProps {
  readonly model: PlayModel;
  readonly status: ModelStatus;
}

/** In one line that is read out when it changes, with the one thing that can be done. */
function State({ model, status: { stage, reason } }: StateProps) {
  const words = useStrings("playground").models;
  const { isAsked, trouble, load, dismiss } = useModelChange(model);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was said of one state or model is not said of the next
  useEffect(dismiss, [model.id, stage]);
  return (
    <>
      <div className="flex min-h-7 flex-wrap items-center justify-between gap-2">
        <p role="status" className={stage === "failed" ? "text-xs text-bad" : "text-xs text-muted"}>
          {stage === "failed" && reason !== undefined
            ? fill(words.failedFor, { reason })
            : words.about[isAsked && isOff(stage) ? "loading" : stage]}
        </p>
        {isOff(stage) && (
          <Button size="small" disabled={isAsked} onClick={() => void load()}>
            {stage === "failed" ? words.tryAgain : words.loadNow}
          </Button>
        )}
      </div>
      {trouble && stage !== "failed" && <Problem trouble={trouble} onDismiss={dismiss} />}
    </>
  );
}
