/** Choice of language and theme. Both are kept in cookies, which the server reads before it renders. */
"use client";
import { Languages, Monitor, Moon, Sun } from "lucide-react";
import { useRouter } from "next/navigation";
import { DropdownMenu } from "radix-ui";
import { type ReactNode, useState } from "react";
import {
  LOCALE_COOKIE,
  LOCALE_NAMES,
  LOCALES,
  THEME_COOKIE,
  THEMES,
  type Theme,
} from "../i18n/locales.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";

const YEAR_SECONDS = 31_536_000;

/** The whole document changes with it, so the page is rendered anew by the server. */
function remember(cookie: string, value: string): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser
  document.cookie = `${cookie}=${value}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
}

interface MenuProps {
  readonly label: string;
  readonly icon: ReactNode;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly name: string }[];
  readonly onChoose: (value: string) => void;
}

function Menu({ label, icon, value, options, onChoose }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger
        aria-label={label}
        title={label}
        className="grid size-8 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
      >
        {icon}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          className="z-40 min-w-36 rounded-xl border border-line bg-surface p-1 shadow-xl"
        >
          <DropdownMenu.RadioGroup value={value} onValueChange={onChoose}>
            {options.map((option) => (
              <DropdownMenu.RadioItem
                key={option.value}
                value={option.value}
                className="cursor-pointer rounded-lg px-3 py-1.5 text-sm outline-none data-[highlighted]:bg-sunken data-[state=checked]:font-semibold data-[state=checked]:text-accent-strong"
              >
                {option.name}
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function LanguageMenu() {
  const { language } = useStrings("common");
  const locale = useLocale();
  const router = useRouter();
  return (
    <Menu
      label={language}
      icon={<Languages size={17} aria-hidden />}
      value={locale}
      options={LOCALES.map((value) => ({ value, name: LOCALE_NAMES[value] }))}
      onChoose={(value) => {
        remember(LOCALE_COOKIE, value);
        router.refresh();
      }}
    />
  );
}

const ICONS = { system: Monitor, light: Sun, dark: Moon } as const;

export function ThemeMenu({ theme: initial }: { readonly theme: Theme }) {
  const words = useStrings("common").theme;
  const [theme, setTheme] = useState(initial);
  const Icon = ICONS[theme];
  const choose = (value: string) => {
    const chosen = THEMES.find((one) => one === value) ?? "system";
    setTheme(chosen);
    remember(THEME_COOKIE, chosen);
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
  };
  return (
    <Menu
      label={words.label}
      icon={<Icon size={17} aria-hidden />}
      value={theme}
      options={THEMES.map((value) => ({ value, name: words[value] }))}
      onChoose={choose}
    />
  );
}
