/** A short label with a tone; the tone is never the only carrier of its meaning. */
import { clsx } from "clsx";
import type { ReactNode } from "react";

const TONES = {
  plain: "bg-sunken text-muted",
  accent: "bg-accent-soft text-accent-strong",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
} as const;

export type Tone = keyof typeof TONES;

export function Badge({
  tone = "plain",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) {
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}
