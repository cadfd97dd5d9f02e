/** Name and note of a run, and its deletion, which asks first. */
"use client";
import { useState } from "react";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextArea, TextField } from "../ui/field.tsx";
import { deleteRun, describeRun, type StoredRun } from "./runs.ts";

interface RunDialogProps {
  readonly run: StoredRun;
  /** What it is called on the page. */
  readonly name: string;
  readonly onClose: () => void;
}

export function EditRunDialog({ run, name, onClose }: RunDialogProps) {
  const words = useStrings("stress").runs;
  const { actions } = useStrings("common");
  const [ownName, setName] = useState(run.name);
  const [note, setNote] = useState(run.note);
  const keep = () => {
    void describeRun(run.id, { name: ownName.trim(), note: note.trim() });
    onClose();
  };
  return (
    <Dialog open onOpenChange={(open) => open || onClose()} title={words.editTitle}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          keep();
        }}
      >
        <TextField
          label={words.name}
          value={ownName}
          placeholder={name}
          maxLength={200}
          onChange={(event) => setName(event.target.value)}
        />
        <TextArea
          label={words.note}
          rows={4}
          value={note}
          maxLength={4000}
          onChange={(event) => setNote(event.target.value)}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{actions.cancel}</Button>
          <Button type="submit" kind="primary">
            {actions.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteRunDialog({ run, name, onClose }: RunDialogProps) {
  const words = useStrings("stress").runs;
  const { actions } = useStrings("common");
  const confirm = () => {
    onClose();
    void deleteRun(run.id);
    announce(words.removed);
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title={words.removeTitle}
      about={fill(words.removeAbout, { name })}
    >
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{actions.cancel}</Button>
        <Button kind="danger" onClick={confirm}>
          {actions.remove}
        </Button>
      </div>
    </Dialog>
  );
}
