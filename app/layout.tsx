/** The frame of every page. Language and theme come from cookies, so the first paint is already the right one. */
import type { Metadata, Viewport } from "next";
import { cookies, headers } from "next/headers";
import type { ReactNode } from "react";
import { Frame } from "../components/frame/frame.tsx";
import {
  LANGUAGE_TAGS,
  LOCALE_COOKIE,
  pickLocale,
  pickTheme,
  THEME_COOKIE,
} from "../components/i18n/locales.ts";
import { WordsProvider } from "../components/i18n/provider.tsx";
import { STRINGS } from "../components/i18n/strings.ts";
import "./globals.css";

/** Each page carries a nonce for its scripts, so none may be kept from an earlier answer. */
export const dynamic = "force-dynamic";

export const metadata: Metadata = {
  title: { default: "Sonant", template: "%s · Sonant" },
  description: "Voice playground and streaming speech server",
  icons: { icon: "/icon.svg" },
};

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f6f5f1" },
    { media: "(prefers-color-scheme: dark)", color: "#121615" },
  ],
};

export default async function Layout({ children }: { readonly children: ReactNode }) {
  const [jar, asked] = await Promise.all([cookies(), headers()]);
  const locale = pickLocale(jar.get(LOCALE_COOKIE)?.value, asked.get("accept-language"));
  const theme = pickTheme(jar.get(THEME_COOKIE)?.value);
  return (
    <html lang={LANGUAGE_TAGS[locale]} {...(theme === "system" ? {} : { "data-theme": theme })}>
      <body>
        <WordsProvider locale={locale} strings={STRINGS[locale]}>
          <Frame theme={theme}>{children}</Frame>
        </WordsProvider>
      </body>
    </html>
  );
}
