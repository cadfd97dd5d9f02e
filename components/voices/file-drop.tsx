/** Takes files that are dropped anywhere on the page, and says so while they are dragged over it. */
"use client";
import { Upload } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useStrings } from "../i18n/provider.tsx";

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;

export function FileDrop({ onFile }: { readonly onFile: (file: File) => void }) {
  const words = useStrings("voices");
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFile);
  latest.current = onFile;

  useEffect(() => {
    // Entering a child comes before leaving its parent.
    let depth = 0;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth++;
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth--;
      if (depth <= 0) setOver(false);
    };
    const over = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      depth = 0;
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault();
      latest.current(file);
    };
    const listeners = { dragenter: enter, dragleave: leave, dragover: over, drop } as const;
    for (const [name, listener] of Object.entries(listeners)) {
      document.addEventListener(name, listener as EventListener);
    }
    return () => {
      for (const [name, listener] of Object.entries(listeners)) {
        document.removeEventListener(name, listener as EventListener);
      }
    };
  }, []);

  if (!isOver) return null;
  return (
    <div className="pointer-events-none fixed inset-0 z-40 grid place-items-center bg-bg/85 p-6">
      <p className="flex max-w-md items-center gap-3 rounded-2xl border-2 border-dashed border-accent bg-surface px-6 py-8 font-medium">
        <Upload size={24} aria-hidden className="shrink-0 text-accent" />
        {words.drop}
      </p>
    </div>
  );
}
