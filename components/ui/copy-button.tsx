/** Copies a text and says so. */
"use client";
import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { Button, type ButtonProps } from "./button.tsx";

interface CopyButtonProps extends Omit<ButtonProps, "onClick"> {
  /** The text, or what makes it. */
  readonly text: string | (() => string);
  readonly label?: string;
  /** The icon, if it is another one. */
  readonly children?: ReactNode;
}

export function CopyButton({ text, label, children, ...button }: CopyButtonProps) {
  const { actions } = useStrings("common");
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    setCopied(true);
  };
  return (
    <Button size="small" {...button} onClick={() => void copy()}>
      {copied ? <Check size={14} aria-hidden /> : (children ?? <Copy size={14} aria-hidden />)}
      <span aria-live="polite">{copied ? actions.copied : (label ?? actions.copy)}</span>
    </Button>
  );
}
