/** Changes the name, description and language of a voice. */
"use client";
import { type FormEvent, useState } from "react";
import { useLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useVoices, type Voice } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField, TextArea, TextField } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { nameChars } from "./draft.ts";
import { useLanguages } from "./languages.ts";
import { useTask } from "./task.ts";
import { changeVoice } from "./voice-actions.ts";
import { nameProblem } from "./voice-names.ts";

interface DialogProps {
  readonly voice: Voice;
  readonly onClose: () => void;
}

export function EditDialog({ voice, onClose }: DialogProps) {
  const { edit, details } = useStrings("voices");
  const { actions } = useStrings("common");
  const voices = useVoices((state) => state.voices);
  const limits = useLimits()?.limits;
  const [name, setName] = useState(voice.name);
  const [description, setDescription] = useState(voice.description);
  const [language, setLanguage] = useState(voice.language);
  const languages = useLanguages(voice.language);
  const task = useTask();
  const max = nameChars();
  const problem = nameProblem(name, voices, max, voice.id);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const isSaved = await task.run(() => changeVoice(voice, { name, description, language }));
    if (isSaved) onClose();
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title={fill(edit.title, { voice: voice.name })}
      about={edit.about}
    >
      <form onSubmit={(event) => void submit(event)} className="grid gap-4">
        <TextField
          label={details.name}
          value={name}
          error={problem && fill(details.nameProblem[problem], { max })}
          onChange={(event) => setName(event.target.value)}
        />
        <TextArea
          label={details.description}
          hint={details.descriptionHint}
          rows={3}
          maxLength={limits?.description_chars}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
        <SelectField
          label={details.language}
          value={language}
          onChange={(event) => setLanguage(event.target.value)}
        >
          <option value="">{details.noLanguage}</option>
          {languages.map(({ code, name }) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </SelectField>
        {task.trouble && <Problem trouble={task.trouble} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>{actions.cancel}</Button>
          <Button type="submit" kind="primary" disabled={task.isBusy || problem !== undefined}>
            {task.isBusy ? edit.saving : actions.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
