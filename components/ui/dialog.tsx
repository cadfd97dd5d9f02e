/** Dialogs: in the middle of the page, or as a sheet at its side. Focus is kept inside and given back. */
"use client";
import { clsx } from "clsx";
import { X } from "lucide-react";
import { Dialog as Primitive } from "radix-ui";
import type { ReactNode } from "react";
import { useStrings } from "../i18n/provider.tsx";

interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: ReactNode;
  /** A sentence under the title. */
  readonly about?: ReactNode;
  readonly side?: "middle" | "right";
  readonly wide?: boolean;
  readonly children: ReactNode;
}

const PLACES = {
  middle:
    "left-1/2 top-[8vh] max-h-[84vh] w-[min(94vw,var(--dialog-width))] -translate-x-1/2 rounded-2xl border",
  right: "inset-y-0 right-0 h-dvh w-[min(100vw,var(--dialog-width))] border-l",
} as const;

export function Dialog(props: DialogProps) {
  const { open, onOpenChange, title, about, side = "middle", wide = false, children } = props;
  const { actions } = useStrings("common");
  return (
    <Primitive.Root open={open} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Primitive.Content
          style={{ "--dialog-width": wide ? "56rem" : "32rem" } as React.CSSProperties}
          className={clsx(
            "fixed z-50 flex flex-col overflow-hidden border-line bg-surface text-ink shadow-2xl",
            PLACES[side],
          )}
          {...(about ? {} : { "aria-describedby": undefined })}
        >
          <div className="flex items-start justify-between gap-4 border-b border-line px-5 py-4">
            <div className="grid gap-1">
              <Primitive.Title className="text-base font-semibold">{title}</Primitive.Title>
              {about && (
                <Primitive.Description className="text-sm text-muted">
                  {about}
                </Primitive.Description>
              )}
            </div>
            <Primitive.Close
              aria-label={actions.close}
              className="grid size-8 shrink-0 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
            >
              <X size={18} aria-hidden />
            </Primitive.Close>
          </div>
          <div className="overflow-y-auto px-5 py-4">{children}</div>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
