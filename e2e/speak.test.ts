/** The plain page as a person uses it: type, speak, hear, stop. */
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RunningServer, startBrowser, startServer } from "./house.ts";

let server: RunningServer;
let browser: Browser;
let page: Page;
let errors: string[];

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

beforeEach(async () => {
  page = await browser.newPage();
  errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(server.url);
  await page.waitForFunction(() => document.querySelectorAll("#voice option").length > 0);
});

afterEach(() => page.close());

/** Waits until the level meter shows sound that is being played. */
function waitForSound() {
  return page.waitForFunction(() => {
    const meter = document.querySelector("meter");
    return meter !== null && meter.value > 0.01;
  });
}

function statusText() {
  return page.getByRole("status").textContent();
}

async function figure(id: string): Promise<number> {
  return Number.parseFloat((await page.locator(`#${id}`).textContent()) ?? "");
}

describe("the plain page", () => {
  it("speaks what is typed and shows when and how fast", async () => {
    await page.getByLabel("Text").fill("Ready.");
    await page.getByLabel("Seed").fill("7");
    await page.getByRole("button", { name: "Speak" }).click();
    await waitForSound();
    expect(await figure("ttfp")).toBeGreaterThan(0);
    await page.getByText("Done.").waitFor();
    expect(await figure("length")).toBeGreaterThan(0.2);
    expect(await figure("rtf")).toBeGreaterThan(0);
    expect(await figure("used-seed")).toBe(7);
    expect(errors).toEqual([]);
  });

  it("is worked by the keyboard: Ctrl+Enter speaks, Escape stops", async () => {
    await page.getByLabel("Text").fill("This sentence is long enough to be stopped. ".repeat(8));
    await page.keyboard.press("Control+Enter");
    await waitForSound();
    await page.keyboard.press("Escape");
    expect(await statusText()).toBe("Stopped.");
    expect(await page.locator("meter").evaluate((meter: HTMLMeterElement) => meter.value)).toBe(0);
    expect(await page.getByRole("button", { name: "Stop" }).isDisabled()).toBe(true);
    await page.getByLabel("Text").fill("And again.");
    await page.getByRole("button", { name: "Speak" }).click();
    await page.getByText("Done.").waitFor();
    expect(errors).toEqual([]);
  });

  it("says what is wrong beside the control", async () => {
    await page.getByLabel("Text").fill("  ");
    await page.getByRole("button", { name: "Speak" }).click();
    expect(await page.getByRole("alert").textContent()).toContain("nothing to say");
    expect(await page.getByLabel("Text").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Text").fill("Hello.");
    await page.getByLabel("Seed").fill("seven");
    await page.getByRole("button", { name: "Speak" }).click();
    expect(await page.getByRole("alert").textContent()).toContain("whole number");
    expect(await page.getByLabel("Text").getAttribute("aria-invalid")).toBe("false");
  });

  it("fits a phone without sideways scrolling", async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
  });
});

describe("the server", () => {
  it("ends cleanly when told to, even while it speaks", async () => {
    const own = await startServer();
    await page.goto(own.url);
    await page.waitForFunction(() => document.querySelectorAll("#voice option").length > 0);
    await page.getByLabel("Text").fill("This goes on for a good while. ".repeat(100));
    await page.keyboard.press("Control+Enter");
    await waitForSound();
    expect(await own.stop()).toBe(0);
    await page.getByText("The speech broke off before its end.").waitFor();
  });
});
