/**
 * The models of the server, and which of them the next take is made with. Their states come with every tick; what they are
 * is read once, and again when one has changed that could not be read before.
 */
import { useMemo } from "react";
import { create } from "zustand";
import type { ModelFacts } from "../../server/protocol/documents.ts";
import type { ModelReading } from "../../server/protocol/playground.ts";
import { fetchModels, type PlayModel } from "../api/models.ts";
import { useServer } from "./server.ts";
import { useSettings } from "./settings.ts";

export type { PlayModel } from "../api/models.ts";

interface ModelsState {
  /** Empty until they are known. */
  readonly models: readonly PlayModel[];
}

export const useModels = create<ModelsState>()(() => ({ models: [] }));

let reading: Promise<void> | undefined;

/** Reads what the models are. Failing leaves what was known: a server with one model needs nothing of it. */
export function loadModels(): Promise<void> {
  reading ??= fetchModels()
    .then((models) => useModels.setState({ models }))
    .catch(() => undefined)
    .finally(() => {
      reading = undefined;
    });
  return reading;
}

/** Reads them unless they are known. */
export async function knowModels(): Promise<void> {
  if (useModels.getState().models.length === 0) await loadModels();
}

/** The model with an id, else the one that speaks by default. */
function modelOrDefault(models: readonly PlayModel[], id: string): PlayModel | undefined {
  return models.find((model) => model.id === id) ?? models.find(({ isDefault }) => isDefault);
}

/** The model that speaks next; undefined until the models are known. */
export function chosenModel(): PlayModel | undefined {
  return modelOrDefault(useModels.getState().models, useSettings.getState().model);
}

/** What requests call it; undefined where the server has only one, which needs no name. */
export function requestedModel(): string | undefined {
  return useModels.getState().models.length > 1 ? chosenModel()?.id : undefined;
}

export function useChosenModel(): PlayModel | undefined {
  const models = useModels((state) => state.models);
  const id = useSettings((settings) => settings.model);
  return modelOrDefault(models, id);
}

/** Whether there is anything to choose. */
export function useHasModels(): boolean {
  return useModels(({ models }) => models.length > 1);
}

/** Whether the page's choice is a model of this server. */
export function isKnownModel(id: string): boolean {
  return useModels.getState().models.some((model) => model.id === id);
}

export interface ModelStatus {
  readonly stage: ModelFacts["state"];
  readonly reason: string | undefined;
  /** Its latest figures; undefined until a tick came. */
  readonly reading: ModelReading | undefined;
}

/** How a model is doing: by the latest tick, else by what was read of it. */
export function useModelStatus(model: PlayModel | undefined): ModelStatus | undefined {
  const reading = useServer(({ tick }) => tick?.models.find(({ id }) => id === model?.id));
  return useMemo(() => {
    if (model === undefined) return undefined;
    const { stage, reason } = reading ?? { stage: model.stage, reason: model.reason };
    return { stage, reason, reading };
  }, [model, reading]);
}
