/** What the voice is called, who speaks, that this person agrees; and the button that makes the voice. */
"use client";
import { type FormEvent, useEffect, useId, useRef } from "react";
import { useLimits } from "../api/limits.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useVoices } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { SelectField, TextArea, TextField } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { cancelSave, changeDetails, nameChars, saveDraft, useDraft } from "./draft.ts";
import { useLanguages } from "./languages.ts";
import { nameProblem } from "./voice-names.ts";

const SPEAKER_CHARS = 120;

export function DetailsForm() {
  const words = useStrings("voices").details;
  const voices = useVoices((state) => state.voices);
  const limits = useLimits()?.limits;
  const details = useDraft((state) => state.details);
  const isSaving = useDraft((state) => state.phase === "saving");
  const trouble = useDraft((state) => state.saveTrouble);
  const languages = useLanguages(details.language);
  const max = nameChars();
  const problem = nameProblem(details.name, voices, max);
  const statement = useStatement();
  const blocked = useBlocked(problem !== undefined);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (blocked !== undefined || isSaving) return;
    const mine = details.speaker === "me";
    const speaker = mine ? words.mine : details.speakerName.trim();
    const date = new Date().toISOString().slice(0, 10);
    void saveDraft(fill(words.record, { speaker, statement, date }));
  };
  return (
    <form onSubmit={submit} aria-label={words.title} className="grid gap-4">
      <fieldset disabled={isSaving} className="grid gap-4">
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField
            label={words.name}
            value={details.name}
            error={problem && fill(words.nameProblem[problem], { max })}
            onChange={({ target }) => changeDetails({ name: target.value })}
          />
          <SelectField
            label={words.language}
            value={details.language}
            onChange={({ target }) => changeDetails({ language: target.value })}
          >
            <option value="">{words.noLanguage}</option>
            {languages.map(({ code, name }) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </SelectField>
        </div>
        <TextArea
          label={words.description}
          hint={words.descriptionHint}
          rows={2}
          maxLength={limits?.description_chars}
          value={details.description}
          onChange={({ target }) => changeDetails({ description: target.value })}
        />
        <Consent statement={statement} />
      </fieldset>
      {trouble && <Problem trouble={trouble} />}
      <SaveRow blocked={blocked} />
    </form>
  );
}

/** What is agreed to, in the first person or of somebody else. */
function useStatement(): string {
  const words = useStrings("voices").details;
  const { speaker, speakerName } = useDraft((state) => state.details);
  if (speaker === "me") return words.agreeMe;
  return fill(words.agreeOther, { speaker: speakerName.trim() || words.someone });
}

/** Why the voice cannot be saved yet; undefined if it can. */
function useBlocked(hasNameProblem: boolean): string | undefined {
  const words = useStrings("voices").details;
  const { speaker, speakerName, isAgreed } = useDraft((state) => state.details);
  const grade = useDraft((state) => state.examined?.diagnosis.grade);
  if (grade === undefined) return words.needsExam;
  if (grade === "fail") return words.needsCure;
  if (hasNameProblem) return words.needsName;
  if (speaker === "other" && speakerName.trim() === "") return words.needsSpeaker;
  return isAgreed ? undefined : words.needsAgreement;
}

function Consent({ statement }: { readonly statement: string }) {
  const words = useStrings("voices").details;
  const { speaker, speakerName, isAgreed } = useDraft((state) => state.details);
  const hint = useId();
  return (
    <fieldset className="grid gap-3 rounded-lg border border-line p-3">
      <legend className="px-1 text-xs font-medium text-muted">{words.consentTitle}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        <SelectField
          label={words.speaker}
          value={speaker}
          onChange={({ target }) =>
            changeDetails({ speaker: target.value === "other" ? "other" : "me", isAgreed: false })
          }
        >
          <option value="me">{words.me}</option>
          <option value="other">{words.other}</option>
        </SelectField>
        {speaker === "other" && (
          <TextField
            label={words.speakerName}
            value={speakerName}
            maxLength={SPEAKER_CHARS}
            error={isAgreed && speakerName.trim() === "" ? words.speakerMissing : undefined}
            onChange={({ target }) => changeDetails({ speakerName: target.value })}
          />
        )}
      </div>
      <div className="grid gap-1">
        <label className="flex min-h-6 items-start gap-2 text-sm">
          <input
            type="checkbox"
            checked={isAgreed}
            aria-describedby={hint}
            onChange={({ target }) => changeDetails({ isAgreed: target.checked })}
            className="size-6 shrink-0 accent-accent"
          />
          <span className="pt-0.5">{statement}</span>
        </label>
        <p id={hint} className="text-xs text-muted">
          {words.consentHint}
        </p>
      </div>
    </fieldset>
  );
}

function SaveRow({ blocked }: { readonly blocked: string | undefined }) {
  const words = useStrings("voices").details;
  const { actions } = useStrings("common");
  const isSaving = useDraft((state) => state.phase === "saving");
  const progress = useDraft((state) => state.progress);
  const trouble = useDraft((state) => state.saveTrouble);
  const note = useId();
  const button = useRef<HTMLButtonElement>(null);
  // The button comes back when saving failed, and what had the focus meanwhile is gone.
  useEffect(() => {
    if (trouble !== undefined) button.current?.focus();
  }, [trouble]);
  if (isSaving) {
    const share = progress ? progress.sentBytes / Math.max(1, progress.totalBytes) : 0;
    const isSent = share >= 1;
    const text = isSent
      ? words.encoding
      : fill(words.uploading, { percent: Math.round(100 * share) });
    return (
      <div className="flex items-center gap-3">
        <div className="grid flex-1 gap-1">
          <p role="status" className="text-sm">
            {text}
          </p>
          <progress
            aria-label={text}
            className="h-2 w-full accent-accent"
            max={1}
            {...(isSent ? {} : { value: share })}
          />
        </div>
        <Button onClick={cancelSave}>{actions.cancel}</Button>
      </div>
    );
  }
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button
        ref={button}
        type="submit"
        kind="primary"
        size="large"
        disabled={blocked !== undefined}
        aria-describedby={note}
      >
        {words.save}
      </Button>
      <p id={note} className="text-sm text-muted">
        {blocked !== undefined && fill(words.blocked, { reason: blocked })}
      </p>
    </div>
  );
}
