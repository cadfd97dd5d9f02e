/** What the journeys of the playground have in common: a fresh visitor's page, and how to read it. */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright";

const ROOT = join(import.meta.dirname, "..");
const SHOTS = join(ROOT, "test-results/screenshots");
/** A busy machine is slow, a broken page never comes. */
const PATIENCE_MS = 20_000;

export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the page and of its console so far. */
  readonly errors: string[];
}

/** A visitor who has never been here, at an address. What the page has to show first is the caller's affair. */
export async function arriveAt(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(url);
  return { context, page, errors };
}

/** The same on the playground, with its voices listed. */
export async function visit(
  browser: Browser,
  url: string,
  options?: BrowserContextOptions,
): Promise<Visit> {
  const arrived = await arriveAt(browser, url, options);
  await arrived.page.locator("[role=option]").first().waitFor();
  await arrived.page.locator("[data-state=ready]").waitFor();
  return arrived;
}

export function speakButton(page: Page): Locator {
  return page.getByTestId("speak");
}

/** Cards of takes in a state. */
export function takes(page: Page, state?: string): Locator {
  return page.locator(`[data-testid=take]${state === undefined ? "" : `[data-state=${state}]`}`);
}

/** Waits until sound leaves the player: the meter on the button moves. */
export function waitForSound(page: Page) {
  return page.waitForFunction(() => {
    const meter = document.querySelector<HTMLElement>("[data-testid=level]");
    const scale = Number(/scaleX\(([\d.]+)\)/.exec(meter?.style.transform ?? "")?.[1] ?? 0);
    return scale > 0.01;
  });
}

/** Says a text and waits until the take is complete. */
export async function speakAndWait(page: Page, text: string, seed?: number): Promise<void> {
  const before = await takes(page, "done").count();
  await page.getByLabel("Text to speak").fill(text);
  if (seed !== undefined) await page.getByLabel("Seed", { exact: true }).fill(String(seed));
  await speakButton(page).click();
  await takes(page, "done").nth(before).waitFor();
}

/** What the page says of the selected take under "Raw figures", as far as it is needed here; milliseconds. */
export interface Figures {
  readonly id: string;
  readonly state: string;
  readonly durationMs: number;
  readonly ttfpMs?: number;
  /** Parts of `ttfpMs` by name. */
  readonly split?: Readonly<Record<string, number>>;
  readonly underruns: readonly { readonly durationMs: number }[];
}

/** Copies the figures of the selected take, as a visitor does. */
export async function readFigures(page: Page): Promise<Figures> {
  await page.locator("section[aria-labelledby=gauges-title] > button").click();
  return JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as Figures;
}

interface Watched {
  layoutShift: number;
}

/** Sums up in the page what moves without being touched; call it before the page is loaded. */
export async function watchLayoutShift(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const watched = globalThis as unknown as Watched;
    watched.layoutShift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & {
        value: number;
        hadRecentInput: boolean;
      })[]) {
        if (!entry.hadRecentInput) watched.layoutShift += entry.value;
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

/** The sum so far. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate(() => (globalThis as unknown as Watched).layoutShift);
}

/** Compressed bytes of the scripts that a page names before it can be used. */
export async function firstLoadBytes(url: string): Promise<number> {
  const html = await (await fetch(url, { headers: { accept: "text/html" } })).text();
  const tags = html.match(/<script[^>]*src="[^"]+"[^>]*>/g) ?? [];
  const needed = tags.filter((tag) => !/nomodule/i.test(tag));
  if (needed.length < 4) throw new Error(`The page at ${url} names only ${needed.length} scripts`);
  let bytes = 0;
  for (const tag of needed) {
    const path = /src="([^"]+)"/.exec(tag)?.[1] ?? "";
    const script = await (await fetch(new URL(path, url))).arrayBuffer();
    bytes += gzipSync(new Uint8Array(script)).length;
  }
  return bytes;
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Serious and critical findings of axe on the page as it is, one line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  const { readFile } = await import("node:fs/promises");
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { impact: string; id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  });
}

/** Keeps a picture of the page for people to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({
    path: join(SHOTS, `${name}.png`),
    fullPage: true,
    animations: "disabled",
  });
}

/** Pixels by which the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() =>
    Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth),
  );
}
