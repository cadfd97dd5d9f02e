/** A fresh visitor on any page of the interface, and the two looks that every page has. */
import type { Browser, BrowserContextOptions, Page } from "playwright";
import { arriveAt, axeFindings, overflow, shoot, type Visit } from "./playground-page.ts";

export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
};

/** A visitor who has never been here, as soon as the page has its headline. */
export async function visitPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const wide = { viewport: { width: 1440, height: 900 }, ...options };
  const arrived = await arriveAt(browser, address, wide);
  await arrived.page.getByRole("heading", { level: 1 }).waitFor();
  return arrived;
}

/** Pictures and findings of the page as it stands, in light and dark. */
export async function lookInBothThemes(page: Page, name: string): Promise<string[]> {
  const findings: string[] = [];
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await shoot(page, `${name}-${theme}`);
    findings.push(...(await axeFindings(page)).map((finding) => `${theme}: ${finding}`));
  }
  return findings;
}

/** Whether anything makes the page wider than its window. */
export async function isTooWide(page: Page): Promise<boolean> {
  return (await overflow(page)) > 0;
}
