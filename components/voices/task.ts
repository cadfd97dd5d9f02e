/** Something that takes a moment and may fail, beside the control that started it. */
"use client";
import { useState } from "react";
import { type Trouble, troubleOf } from "../api/trouble.ts";

interface Task {
  readonly isBusy: boolean;
  readonly trouble: Trouble | undefined;
  /** Does the work and tells whether it succeeded. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
  readonly dismiss: () => void;
}

export function useTask(): Task {
  const [isBusy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble>();
  return {
    isBusy,
    trouble,
    dismiss: () => setTrouble(undefined),
    run: async (work) => {
      setBusy(true);
      setTrouble(undefined);
      try {
        await work();
        return true;
      } catch (error) {
        setTrouble(troubleOf(error));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}
