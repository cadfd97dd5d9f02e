/** Everything the page can do, by typing a few letters of it. */
"use client";
import { Command } from "cmdk";
import { useRouter } from "next/navigation";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { chooseVoice, useVoices } from "../store/voices.ts";
import { Dialog } from "../ui/dialog.tsx";
import { PAGES } from "./pages.ts";

interface PaletteProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

const ITEM =
  "cursor-pointer rounded-lg px-3 py-2 text-sm data-[selected=true]:bg-accent-soft data-[selected=true]:text-accent-strong";

export function Palette({ open, onOpenChange }: PaletteProps) {
  const { palette, nav } = useStrings("common");
  const voices = useVoices((state) => state.voices);
  const router = useRouter();
  const run = (action: () => void) => () => {
    onOpenChange(false);
    action();
  };
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={palette.title}>
      <Command label={palette.title} className="grid gap-2">
        <Command.Input
          autoFocus
          placeholder={palette.placeholder}
          className="min-h-10 rounded-lg border border-line bg-surface px-3 text-sm"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto">
          <Command.Empty className="px-3 py-4 text-sm text-muted">{palette.empty}</Command.Empty>
          {PAGES.map(({ href, name }) => (
            <Command.Item key={href} onSelect={run(() => router.push(href))} className={ITEM}>
              {fill(palette.go, { page: nav[name] })}
            </Command.Item>
          ))}
          {voices.map(({ id, name }) => (
            <Command.Item
              key={id}
              value={`voice ${id} ${name}`}
              onSelect={run(() => {
                chooseVoice(id);
                router.push("/");
              })}
              className={ITEM}
            >
              {fill(palette.voice, { voice: name })}
            </Command.Item>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
