/** A field of the set-up that holds a number, with what is wrong with it beside it. */
"use client";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { TextField } from "../ui/field.tsx";
import { type FormProblems, NUMBER_BOUNDS, type NumberField } from "./form.ts";
import { changeForm, useForm } from "./form-store.ts";

interface FormNumberProps {
  readonly name: NumberField;
  readonly problems: FormProblems;
}

export function FormNumber({ name, problems }: FormNumberProps) {
  const { fields } = useStrings("stress").setup;
  const text = useForm((form) => form[name]);
  const error = useProblemText(problems, name);
  return (
    <TextField
      label={fields[name]}
      value={text}
      inputMode={NUMBER_BOUNDS[name].isWhole ? "numeric" : "decimal"}
      autoComplete="off"
      error={error}
      onChange={(event) => changeForm({ [name]: event.target.value })}
    />
  );
}

/** The sentence beside a field; undefined if nothing is wrong with it. */
export function useProblemText(
  problems: FormProblems,
  name: keyof FormProblems,
): string | undefined {
  const words = useStrings("stress").problems;
  const problem = problems[name];
  return problem === undefined ? undefined : fill(words[problem.key], problem.values);
}
