/** A choice of a few, all in sight: a group of radio buttons that look like one bar. */
"use client";
import { clsx } from "clsx";
import { type ReactNode, useId } from "react";

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly {
    readonly value: T;
    readonly label: string;
    readonly isOff?: boolean;
  }[];
  readonly onChange: (value: T) => void;
  /** What the choice means. */
  readonly children?: ReactNode;
}

export function Choice<T extends string>(props: ChoiceProps<T>) {
  const { label, value, options, onChange, children } = props;
  const name = useId();
  return (
    <fieldset
      className="grid min-w-0 gap-1"
      aria-describedby={children ? `${name}-about` : undefined}
    >
      <legend className="mb-1 text-xs font-medium text-muted">{label}</legend>
      <div className="flex flex-wrap gap-1 rounded-lg bg-sunken p-1">
        {options.map((option) => (
          <label
            key={option.value}
            className={clsx(
              "relative grid min-h-8 flex-auto cursor-pointer place-items-center rounded-md border px-2.5 text-center text-sm",
              "has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-(--focus)",
              option.value === value
                ? "border-line-strong bg-surface font-medium text-ink"
                : "border-transparent text-muted hover:text-ink",
              option.isOff && "cursor-not-allowed opacity-60",
            )}
          >
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              disabled={option.isOff}
              onChange={() => onChange(option.value)}
              className="sr-only"
            />
            {option.label}
          </label>
        ))}
      </div>
      {children && (
        <div id={`${name}-about`} className="text-xs text-muted">
          {children}
        </div>
      )}
    </fieldset>
  );
}
