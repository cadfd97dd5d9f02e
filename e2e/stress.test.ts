/** The stress page as somebody uses it who wants to know what the server carries: runs, stops, limits, refusals, reports. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { startServer } from "./house.ts";
import { openHouse } from "./journey.ts";
import { isTooWide, lookInBothThemes, PHONE, visitPage } from "./page-visit.ts";
import type { Visit } from "./playground-page.ts";

const ROOT = join(import.meta.dirname, "..");
/** A run that is over soon has this long to be so on a busy machine. */
const RUN_MS = 60_000;

const house = openHouse();

async function arrive(
  options?: Parameters<typeof visitPage>[2],
  url = house.server.url,
): Promise<Visit> {
  const arrived = await visitPage(house.browser, `${url}/stress`, options);
  house.visits.push(arrived);
  await arrived.page.locator("[data-state=ready]").waitFor();
  return arrived;
}

interface Wish {
  readonly from?: "This browser" | "Server-side workers";
  readonly atOnce?: number;
  readonly seconds?: number;
}

/** Short texts, and as little of them as shows what is to be shown. */
async function setUp(page: Page, { from = "This browser", atOnce = 2, seconds = 3 }: Wish = {}) {
  await page.getByRole("radio", { name: from }).check({ force: true });
  await page.getByLabel("Texts", { exact: true }).selectOption("short");
  await page.getByLabel("Requests at once", { exact: true }).fill(String(atOnce));
  await page.getByLabel("Seconds", { exact: true }).fill(String(seconds));
}

const start = (page: Page) => page.getByTestId("start").click();
const end = (page: Page, kind: string) => page.locator(`[data-testid=end][data-end=${kind}]`);
const finished = (page: Page) => end(page, "finished").waitFor({ timeout: RUN_MS });
const row = (page: Page, table: string, id: string): Locator =>
  page.getByTestId(table).locator(`[data-row="${id}"]`);

async function inLoad(page: Page): Promise<void> {
  await page
    .getByTestId("phase")
    .getByText(/^Load$/)
    .waitFor({ timeout: RUN_MS });
}

describe("a run", () => {
  it("from this browser is seen while it is on, and has a report with an equal probe", async () => {
    const { page, errors } = await arrive();
    await setUp(page, { seconds: 8 });
    await start(page);
    await inLoad(page);
    await page.getByTestId("phase").getByText("Load from this browser").waitFor();
    await page.locator("[data-chart=ttfp] canvas").waitFor();
    const spoken = page.locator("[data-figure=spoken] .figures");
    await expect.poll(() => spoken.textContent()).toMatch(/^[1-9]/);
    const strip = page.getByTestId("lanes").getByRole("img");
    await expect.poll(() => strip.getAttribute("aria-label")).toMatch(/^\d+ streams: /);
    await page.getByText("The streams as a list").click();
    await page.getByRole("button", { name: "Listen to stream 2" }).click();
    await page.getByTestId("listening").getByText("Stream 2 is heard.").waitFor();
    await page.getByRole("button", { name: "Mute" }).click();
    await page.getByTestId("listening").getByText("The streams are muted.").waitFor();
    await finished(page);
    await page.locator("[data-testid=probe][data-verdict=equal]").waitFor();
    const cells = await row(page, "percentiles", "ttfpMs").getByRole("cell").allTextContents();
    expect(Number(cells[0])).toBeGreaterThan(0);
    expect(await row(page, "steps", "0").getByRole("cell").nth(3).textContent()).toBe("0");
    expect(await page.getByTestId("repeat").textContent()).toContain(
      "--target ws --shape fixed --concurrency 2 --seconds 8 --texts short",
    );
    expect(errors).toEqual([]);
  });

  it("from the server's workers says so, and goes on over a reload of the page", async () => {
    const { page } = await arrive();
    await setUp(page, { from: "Server-side workers", seconds: 8 });
    await start(page);
    await inLoad(page);
    await page.getByTestId("phase").getByText("Load from server-side workers").waitFor();
    await page.getByRole("button", { name: "Listen", exact: true }).click();
    await page.getByTestId("listening").getByText("Stream 1 is heard.").waitFor();
    await page.reload();
    await inLoad(page);
    await finished(page);
    await page.getByTestId("report").getByText("server-side workers, processes: 1").waitFor();
    expect(await page.getByTestId("run").count()).toBe(1);
  });

  it("is stopped with Escape, and keeps what was measured", async () => {
    const { page } = await arrive();
    await setUp(page, { seconds: 600 });
    await start(page);
    await inLoad(page);
    const spoken = page.locator("[data-figure=spoken] .figures");
    await expect.poll(() => spoken.textContent()).toMatch(/^[1-9]/);
    await page.keyboard.press("Escape");
    await end(page, "stopped").waitFor({ timeout: RUN_MS });
    await page.getByText("Partial: what was measured up to the stop.").waitFor();
    await page.reload();
    await page.getByRole("button", { name: /^2 at once/ }).click();
    await end(page, "stopped").waitFor();
  });

  it("ends where it crosses the limit line", async () => {
    const { page } = await arrive();
    await page.getByRole("button", { name: "Steps", exact: true }).click();
    await page.getByLabel("Texts", { exact: true }).selectOption("short");
    await page.getByLabel("Seconds a step").fill("2");
    await page.getByLabel("First packet p95, ms").fill("1");
    await start(page);
    await end(page, "limit").waitFor({ timeout: RUN_MS });
    await page.getByTestId("steps").getByText("crossed").first().waitFor();
    await page.getByTestId("knee").getByText("No knee").waitFor();
  });

  it("notes that the page was in the background", async () => {
    const { page } = await arrive();
    await setUp(page, { seconds: 5 });
    await start(page);
    await inLoad(page);
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.getByText("This page was in the background").waitFor();
    await finished(page);
    await page
      .getByTestId("report")
      .getByText(/The page was in the background/)
      .waitFor();
  });
});

