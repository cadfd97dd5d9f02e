/** A labelled control with its hint and its error, tied together for those who cannot see where they stand. */
"use client";
import { clsx } from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";

const CONTROL =
  "w-full rounded-lg border border-line bg-surface px-3 py-1.5 text-sm text-ink placeholder:text-muted hover:border-line-strong aria-invalid:border-bad";

interface Common {
  readonly label: ReactNode;
  /** What the field means or allows. */
  readonly hint?: ReactNode;
  /** What is wrong with its value; absent if nothing is. */
  readonly error?: ReactNode;
  /** Keeps the label for screen readers only. */
  readonly hideLabel?: boolean | undefined;
  readonly className?: string | undefined;
}

interface FrameProps extends Common {
  readonly children: (ties: {
    id: string;
    "aria-describedby"?: string;
    "aria-invalid"?: true;
  }) => ReactNode;
}

/** Label above, control, then error or hint. `children` gets the attributes that tie them together. */
export function Field({ label, hint, error, hideLabel, className, children }: FrameProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = Boolean(error ?? hint);
  const ties = {
    id,
    ...(hasNote ? { "aria-describedby": noteId } : {}),
    ...(error ? { "aria-invalid": true as const } : {}),
  };
  return (
    <div className={clsx("grid content-start gap-1", className)}>
      <label htmlFor={id} className={hideLabel ? "sr-only" : "text-xs font-medium text-muted"}>
        {label}
      </label>
      {children(ties)}
      {hasNote && (
        <p id={noteId} className={clsx("text-xs", error ? "text-bad" : "text-muted")}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  error,
  hideLabel,
  className,
  ...input
}: Common & ComponentProps<"input">) {
  return (
    <Field {...{ label, hint, error, hideLabel, className }}>
      {(ties) => <input className={clsx(CONTROL, "min-h-9")} {...ties} {...input} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  error,
  hideLabel,
  className,
  ...area
}: Common & ComponentProps<"textarea">) {
  return (
    <Field {...{ label, hint, error, hideLabel, className }}>
      {(ties) => (
        <textarea className={clsx(CONTROL, "resize-y leading-relaxed")} {...ties} {...area} />
      )}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  error,
  hideLabel,
  className,
  children,
  ...select
}: Common & ComponentProps<"select">) {
  return (
    <Field {...{ label, hint, error, hideLabel, className }}>
      {(ties) => (
        <select className={clsx(CONTROL, "min-h-9 pr-8")} {...ties} {...select}>
          {children}
        </select>
      )}
    </Field>
  );
}

/** A number with a slider; `format` writes the value beside the label. */
export function RangeField({
  label,
  value,
  format = String,
  hint,
  className,
  ...input
}: Common &
  Omit<ComponentProps<"input">, "value"> & {
    readonly value: number;
    readonly format?: (value: number) => string;
  }) {
  const id = useId();
  return (
    <div className={clsx("grid gap-1", className)}>
      <div className="flex items-baseline justify-between gap-2">
        <label htmlFor={id} className="text-xs font-medium text-muted">
          {label}
        </label>
        <output htmlFor={id} className="figures text-xs">
          {format(value)}
        </output>
      </div>
      <input
        id={id}
        type="range"
        value={value}
        aria-valuetext={format(value)}
        className="h-6 w-full accent-accent"
        {...input}
      />
      {hint && <p className="text-xs text-muted">{hint}</p>}
    </div>
  );
}
