/** A part of the page that the contents lead to, and one foldable entry in it. */
"use client";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Described } from "./fields-table.tsx";

export function Section({
  id,
  title,
  about,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly about?: string;
  readonly children: ReactNode;
}) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="grid scroll-mt-20 gap-3">
      <h2 id={`${id}-title`} className="text-lg font-semibold tracking-tight">
        {title}
      </h2>
      {about && (
        <p className="max-w-prose text-sm text-muted">
          <Described text={about} />
        </p>
      )}
      {children}
    </section>
  );
}

/** Folded until somebody wants to know; found by the browser's search all the same. */
export function Entry({
  id,
  head,
  children,
}: {
  readonly id: string;
  readonly head: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <details id={id} className="group/entry card scroll-mt-20">
      <summary className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-sm marker:content-none hover:bg-sunken">
        <ChevronRight
          size={16}
          aria-hidden
          className="text-muted transition-transform group-open/entry:rotate-90"
        />
        {head}
      </summary>
      <div className="grid gap-4 border-t border-line px-3 py-3">{children}</div>
    </details>
  );
}
