/** Loading a model and freeing its memory, as the pages do it by hand. */
import { useState } from "react";
import { client } from "../api/client.ts";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { loadModels, type ModelStatus, type PlayModel } from "./models.ts";

/** Whether it has to be loaded before it speaks. */
export function isOff(stage: ModelStatus["stage"]): boolean {
  return stage === "unloaded" || stage === "failed";
}

export interface ModelChange {
  /** The server has not answered yet. */
  readonly isAsked: boolean;
  /** What went wrong the last time; undefined if nothing did. */
  readonly trouble: Trouble | undefined;
  load(): Promise<void>;
  unload(): Promise<void>;
  dismiss(): void;
}

export function useModelChange({ id }: PlayModel): ModelChange {
  const [isAsked, setAsked] = useState(false);
  const [trouble, setTrouble] = useState<Trouble>();
  const change = async (ask: () => Promise<unknown>) => {
    setAsked(true);
    setTrouble(undefined);
    try {
      await ask();
      await loadModels();
    } catch (error) {
      setTrouble(troubleOf(error));
    } finally {
      setAsked(false);
    }
  };
  return {
    isAsked,
    trouble,
    load: () => change(() => client().loadModel(id)),
    unload: () => change(() => client().unloadModel(id)),
    dismiss: () => setTrouble(undefined),
  };
}
