/** What surrounds every page: the bar with pages, engine, language and theme, the palette and the list of keys. */
"use client";
import dynamic from "next/dynamic";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { type ReactNode, useEffect, useState } from "react";
import { useKey } from "../api/key.ts";
import { watchServer } from "../api/live.ts";
import type { Theme } from "../i18n/locales.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Announcer } from "./announcer.tsx";
import { EnginePill } from "./engine-pill.tsx";
import { HelpButton } from "./help.tsx";
import { LanguageMenu, ThemeMenu } from "./menus.tsx";
import { PAGES } from "./pages.ts";

const Palette = dynamic(() => import("./palette.tsx").then(({ Palette }) => Palette), {
  ssr: false,
});
const KeyDialog = dynamic(() => import("./key-dialog.tsx").then(({ KeyDialog }) => KeyDialog), {
  ssr: false,
});

export function Frame({
  theme,
  children,
}: {
  readonly theme: Theme;
  readonly children: ReactNode;
}) {
  const { product, skip, nav } = useStrings("common");
  const path = usePathname();
  const needsKey = useKey((state) => state.isAsked);
  const [paletteOpen, setPaletteOpen] = useState(false);

  useEffect(() => watchServer(), []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setPaletteOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);

  return (
    <>
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:left-3 focus:top-3 focus:z-50 focus:rounded-lg focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        {skip}
      </a>
      <header className="sticky top-0 z-30 border-b border-line bg-bg/95 backdrop-blur">
        <div className="mx-auto flex max-w-[100rem] flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 sm:px-5">
          <Link href="/" className="flex items-center gap-2 font-semibold tracking-tight">
            {/* biome-ignore lint/performance/noImgElement: a small file of our own, as it is */}
            <img src="/icon.svg" alt="" width={26} height={26} />
            <span className="max-sm:sr-only">{product}</span>
          </Link>
          <nav
            aria-label={nav.label}
            className="order-last -mx-1 flex w-full gap-1 overflow-x-auto max-[22rem]:gap-0.5 sm:order-none sm:mx-0 sm:w-auto"
          >
            {PAGES.map(({ href, name }) => {
              const isHere = href === path;
              return (
                <Link
                  key={href}
                  href={href}
                  aria-current={isHere ? "page" : undefined}
                  className="rounded-lg px-2.5 py-1.5 text-sm max-[22rem]:px-1 text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-strong"
                >
                  {nav[name]}
                </Link>
              );
            })}
          </nav>
          <div className="ml-auto flex items-center gap-1">
            <EnginePill />
            <HelpButton />
            <LanguageMenu />
            <ThemeMenu theme={theme} />
          </div>
        </div>
      </header>
      <main
        id="content"
        tabIndex={-1}
        className="mx-auto max-w-[100rem] px-3 py-4 outline-none sm:px-5"
      >
        {children}
      </main>
      <Announcer />
      {needsKey && <KeyDialog />}
      {paletteOpen && <Palette open onOpenChange={setPaletteOpen} />}
    </>
  );
}