describe("what cannot be run", () => {
  it("is told beside its field", async () => {
    const { page } = await arrive();
    await setUp(page, { atOnce: 51 });
    const field = page.getByLabel("Requests at once", { exact: true });
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await page.getByText("At most 50 from this browser through this door.").waitFor();
    expect(await page.getByTestId("start").isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Find the knee" }).click();
    await page.getByLabel("First packet p95, ms").fill("");
    await page.getByLabel("Continuity, %").fill("");
    await page.getByText("The search needs one limit at least.").waitFor();
  });

  it("is a second run of the server's workers, and the refusal says why", async () => {
    const [first, second] = [await arrive(), await arrive()];
    await setUp(first.page, { from: "Server-side workers", seconds: 60 });
    await setUp(second.page, { from: "Server-side workers" });
    await start(first.page);
    await inLoad(first.page);
    await second.page
      .getByTestId("generator-note")
      .getByText(/another page/)
      .waitFor();
    await start(second.page);
    await second.page.locator("[data-testid=run-trouble][data-code=stress_busy]").waitFor();
    await second.page.getByRole("alert").getByText("Another run is on").waitFor();
    await first.page.getByTestId("stop").click();
    await end(first.page, "stopped").waitFor({ timeout: RUN_MS });
    await start(second.page);
    await finished(second.page);
  });

  it("is load from a server whose configuration forbids it; the browser's goes on", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sonant-stress-"));
    const deploy = parse(readFileSync(join(ROOT, "deploy/starter.yaml"), "utf8"));
    writeFileSync(
      join(folder, "deploy.yaml"),
      stringify({ ...deploy, stress: { enabled: false } }),
    );
    const own = await startServer({
      SONANT_CONFIG: join(folder, "deploy.yaml"),
      SONANT_MODEL: join(ROOT, "native/models/starter"),
      SONANT_VOICES_DIR: join(folder, "voices"),
    });
    try {
      const { page } = await arrive({}, own.url);
      await page
        .getByTestId("generator-note")
        .getByText(/switched off/)
        .waitFor();
      expect(await page.getByRole("radio", { name: "Server-side workers" }).isDisabled()).toBe(
        true,
      );
      await setUp(page, { seconds: 1 });
      await start(page);
      await finished(page);
    } finally {
      await own.stop();
      rmSync(folder, { recursive: true });
    }
  });
});

it("a run of a server that is gone is given up, and what was measured of it stays", async () => {
  const own = await startServer();
  const { page } = await arrive({}, own.url);
  await setUp(page, { from: "Server-side workers", seconds: 60 });
  await start(page);
  await inLoad(page);
  await own.kill();
  await page.getByTestId("live").getByText("The connection is lost.").waitFor();
  const lost = page.locator("[data-testid=run-trouble][data-code=stress_lost]");
  await lost.waitFor({ timeout: RUN_MS });
  await lost.locator("[data-chart=concurrency] canvas").waitFor();
  expect(await page.getByTestId("start").isDisabled()).toBe(true);
  await page.getByText("The server cannot be reached.").waitFor();
});

