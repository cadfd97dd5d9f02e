/** A button that opens the browser's choice of files. The input itself has the focus, so keys and labels work. */
"use client";
import { clsx } from "clsx";
import { type ReactNode, useId } from "react";

interface FileButtonProps {
  readonly accept: string;
  readonly onFile: (file: File) => void;
  readonly kind?: "primary" | "plain";
  readonly size?: "small" | "normal";
  readonly children: ReactNode;
}

export function FileButton(props: FileButtonProps) {
  const { accept, onFile, kind = "plain", size = "normal", children } = props;
  const id = useId();
  return (
    <span className="relative inline-flex">
      <input
        id={id}
        type="file"
        accept={accept}
        className="peer sr-only"
        onChange={(event) => {
          const file = event.target.files?.[0];
          // The same file may be chosen again.
          event.target.value = "";
          if (file !== undefined) onFile(file);
        }}
      />
      <label
        htmlFor={id}
        className={clsx(
          "inline-flex cursor-pointer select-none items-center justify-center whitespace-nowrap rounded-lg border font-medium transition-colors",
          "peer-focus-visible:outline-2 peer-focus-visible:outline-offset-2 peer-focus-visible:outline-(--focus)",
          size === "small" ? "min-h-7 gap-1.5 px-2.5 text-xs" : "min-h-9 gap-2 px-3.5 text-sm",
          kind === "primary"
            ? "border-transparent bg-accent text-on-accent hover:bg-accent-strong"
            : "border-line bg-surface text-ink hover:border-line-strong",
        )}
      >
        {children}
      </label>
    </span>
  );
}
