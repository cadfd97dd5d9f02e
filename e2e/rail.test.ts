/** The voices beside the script: their order, judging them by keyboard, finding one, and a new one from a dropped file. */
import type { Page } from "playwright";
import { describe, expect, it } from "vitest";
import { openHouse } from "./journey.ts";
import { PHONE } from "./page-visit.ts";
import { shoot, type Visit, visit } from "./playground-page.ts";
import { addPanel, dropFile } from "./voices-page.ts";

const house = openHouse();

async function arrive(options?: Parameters<typeof visit>[2]): Promise<Visit> {
  const arrived = await visit(house.browser, house.server.url, options);
  house.visits.push(arrived);
  return arrived;
}

/** Names in the rail, from top to bottom. */
const names = (page: Page) => page.locator("[role=option] .truncate.font-medium").allTextContents();

describe("voices", () => {
  it("stand in the order of their pitch, the lowest first, or of their names", async () => {
    const { page } = await arrive();
    const { presets } = await (await fetch(`${house.server.url}/v1/audio/voices`)).json();
    type Preset = { display_name: string; pitch_hz: number };
    const byPitch = (presets as Preset[]).toSorted((a, b) => a.pitch_hz - b.pitch_hz);
    expect(await names(page)).toEqual(byPitch.map(({ display_name }) => display_name));
    await page.getByLabel("Order").selectOption("By name");
    await expect
      .poll(() => names(page))
      .toEqual(byPitch.map(({ display_name }) => display_name).toSorted());
  });

  it("are judged by keyboard: arm, move, flip, use", async () => {
    const { page } = await arrive();
    const rail = page.getByRole("listbox");
    await rail.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Space");
    await page.getByTestId("heard").filter({ hasText: "1 of" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.getByTestId("heard").filter({ hasText: "2 of" }).waitFor();
    const second = await rail.getAttribute("aria-activedescendant");
    await page.keyboard.press("Shift+Space");
    expect(await rail.getAttribute("aria-activedescendant")).not.toBe(second);
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    const last = page.locator("[role=option]").last();
    expect(await last.getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    expect(await rail.getAttribute("data-armed")).toBe("false");
  });

  it("are there with the chosen one in sight, and the page at its top on a phone", async () => {
    const { page } = await arrive(PHONE);
    const last = page.locator("[role=option]").last();
    await page.getByRole("listbox").press("End");
    await page.getByRole("listbox").press("Enter");
    await page.evaluate(() => scrollTo(0, 0));
    await page.reload();
    await expect.poll(() => last.getAttribute("aria-selected")).toBe("true");
    const place = () =>
      last.evaluate((row) => {
        const list = row.closest("[role=listbox]")?.getBoundingClientRect() ?? new DOMRect();
        const { top, bottom } = row.getBoundingClientRect();
        return { isShown: top >= list.top - 1 && bottom <= list.bottom + 1, scrolled: scrollY };
      });
    await expect.poll(place).toEqual({ isShown: true, scrolled: 0 });
  });

  it("are found by a search, which says when nothing fits", async () => {
    const { page } = await arrive();
    await page.keyboard.press("/");
    await page.keyboard.type("clar");
    await expect.poll(() => page.locator("[role=option]").count()).toBe(1);
    await page.keyboard.type("zzz");
    await page.getByText("No voice fits").waitFor();
  });

  it("say in the reader's language that the list could not be read", async () => {
    const { page } = await arrive({ locale: "ja-JP" });
    await page.route("**/v1/audio/voices", (route) => route.abort());
    await page.reload();
    const report = page.getByRole("alert").filter({ hasText: "network" });
    await report.getByText("サーバーに接続できません。").waitFor();
    await page.unroute("**/v1/audio/voices");
    await report.getByRole("button", { name: "再試行" }).click();
    await page.locator("[role=option]").first().waitFor();
  });
});

describe("a file over the playground", () => {
  it("shows where it may be dropped, until it leaves", async () => {
    const { page } = await arrive();
    const target = page.getByText("Drop a recording to make a voice of it");
    await dropFile(page, "a.wav", Buffer.from("no"), ["dragenter", "dragover"]);
    await target.waitFor();
    await shoot(page, "playground-drop-desktop-light");
    await dropFile(page, "a.wav", Buffer.from("no"), ["dragleave"]);
    await target.waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/");
  });

  it("opens the panel where voices are made, with what was dropped", async () => {
    const { page, errors } = await arrive();
    const answer = await fetch(`${house.server.url}/v1/audio/speech`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        input: "This is a recording for a new voice, long enough to be one.",
        seed: 3,
        response_format: "wav",
      }),
    });
    await dropFile(page, "Ada_Example.wav", Buffer.from(await answer.arrayBuffer()));
    await page.waitForURL(`${house.server.url}/voices#add`);
    await page.getByRole("heading", { name: "Check-up" }).waitFor();
    const name = addPanel(page).getByLabel("Name", { exact: true });
    expect(await name.inputValue()).toBe("Ada Example");
    expect(errors).toEqual([]);
  });

  it("that is no sound is refused there, beside the choice of another one", async () => {
    const { page } = await arrive();
    await dropFile(page, "notes.wav", Buffer.from("no"));
    await page.waitForURL(`${house.server.url}/voices#add`);
    const report = addPanel(page).getByRole("alert").filter({ hasText: "cannot decode" });
    await report.getByText("Choose another file").waitFor();
    await report.getByText("Code unreadable").waitFor();
  });
});
