/** Which model speaks, as a choice alone: for every page whose voices or requests belong to a model. */
"use client";
import { useStrings } from "../i18n/provider.tsx";
import { type PlayModel, useChosenModel, useModelStatus, useModels } from "../store/models.ts";
import { chooseModel } from "../store/voices.ts";
import { SelectField } from "../ui/field.tsx";

/** Nothing where there is only one model. */
export function ModelSelect() {
  const words = useStrings("playground").models;
  const models = useModels((state) => state.models);
  const chosen = useChosenModel();
  if (models.length < 2) return null;
  return (
    <SelectField
      label={words.title}
      value={chosen?.id ?? ""}
      onChange={(event) => chooseModel(event.target.value)}
    >
      {models.map((model) => (
        <ModelOption key={model.id} model={model} />
      ))}
    </SelectField>
  );
}

function ModelOption({ model }: { readonly model: PlayModel }) {
  const words = useStrings("playground").models;
  const stage = useModelStatus(model)?.stage ?? model.stage;
  return (
    <option value={model.id}>
      {stage === "ready" ? model.name : `${model.name} – ${words.stages[stage]}`}
    </option>
  );
}
