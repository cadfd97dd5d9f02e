/** What every page owes every visitor: no barrier that axe finds, no sideways scrolling, a light first load, no jumps. */
import type { Browser } from "playwright";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startBrowser, startServer } from "./house.ts";
import {
  axeFindings,
  firstLoadBytes,
  layoutShift,
  overflow,
  shoot,
  speakAndWait,
  takes,
  visit,
  watchLayoutShift,
} from "./playground-page.ts";

const PAGES = ["/", "/voices", "/stress", "/api", "/status"];
/** Compressed bytes of scripts that the playground may load before it can be used. */
const SCRIPT_BUDGET = 250 * 1024;

let server: RunningServer;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const THEMES = ["light", "dark"] as const;

describe.each(PAGES)("page %s", (path) => {
  const name = path === "/" ? "playground" : path.slice(1);

  it.each(THEMES)("has no serious barrier in the %s theme", async (theme) => {
    const context = await browser.newContext({ colorScheme: theme });
    const page = await context.newPage();
    await page.goto(server.url + path);
    await page.locator("[data-state=ready]").waitFor();
    await page.waitForLoadState("networkidle");
    expect(await axeFindings(page)).toEqual([]);
    await shoot(page, `${name}-first-desktop-${theme}`);
    await context.close();
  });

  it.each([320, 768])("fits a window of %d pixels", async (width) => {
    const context = await browser.newContext({ viewport: { width, height: 800 } });
    const page = await context.newPage();
    await page.goto(server.url + path);
    await page.locator("[data-state=ready]").waitFor();
    await page.waitForLoadState("networkidle");
    expect(await overflow(page)).toBe(0);
    // The names of all pages are in sight, without pushing the bar aside.
    const nav = page.getByRole("navigation", { name: "Pages" });
    expect(await nav.evaluate((bar) => bar.scrollWidth - bar.clientWidth)).toBe(0);
    if (width < 400) await shoot(page, `${name}-first-phone-light`);
    await context.close();
  });
});

describe("the playground", () => {
  it.each(THEMES)(
    "has no serious barrier with takes and tools open, in the %s theme",
    async (theme) => {
      const { page, context } = await visit(browser, server.url, { colorScheme: theme });
      await speakAndWait(page, "Open to everyone.", 1);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Live typing" }).click();
      await page.getByTestId("live").waitFor();
      await page.getByText("Frames", { exact: true }).click();
      await page.getByRole("columnheader", { name: "Bytes" }).waitFor();
      await page.mouse.move(0, 0);
      expect(await axeFindings(page)).toEqual([]);
      await shoot(page, `playground-tools-desktop-${theme}`);
      for (const button of ["Settings", "Copy as code"]) {
        await page.getByRole("button", { name: button }).click();
        await page.getByRole("dialog").waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await page.keyboard.press("Escape");
      }
      await context.close();
    },
  );

  it("loads less script than its budget before it can be used", async () => {
    const bytes = await firstLoadBytes(server.url);
    console.log(`First load: ${(bytes / 1024).toFixed(1)} KB of script, compressed`);
    expect(bytes).toBeLessThan(SCRIPT_BUDGET);
  });

  it("does not jump while it loads and speaks", async () => {
    const context = await browser.newContext({ viewport: { width: 1360, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await watchLayoutShift(page);
    await page.goto(server.url);
    await page.locator("[role=option]").first().waitFor();
    await page.waitForLoadState("networkidle");
    // What good pages stay below; a list that pushes the rest aside costs several times as much.
    expect(await layoutShift(page)).toBeLessThan(0.1);
    await context.close();
  });

  it("speaks the visitor's language and remembers another choice", async () => {
    const { page, context } = await visit(browser, server.url, { locale: "ja-JP" });
    await page.getByRole("link", { name: "ボイス", exact: true }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("ja");
    await shoot(page, "playground-first-desktop-ja");
    await page.getByRole("button", { name: "言語" }).click();
    await page.getByRole("menuitemradio", { name: "简体中文" }).click();
    await page.getByRole("link", { name: "音色", exact: true }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "音色", exact: true }).waitFor();
    await context.close();
  });

  it("keeps a chosen theme over a reload, without a flash of the other", async () => {
    const { page, context } = await visit(browser, server.url);
    await page.getByRole("button", { name: "Theme" }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).click();
    const html = await (
      await context.request.get(server.url, { headers: { accept: "text/html" } })
    ).text();
    expect(html).toContain('data-theme="dark"');
    await context.close();
  });

  it("never takes the focus away with the button that was pressed", async () => {
    const { page, context } = await visit(browser, server.url);
    const press = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).press("Enter");
      // A button that is gone or disabled loses the focus with the next picture.
      await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
    };
    const focused = () =>
      page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);
    await page.getByLabel("Text to speak").fill("One of many sentences. ".repeat(20));
    await press("Use a sample text");
    expect(await focused()).toBe("script");
    await press("Speak");
    await press("Stop");
    await takes(page, "stopped").or(takes(page, "done")).waitFor();
    expect(await focused()).toBe("Stop");
    await press("Delete this take");
    expect(await focused()).toBe("takes-title");
    await press("Undo");
    expect(await focused()).toBe("takes-title");
    await context.close();
  });

  it("is used from first to last by keyboard alone", async () => {
    const { page, context } = await visit(browser, server.url);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("content");
    const reach = async (name: string | RegExp) => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press("Tab");
        const focused = await page.evaluate(() => {
          const element = document.activeElement as HTMLElement | null;
          return element?.getAttribute("aria-label") ?? element?.textContent ?? element?.id ?? "";
        });
        if (typeof name === "string" ? focused.includes(name) : name.test(focused)) return;
      }
      throw new Error(`Tab never reaches ${name}`);
    };
    await reach("Text to speak");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("By hand.");
    await reach(/^Speak$/);
    await page.keyboard.press("Enter");
    await takes(page, "done").waitFor();
    await page.keyboard.press("s");
    await page.getByRole("button", { name: "Remove the star" }).waitFor();
    await page.keyboard.press("r");
    await takes(page, "done").nth(1).waitFor();
    await page.keyboard.press("j");
    expect(await takes(page).nth(1).getByRole("button", { pressed: true }).count()).toBeGreaterThan(
      0,
    );
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Three new seeds").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Type a command").waitFor();
    await page.keyboard.type("status");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/status");
    await context.close();
  });
});
