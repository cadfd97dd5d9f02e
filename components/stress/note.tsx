/** A sentence that a reader of figures should not miss. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

export function Note({ children }: { readonly children: ReactNode }) {
  return (
    <p className="flex gap-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-ink">
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
      <span className="min-w-0 break-words">{children}</span>
    </p>
  );
}
