/** Buttons in the kinds and sizes of the interface. */
import { clsx } from "clsx";
import type { ComponentProps } from "react";

const KINDS = {
  primary:
    "bg-accent text-on-accent hover:bg-accent-strong disabled:bg-line disabled:text-muted border-transparent",
  plain: "bg-surface text-ink border-line hover:border-line-strong disabled:text-muted",
  quiet: "border-transparent text-muted hover:bg-sunken hover:text-ink disabled:opacity-50",
  danger: "bg-surface text-bad border-line hover:border-bad disabled:text-muted",
} as const;

const SIZES = {
  small: "min-h-7 px-2.5 text-xs gap-1.5",
  normal: "min-h-9 px-3.5 text-sm gap-2",
  large: "min-h-11 px-5 text-base gap-2.5",
  icon: "size-8 justify-center",
} as const;

export interface ButtonProps extends ComponentProps<"button"> {
  readonly kind?: keyof typeof KINDS;
  readonly size?: keyof typeof SIZES;
}

/** A button; `size="icon"` is a square and needs an `aria-label`. */
export function Button({ kind = "plain", size = "normal", className, ...props }: ButtonProps) {
  return (
    <button
      type="button"
      className={clsx(
        "inline-flex shrink-0 select-none items-center justify-center whitespace-nowrap rounded-lg border font-medium",
        "transition-colors disabled:cursor-not-allowed",
        KINDS[kind],
        SIZES[size],
        className,
      )}
      {...props}
    />
  );
}
