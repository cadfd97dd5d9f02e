/** Asks before a voice is deleted, and says what goes with it. */
"use client";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import type { Voice } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Problem } from "../ui/problem.tsx";
import { useTask } from "./task.ts";
import { deleteVoice, exportVoice } from "./voice-actions.ts";

interface DialogProps {
  readonly voice: Voice;
  readonly onClose: () => void;
}

export function DeleteDialog({ voice, onClose }: DialogProps) {
  const { remove, card, say } = useStrings("voices");
  const { actions } = useStrings("common");
  const task = useTask();
  const confirm = async () => {
    if (!(await task.run(() => deleteVoice(voice)))) return;
    announce(say.deleted);
    onClose();
    // The button that opened the dialog is gone with its card.
    document.getElementById("content")?.focus({ preventScroll: true });
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title={fill(remove.title, { voice: voice.name })}
      about={remove.goes}
    >
      <div className="grid gap-4">
        <p className="text-sm">{remove.stays}</p>
        {task.trouble && <Problem trouble={task.trouble} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button
            kind="quiet"
            disabled={task.isBusy}
            onClick={() => void task.run(() => exportVoice(voice))}
          >
            {fill(card.exportVoice, { voice: voice.name })}
          </Button>
          <Button onClick={onClose}>{actions.cancel}</Button>
          <Button kind="danger" disabled={task.isBusy} onClick={() => void confirm()}>
            {task.isBusy ? remove.deleting : remove.confirm}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