describe("reports", () => {
  async function twoRuns(page: Page): Promise<void> {
    for (const atOnce of [1, 2]) {
      await setUp(page, { atOnce, seconds: 2 });
      await start(page);
      await page.getByRole("button", { name: `${atOnce} at once · socket shown` }).waitFor({
        timeout: RUN_MS,
      });
    }
  }

  it("are compared, named, exported, deleted and imported", async () => {
    const { page } = await arrive();
    await twoRuns(page);
    await page.getByLabel("Compare with").selectOption({ index: 1 });
    const difference = row(page, "differences", "TTFP p95").getByRole("cell");
    await expect.poll(() => difference.nth(2).textContent()).toMatch(/^[+−]?\d/);
    await page.locator("[data-chart=overlay-time] canvas").waitFor();
    await page.getByText(/Shape: .*concurrency.*2.* and .*concurrency.*1/).waitFor();
    expect(await lookInBothThemes(page, "stress-compare-desktop")).toEqual([]);

    await page.getByRole("button", { name: "Name and note of 2 at once" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Two of them");
    await page.getByRole("textbox", { name: "Note" }).fill("On a quiet machine.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Report: Two of them" }).waitFor();

    const save = async (name: string) => {
      const waiting = page.waitForEvent("download");
      await page.getByRole("button", { name, exact: true }).click();
      return readFile(await (await waiting).path());
    };
    expect((await save("CSV, steps")).toString()).toMatch(/^run,step,wanted,/);
    expect((await save("CSV, readings")).toString()).toMatch(/^run,at_s,/);
    expect((await save("PNG")).subarray(1, 4).toString()).toBe("PNG");
    const json = await save("JSON");
    await page.getByRole("button", { name: "Delete Two of them" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => page.getByTestId("run").count()).toBe(1);
    const picker = page.getByTestId("runs").locator("input[type=file]");
    const file = { name: "run.json", mimeType: "application/json" };
    await picker.setInputFiles({ ...file, buffer: Buffer.from("{}") });
    await page
      .getByTestId("runs")
      .getByRole("alert")
      .getByText(/holds no report/)
      .waitFor();
    const damaged = { ...JSON.parse(json.toString()), percentiles: {} };
    await picker.setInputFiles({ ...file, buffer: Buffer.from(JSON.stringify(damaged)) });
    await page
      .getByTestId("runs")
      .getByText(/'percentiles\.ttfpMs' is not as it should/)
      .waitFor();
    await picker.setInputFiles({ ...file, buffer: json });
    await page.getByRole("heading", { name: "Report: 2 at once · socket" }).waitFor();
    expect(await page.getByTestId("run").count()).toBe(2);
  });
});

describe("for everyone", () => {
  it("has no findings of axe while a run is on and afterwards, in both themes", async () => {
    const { page } = await arrive();
    await setUp(page, { seconds: 600 });
    await start(page);
    await inLoad(page);
    await page.getByText("The charts as a table").click();
    await page.getByText("The streams as a list").click();
    await page.getByRole("row", { name: /^0/ }).first().waitFor();
    expect(await lookInBothThemes(page, "stress-live-desktop")).toEqual([]);
    await page.getByTestId("stop").click();
    await end(page, "stopped").waitFor({ timeout: RUN_MS });
    await page.locator("[data-chart=distribution] canvas").waitFor();
    expect(await lookInBothThemes(page, "stress-report-desktop")).toEqual([]);
  });

  it("fits on a phone, and is started and stopped by keyboard", async () => {
    const { page } = await arrive(PHONE);
    await setUp(page, { seconds: 600 });
    await page.getByLabel("Seconds", { exact: true }).press("Enter");
    await inLoad(page);
    await page.locator("[data-chart=ttfp] canvas").waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await lookInBothThemes(page, "stress-live-phone")).toEqual([]);
    await page.getByTestId("stop").focus();
    await page.keyboard.press("Enter");
    await end(page, "stopped").waitFor({ timeout: RUN_MS });
    // The button that had the focus went with the run; Tab goes on from what it came to.
    await page.keyboard.press("Tab");
    const focused = page.getByTestId("report").locator(":focus");
    expect(await focused.count()).toBe(1);
    expect(await isTooWide(page)).toBe(false);
    expect(await lookInBothThemes(page, "stress-report-phone")).toEqual([]);
  });
});
