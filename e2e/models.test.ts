/** A server with several models in the browser: choosing, speaking with each, what is said of one that is broken, and status. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startBrowser, startServer } from "./house.ts";
import { isTooWide, lookInBothThemes, PHONE, visitPage } from "./page-visit.ts";
import { axeFindings, speakAndWait, takes, type Visit, visit } from "./playground-page.ts";

const STARTER = join(import.meta.dirname, "../native/models/starter");

let folder: string;
let server: RunningServer;
let browser: Browser;
const visits: Visit[] = [];

/** Deploy files of the starter, of another model made of it, and of one whose folder is empty. */
function deployFiles(): string {
  const second = join(folder, "second");
  cpSync(STARTER, second, { recursive: true });
  for (const file of readdirSync(join(second, "voices"))) {
    if (!["otto.json", "mia.json"].includes(file)) rmSync(join(second, "voices", file));
  }
  const about = JSON.parse(readFileSync(join(second, "sonant.json"), "utf8"));
  const own = { name: "Second", description: "Another one.", default_voice: "otto" };
  writeFileSync(join(second, "sonant.json"), JSON.stringify({ ...about, ...own }));
  mkdirSync(join(folder, "empty"));
  const shared = { voices: { directory: join(folder, "uploads") } };
  const write = (name: string, content: object) =>
    writeFileSync(join(folder, name), JSON.stringify({ ...shared, ...content }));
  write("second.yaml", { served_model_names: ["second"], model: second });
  write("empty.yaml", { served_model_names: ["empty"], model: join(folder, "empty") });
  write("server.yaml", {
    served_model_names: ["sonant-starter"],
    model: STARTER,
    models: { files: ["second.yaml", "empty.yaml"] },
  });
  return join(folder, "server.yaml");
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sonant-models-"));
  const SONANT_CONFIG = deployFiles();
  [server, browser] = await Promise.all([startServer({ SONANT_CONFIG }), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await Promise.all(visits.splice(0).map(({ context }) => context.close()));
});

async function arrive(address = server.url): Promise<Visit> {
  const arrived = await visit(browser, address);
  visits.push(arrived);
  await arrived.page.getByTestId("models").waitFor();
  return arrived;
}

const picker = (page: Page) => page.getByTestId("models").getByLabel("Model");
const voiceNames = (page: Page) =>
  page.locator("[role=option] .truncate.font-medium").allTextContents();

describe("the choice of a model", () => {
  it("brings its voices, its default one first, and speaks with it, which the take and the pill say", async () => {
    const { page, errors } = await arrive();
    expect(await picker(page).inputValue()).toBe("sonant-starter");
    const all = await voiceNames(page);
    await picker(page).selectOption("second");
    await page.getByText("Another one.").waitFor();
    await expect.poll(() => voiceNames(page)).toHaveLength(2);
    expect(await page.locator("[role=option][aria-selected=true]").textContent()).toContain("Otto");
    await speakAndWait(page, "Hello from the second one.", 5);
    await takes(page, "done").first().getByText("Second", { exact: true }).waitFor();
    await page.locator("[data-testid=models][data-stage=ready]").waitFor();
    await page.locator("header").getByText("Second").waitFor();
    await picker(page).selectOption("sonant-starter");
    await expect.poll(() => voiceNames(page)).toEqual(all);
    await speakAndWait(page, "Hello from the first one.", 5);
    await takes(page, "done").first().getByText("Sonant starter", { exact: true }).waitFor();
    expect(errors).toEqual([]);
  });

  it("is made by keyboard alone, and remembered", async () => {
    const { page } = await arrive();
    await picker(page).focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => picker(page).inputValue()).toBe("second");
    await expect.poll(() => voiceNames(page)).toHaveLength(2);
    await page.locator("[role=option]").filter({ hasText: "Mia" }).click();
    await page.reload();
    await page.getByTestId("models").waitFor();
    expect(await picker(page).inputValue()).toBe("second");
    await expect.poll(() => voiceNames(page)).toHaveLength(2);
    expect(await page.locator("[role=option][aria-selected=true]").textContent()).toContain("Mia");
  });

  it("goes into links and code, and a link brings it back", async () => {
    const { page } = await arrive();
    await picker(page).selectOption("second");
    await expect.poll(() => voiceNames(page)).toHaveLength(2);
    await page.getByRole("button", { name: "Copy as code" }).click();
    await page.getByRole("tab", { name: "Python" }).click();
    await page.getByText('model="second"').waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Copy link" }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await arrive(link);
    await other.page.getByText("The set-up of the link was restored.").waitFor();
    await expect.poll(() => picker(other.page).inputValue()).toBe("second");
    await expect.poll(() => voiceNames(other.page)).toHaveLength(2);
  });

  it("tells why a model cannot speak, and harms no other", async () => {
    const { page } = await arrive();
    await picker(page).selectOption("empty");
    await page.getByText(/It could not be loaded: .*config\.json is missing/).waitFor();
    await page.getByRole("button", { name: "Try again" }).first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await picker(page).selectOption("sonant-starter");
    await speakAndWait(page, "Still here.");
  });

  it("has no barrier, in either theme and on a phone", async () => {
    const { page } = await arrive();
    await picker(page).selectOption("second");
    expect(await lookInBothThemes(page, "models-playground")).toEqual([]);
    const phone = await visit(browser, server.url, PHONE);
    visits.push(phone);
    await phone.page.getByTestId("models").waitFor();
    expect(await isTooWide(phone.page)).toBe(false);
  });
});

describe("the status page", () => {
  it("has a block for each model, and loads and unloads them", async () => {
    const arrived = await visitPage(browser, `${server.url}/status`);
    visits.push(arrived);
    const { page } = arrived;
    const block = (id: string, stage: string) =>
      page.locator(`[data-model="${id}"][data-stage=${stage}]`);
    await block("sonant-starter", "ready").getByText("default").waitFor();
    await block("empty", "failed")
      .getByText(/config\.json is missing/)
      .waitFor();
    const second = page.locator("[data-model=second]");
    await second.waitFor();
    if ((await second.getAttribute("data-stage")) === "unloaded") {
      await page.getByRole("button", { name: "Load Second" }).click();
    }
    await block("second", "ready").waitFor();
    expect(await lookInBothThemes(page, "models-status")).toEqual([]);
    await page.getByRole("button", { name: "Unload Second" }).click();
    await block("second", "unloaded").waitFor();
    await block("sonant-starter", "ready").waitFor();
  });
});

it("a server with one model has nothing to choose", async () => {
  const alone = await startServer({ SONANT_MODEL: STARTER });
  try {
    const arrived = await visit(browser, alone.url);
    visits.push(arrived);
    await speakAndWait(arrived.page, "Alone.");
    expect(await arrived.page.getByTestId("models").count()).toBe(0);
  } finally {
    await alone.stop();
  }
});
