/** The cases of area `ui` of the robustness file: what broke other pages, tried on this one. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, CDPSession, Page } from "playwright";
import { afterAll, beforeAll, describe, type ExpectStatic, expect, it } from "vitest";
import { type RunningServer, startBrowser, startServer } from "./house.ts";
import { shoot, speakAndWait, speakButton, takes, visit, waitForSound } from "./playground-page.ts";

interface Case {
  readonly name: string;
  readonly id: string;
  readonly area: string;
  readonly expect: { readonly growth?: { readonly js_heap_mb: number } };
}

/** Takes that are made and deleted; the case asks for a hundred. */
const CLIPS = process.env.SONANT_THOROUGH ? 100 : 30;
/** Takes that are begun and stopped; the case asks for thirty. */
const RUNS = process.env.SONANT_THOROUGH ? 30 : 12;

const FILE = join(import.meta.dirname, "../server/cases/fixtures/robustness.json");
const cases = (JSON.parse(readFileSync(FILE, "utf8")) as { cases: Case[] }).cases.filter(
  ({ area }) => area === "ui",
);

let server: RunningServer;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Counts what pages tend to leak, from their first script on. */
async function countedPage(url = server.url) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  await context.addInitScript(() => {
    const live = { urls: 0, contexts: 0, sockets: 0, sent: [] as string[] };
    Object.assign(window, { live });
    const { createObjectURL, revokeObjectURL } = URL;
    URL.createObjectURL = (object) => {
      live.urls++;
      return createObjectURL.call(URL, object);
    };
    URL.revokeObjectURL = (url) => {
      live.urls--;
      revokeObjectURL.call(URL, url);
    };
    window.AudioContext = class extends AudioContext {
      constructor(options?: AudioContextOptions) {
        super(options);
        live.contexts++;
      }
      override close() {
        live.contexts--;
        return super.close();
      }
    };
    window.WebSocket = class extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        live.sockets++;
        this.addEventListener("close", () => live.sockets--);
      }
      override send(data: string | ArrayBufferLike | Blob | ArrayBufferView) {
        if (typeof data === "string") live.sent.push(data);
        super.send(data);
      }
    };
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(url);
  await page.locator("[role=option]").first().waitFor();
  await page.locator("[data-state=ready]").waitFor();
  return { page, close: () => context.close() };
}

interface Live {
  urls: number;
  contexts: number;
  sockets: number;
  sent: string[];
}

function live(page: Page): Promise<Live> {
  return page.evaluate(() => (window as unknown as { live: Live }).live);
}

/** Bytes of the page's heap after a forced collection. */
async function heap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.enable");
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize;
}

/** Cases by their number. What waits belongs to a test, so each is given the `expect` of its own. */
const RUN: Readonly<Record<string, (expect: ExpectStatic, the: Case) => Promise<void>>> = {
  async B016(expect) {
    const own = await startServer();
    const { page, context } = await visit(browser, own.url);
    await page.getByLabel("Text to speak").fill("One of twenty sentences is this one. ".repeat(20));
    await speakButton(page).click();
    await waitForSound(page);
    await own.kill();
    const card = takes(page).first();
    await card.getByText("Connection lost").waitFor();
    await takes(page, "failed").waitFor({ timeout: 60_000 });
    await card.getByRole("button", { name: "Try again" }).waitFor();
    // It says so with a code, and what has arrived can be heard.
    expect(await card.getByRole("alert").textContent()).toContain("Code");
    await card.getByRole("button", { name: "Play", exact: true }).waitFor();
    await shoot(page, "playground-failed-desktop-light");
    expect(await takes(page, "done").count()).toBe(0);
    await context.close();
  },

  async B110(expect, { expect: { growth } }) {
    const { page, close } = await countedPage();
    const session = await page.context().newCDPSession(page);
    await page.getByLabel("Text to speak").fill("Short.");
    const makeAndDelete = async () => {
      await speakButton(page).click();
      await takes(page, "done").first().waitFor();
      await takes(page).first().getByRole("button", { name: "Delete this take" }).click();
      await expect.poll(() => takes(page).count()).toBe(0);
    };
    for (let clip = 0; clip < 10; clip++) await makeAndDelete();
    const before = await heap(session);
    for (let clip = 0; clip < CLIPS; clip++) await makeAndDelete();
    // What can still be brought back is kept for some seconds.
    await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
    const after = await heap(session);
    expect((after - before) / 2 ** 20).toBeLessThan(growth?.js_heap_mb ?? 0);
    expect((await live(page)).urls).toBe(0);
    await close();
  },

  async B111(expect) {
    const { page, close } = await countedPage(`${server.url}`);
    await page.goto(`${server.url}/voices`);
    const broken = Buffer.concat([
      Buffer.from("RIFF\xff\xff\x00\x00WAVEfmt ", "latin1"),
      Buffer.alloc(2988, 7),
    ]);
    const picker = page.locator("input[type=file]").first();
    await picker.waitFor({ state: "attached" });
    for (let attempt = 0; attempt < 60; attempt++) {
      await picker.setInputFiles({ name: "broken.wav", mimeType: "audio/wav", buffer: broken });
      if (attempt === 0) await page.getByRole("main").getByRole("alert").first().waitFor();
    }
    await page.getByRole("navigation").getByRole("link", { name: "Playground" }).click();
    await speakAndWait(page, "And this still plays.", 1);
    await waitForSound(page).catch(() => undefined);
    expect((await live(page)).contexts).toBeLessThanOrEqual(1);
    await close();
  },

  async B113(expect) {
    const { page, close } = await countedPage();
    const text = "A sentence of 31 letters, again";
    await page.getByLabel("Text to speak").fill(text);
    const run = async () => {
      await speakButton(page).click();
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await expect
        .poll(() => takes(page).first().getAttribute("data-state"))
        .toMatch(/stopped|done/);
    };
    await run();
    await expect.poll(async () => (await live(page)).sockets).toBe(1);
    const session = await page.context().newCDPSession(page);
    const listeners = async () => {
      await heap(session);
      await session.send("Performance.enable");
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "JSEventListeners")?.value ?? 0;
    };
    for (let time = 0; time < RUNS; time++) await run();
    await expect.poll(async () => (await live(page)).sockets).toBe(1);
    const { sent } = await live(page);
    const texts = sent
      .filter((message) => message.includes('"input.text"'))
      .map((message) => JSON.parse(message).text as string);
    expect(new Set(texts)).toEqual(new Set([text]));
    // Cards have listeners of their own; with the cards gone the page is as it was.
    await page.getByRole("button", { name: "Delete all takes without a star" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
    const before = await listeners();
    for (let time = 0; time < 10; time++) await run();
    await page.getByRole("button", { name: "Delete all takes without a star" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
    // The browser lets go of what the cards had when it likes.
    await expect
      .poll(async () => (await listeners()) - before, { timeout: 30_000 })
      .toBeLessThan(10);
    await close();
  },
};

describe("cases of area ui", () => {
  it("are all here", () => {
    expect(cases.map(({ id }) => id).sort()).toEqual(Object.keys(RUN).sort());
  });

  // Each has a page of its own, and most of its time is waiting: for sound, and for what can no longer be undone.
  it.concurrent.for(cases)("$id $name", { timeout: 400_000 }, (the, { expect: own }) =>
    RUN[the.id]?.(own, the),
  );
});
