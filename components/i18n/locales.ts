/** The languages of the interface, and which of them a visitor gets. */

export const LOCALES = ["en", "zh", "ja"] as const;
export type Locale = (typeof LOCALES)[number];

/** What each language calls itself. */
export const LOCALE_NAMES: Readonly<Record<Locale, string>> = {
  en: "English",
  zh: "简体中文",
  ja: "日本語",
};

/** Values of the `lang` attribute. */
export const LANGUAGE_TAGS: Readonly<Record<Locale, string>> = {
  en: "en",
  zh: "zh-Hans",
  ja: "ja",
};

export const LOCALE_COOKIE = "sonant-locale";
export const THEME_COOKIE = "sonant-theme";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/**
 * The visitor's choice if there is one, else the first language of the browser that the interface speaks, else English.
 * @param chosen value of the cookie
 * @param accepted value of the Accept-Language header
 */
export function pickLocale(chosen: string | undefined, accepted: string | null): Locale {
  const wanted = [chosen ?? "", ...byPreference(accepted ?? "")];
  for (const tag of wanted) {
    const found = LOCALES.find((locale) => tag.toLowerCase().split("-")[0] === locale);
    if (found !== undefined) return found;
  }
  return "en";
}

/** Language tags of an Accept-Language header, the most wanted first. */
function byPreference(header: string): string[] {
  return header
    .split(",")
    .map((item, index) => {
      const [tag = "", ...parameters] = item.trim().split(";");
      const weight = parameters.map((text) => /^\s*q=([\d.]+)/.exec(text)?.[1]).find(Boolean);
      return { tag, weight: Number(weight ?? 1), index };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || a.index - b.index)
    .map(({ tag }) => tag);
}

export function pickTheme(chosen: string | undefined): Theme {
  return THEMES.find((theme) => theme === chosen) ?? "system";
}
