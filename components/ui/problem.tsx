/** A failure beside the control that caused it: sentence, next step, code, and a way to try again. */
"use client";
import { CircleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { inWords, type Trouble } from "../api/trouble.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "./button.tsx";

interface ProblemProps {
  readonly trouble: Trouble;
  readonly onRetry?: (() => void) | undefined;
  readonly onDismiss?: (() => void) | undefined;
  readonly children?: ReactNode;
}

export function Problem({ trouble, onRetry, onDismiss, children }: ProblemProps) {
  const { actions, failure } = useStrings("common");
  const { message, hint, code, requestId, detail } = inWords(trouble, useStrings("troubles"));
  const left = useCountdown(trouble);
  return (
    <div
      role="alert"
      className="flex gap-3 rounded-lg border border-bad/40 bg-bad-soft px-3 py-2.5 text-sm text-ink"
    >
      <CircleAlert size={18} aria-hidden className="mt-0.5 shrink-0 text-bad" />
      <div className="grid min-w-0 flex-1 gap-1">
        <p className="break-words font-medium">{message}</p>
        {hint && <p className="break-words">{hint}</p>}
        {detail && (
          <p lang="en" className="break-words text-xs text-ink/80">
            {detail}
          </p>
        )}
        <p className="figures text-xs text-ink/80">
          {fill(failure.code, { code })}
          {requestId && ` · ${fill(failure.request, { id: requestId })}`}
        </p>
        {children}
        {(onRetry ?? onDismiss) && (
          <div className="mt-1 flex flex-wrap gap-2">
            {onRetry && (
              <Button size="small" onClick={onRetry} disabled={left > 0}>
                {left > 0 ? fill(failure.retryIn, { seconds: left }) : actions.retry}
              </Button>
            )}
            {onDismiss && (
              <Button size="small" kind="quiet" onClick={onDismiss}>
                {actions.dismiss}
              </Button>
            )}
          </div>
        )}
      </div>
    </div>
  );
}

/** Whole seconds until another try makes sense. */
function useCountdown(trouble: Trouble): number {
  const [until] = useState(() => performance.now() + (trouble.retryAfterMs ?? 0));
  const [left, setLeft] = useState(() => Math.ceil((trouble.retryAfterMs ?? 0) / 1000));
  useEffect(() => {
    if (left <= 0) return;
    const timer = setInterval(
      () => setLeft(Math.max(0, Math.ceil((until - performance.now()) / 1000))),
      250,
    );
    return () => clearInterval(timer);
  }, [left, until]);
  return left;
}
