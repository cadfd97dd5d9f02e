import { describe, expect, it } from "vitest";
import { startBrowser, startServer } from "./house.ts";
import { openHouse } from "./journey.ts";
import {
  overflow,
  shoot,
  speakAndWait,
  speakButton,
  takes,
  type Visit,
  visit,
  waitForSound,
} from "./playground-page.ts";

const LONG = "This sentence is long enough to be stopped in the middle. ".repeat(30);

const house = openHouse();

async function arrive(options?: Parameters<typeof visit>[2]): Promise<Visit> {
  const arrived = await visit(house.browser, house.server.url, options);
  house.visits.push(arrived);
  return arrived;
}

describe("a first visit", () => {
  it("reaches its first sound with one press, and says how fast it came", async () => {
    const { page, errors } = await arrive();
    await speakButton(page).click();
    await waitForSound(page);
    await takes(page, "done").waitFor();
    await shoot(page, "playground-done-desktop-light");
    for (const gauge of ["ttfp", "rtf"]) {
      const figure = await page.getByTestId(gauge).textContent();
      expect(Number.parseFloat(figure ?? "")).toBeGreaterThan(0);
    }
    for (const part of ["network", "queue", "prefill", "first frame", "codec", "client"]) {
      await page
        .getByRole("term")
        .filter({ hasText: new RegExp(`^${part}$`) })
        .waitFor();
    }
    await page.getByText(/^[0-9a-f]{8}$/).waitFor();
    expect(errors).toEqual([]);
  });

  it("says why nothing can be said when there is no text", async () => {
    const { page } = await arrive();
    await page.getByLabel("Text to speak").fill("   ");
    expect(await speakButton(page).isDisabled()).toBe(true);
    expect(await page.getByTestId("transport-note").textContent()).toContain("nothing to say");
    await page.getByLabel("Text to speak").fill("a".repeat(16_001));
    await page.getByText("1 characters too many").first().waitFor();
    expect(await speakButton(page).isDisabled()).toBe(true);
  });

  it("refuses a seed that is none, beside the field", async () => {
    const { page } = await arrive();
    await page.getByLabel("Seed", { exact: true }).fill("seven");
    await page.getByText("A seed is a whole number").waitFor();
    expect(await page.getByLabel("Seed", { exact: true }).getAttribute("aria-invalid")).toBe(
      "true",
    );
  });
});

describe("takes", () => {
  it("with the same seed have the same bytes, with another seed not", async () => {
    const { page } = await arrive();
    await speakAndWait(page, "Exactly the same.", 7);
    await page.getByRole("button", { name: "Again, same seed" }).click();
    await takes(page, "done").nth(1).waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("menuitem").first().click();
    await page.getByText("Identical bytes.").waitFor();
    await page.getByRole("button", { name: "Three new seeds" }).click();
    await takes(page, "done").nth(4).waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("menuitem", { name: "· 7 ·" }).first().click();
    await page.getByText(/First differing sample|The lengths differ/).waitFor();
  });

  it("leave the worklet as the server sent them, to the last sample", async () => {
    const context = await house.browser.newContext();
    house.visits.push({ context, page: await context.newPage(), errors: [] });
    const { page } = house.visits[0] as Visit;
    await page.addInitScript(() => {
      const heard: Float32Array[] = [];
      Object.assign(window, { heard });
      const Original = AudioWorkletNode;
      window.AudioWorkletNode = class extends Original {
        constructor(...args: ConstructorParameters<typeof AudioWorkletNode>) {
          super(...args);
          this.port.postMessage({ type: "tap", on: true });
          this.port.addEventListener("message", ({ data }) => {
            if (data.type === "tap") heard.push(data.left.slice());
          });
        }
      };
    });
    await page.goto(house.server.url);
    await page.locator("[role=option]").first().waitFor();
    const text = "Nothing is lost here.";
    await speakAndWait(page, text, 11);
    await page.waitForFunction(() => document.querySelector("[aria-label=Pause]") === null);
    const answer = await fetch(`${house.server.url}/v1/audio/speech`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: text, seed: 11, response_format: "pcm", channels: 2 }),
    });
    const pcm = new Int16Array(await answer.arrayBuffer());
    const left = Array.from({ length: pcm.length / 2 }, (_, i) => (pcm[2 * i] ?? 0) / 32768);
    const found = await page.evaluate((wanted) => {
      const { heard } = window as unknown as { heard: Float32Array[] };
      const all = heard.flatMap((block) => Array.from(block));
      const start = all.findIndex((sample) => sample !== 0);
      const offset = start - wanted.findIndex((sample) => sample !== 0);
      const wrong = wanted.findIndex((sample, i) => all[offset + i] !== Math.fround(sample));
      return { wrong, start, length: all.length };
    }, left);
    const { count } = await page.getByTestId("underruns").evaluate((node) => ({
      count: Number((node as HTMLElement).dataset.count),
    }));
    // On a machine that is too slow for real time there are pauses, which are counted; then there is nothing to compare.
    if (count === 0) expect(found.wrong).toBe(-1);
    else expect(found.wrong).toBeGreaterThan(0);
  });

  it("stop in the middle, keep what was made, and free the engine", async () => {
    const { page } = await arrive();
    await page.getByLabel("Text to speak").fill(LONG);
    await page.keyboard.press("Control+Enter");
    await waitForSound(page);
    await page.keyboard.press("Escape");
    await takes(page, "stopped").waitFor();
    await page.getByText(/confirmed the stop after \d+ ms/).waitFor();
    await expect
      .poll(async () => (await (await fetch(`${house.server.url}/load`)).json()).server_load)
      .toBe(0);
    await shoot(page, "playground-stopped-desktop-light");
    await page.getByRole("article").getByRole("button", { name: "Play", exact: true }).click();
    await waitForSound(page);
  });

  it("survive a reload with their sound, star and note, and can be deleted and brought back", async () => {
    const { page } = await arrive();
    await speakAndWait(
      page,
      "Remember me, please, as well as you can, and then a little longer.",
      3,
    );
    await page.getByRole("button", { name: "Star", exact: true }).click();
    await page.getByLabel("Note").fill("warm, a little slow");
    await page.getByText(/^[0-9a-f]{8}$/).waitFor();
    await page.waitForTimeout(300);
    await page.reload();
    await takes(page, "done").waitFor();
    expect(await page.getByLabel("Note").inputValue()).toBe("warm, a little slow");
    expect(await page.getByRole("button", { name: "Remove the star" }).count()).toBe(1);
    await page.getByRole("article").getByRole("button", { name: "Play", exact: true }).click();
    await waitForSound(page);
    await page.getByRole("button", { name: "Delete this take" }).click();
    await page.getByText("No takes yet.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await takes(page, "done").waitFor();
  });

  it("are downloaded in every format", async () => {
    const { page } = await arrive();
    await speakAndWait(page, "Take me with you.", 5);
    for (const format of ["WAV", "FLAC", "MP3", "OPUS", "AAC"]) {
      await page.getByRole("button", { name: "Download" }).click();
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: format }).click(),
      ]);
      expect(file.suggestedFilename().toLowerCase()).toMatch(
        new RegExp(`-5\\.${format.toLowerCase()}$`),
      );
      const { size } = await (await import("node:fs/promises")).stat(await file.path());
      expect(size).toBeGreaterThan(4000);
    }
  });
});

describe("sharing", () => {
  it("restores the whole set-up from a link", async () => {
    const { page } = await arrive();
    await page.getByLabel("Text to speak").fill("From one to the other: 世界.");
    await page.getByLabel("Seed", { exact: true }).fill("42");
    await page.locator("[role=option]").nth(2).click();
    await page.getByRole("button", { name: "Copy link" }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await visit(house.browser, link);
    house.visits.push(other);
    await other.page.getByText("The set-up of the link was restored.").waitFor();
    expect(await other.page.getByLabel("Text to speak").inputValue()).toBe(
      "From one to the other: 世界.",
    );
    expect(await other.page.getByLabel("Seed", { exact: true }).inputValue()).toBe("42");
    expect(await other.page.locator("[role=option]").nth(2).getAttribute("aria-selected")).toBe(
      "true",
    );
  });

  it("shows the request as code in three languages", async () => {
    const { page } = await arrive();
    await page.getByRole("button", { name: "Copy as code" }).click();
    for (const language of ["TypeScript", "Python", "curl"]) {
      await page.getByRole("tab", { name: language }).click();
      await page.getByRole("dialog").getByText("/v1").first().waitFor();
    }
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });
});

describe("live typing", () => {
  it("speaks before the text has ended, and shows what is sent and spoken", async () => {
    const { page } = await arrive();
    await page.getByRole("button", { name: "Live typing" }).click();
    const live = page.getByTestId("live");
    await live.getByRole("button", { name: "Start" }).click();
    // Whoever has pressed Start writes at once, without looking for the field.
    await page.keyboard.type("Hello there, listen. And it goes ", { delay: 5 });
    await waitForSound(page);
    expect(await takes(page, "done").count()).toBe(0);
    await live.getByLabel("Live text").pressSequentially("on and on.", { delay: 5 });
    await live.getByLabel("Live text").press("Home");
    await page.keyboard.press("Delete");
    await live.getByText("What was sent cannot be changed").waitFor();
    await shoot(page, "playground-live-desktop-light");
    await live.getByRole("button", { name: "End" }).click();
    await takes(page, "done").waitFor();
    await expect
      .poll(() => live.locator("[data-part=spoken]").textContent(), { timeout: 30_000 })
      .toContain("goes on and on.");
  });
});

describe("blind compare", () => {
  it("hides names, asks for enough listening, and reveals the result", async () => {
    const { page } = await arrive();
    await speakAndWait(page, "One.", 1);
    await speakAndWait(page, "One.", 2);
    await page.getByRole("button", { name: "Blind compare" }).click();
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByText("Pair 1 of 5").waitFor();
    expect(await page.getByTestId("prefer-first").isDisabled()).toBe(true);
    for (let round = 1; round <= 5; round++) {
      await page.getByText(`Pair ${round} of 5`).waitFor();
      await page.getByTestId("listen-first").click();
      await page.getByText(/of Second to choose/).waitFor({ timeout: 20_000 });
      await page.getByTestId("listen-second").click();
      await expect
        .poll(() => page.getByTestId("prefer-first").isEnabled(), { timeout: 20_000 })
        .toBe(true);
      await page.keyboard.press("1");
    }
    await page.getByTestId("blind-result").waitFor();
    await shoot(page, "blind-result-desktop-light");
    expect(await page.getByTestId("blind-result").textContent()).toMatch(/of 5 pairs/);
  });
});

describe("when things go wrong", () => {
  it("the page says that the server is gone, plays what is finished, and comes back by itself", async () => {
    const own = await startServer();
    const here = await visit(house.browser, own.url);
    house.visits.push(here);
    const { page } = here;
    await speakAndWait(page, "Still here.", 1);
    expect(await own.stop()).toBe(0);
    await page.locator("[data-state=offline]").waitFor();
    expect(await speakButton(page).isDisabled()).toBe(true);
    await shoot(page, "playground-offline-desktop-light");
    await page.getByRole("article").getByRole("button", { name: "Play", exact: true }).click();
    await waitForSound(page);
  });

  it("sound that the browser holds back waits for a key", async () => {
    const strict = await startBrowser({ autoplay: "refused" });
    try {
      const page = await strict.newPage();
      // Whatever a test asks a page counts as a gesture to the browser, so the page itself presses and tells.
      await page.addInitScript(() => {
        const timer = setInterval(() => {
          if (document.querySelector("main")?.textContent.includes("press Space to hear")) {
            clearInterval(timer);
            console.log("held back");
          }
          const button = document.querySelector<HTMLButtonElement>("[data-testid=speak]");
          const isFirst = document.querySelector("[data-testid=take]") === null;
          if (button !== null && !button.disabled && isFirst) button.click();
        }, 300);
      });
      const isHeldBack = page.waitForEvent("console", (message) => message.text() === "held back");
      await page.goto(house.server.url);
      await isHeldBack;
      await page.keyboard.press("Space");
      await waitForSound(page);
    } finally {
      await strict.close();
    }
  });
});

describe("on a phone", () => {
  it("everything fits and speaks", async () => {
    const { page, errors } = await arrive({
      viewport: { width: 360, height: 740 },
      deviceScaleFactor: 2,
      hasTouch: true,
      isMobile: true,
    });
    await page.getByTestId("speak").tap();
    await waitForSound(page);
    await takes(page, "done").waitFor();
    expect(await overflow(page)).toBe(0);
    await shoot(page, "playground-done-phone-light");
    expect(errors).toEqual([]);
  });
});

describe("the server", () => {
  it("ends cleanly when told to, even while it speaks to a page", async () => {
    const own = await startServer();
    const { page, context } = await visit(house.browser, own.url);
    await page.getByLabel("Text to speak").fill(LONG);
    await speakButton(page).click();
    await waitForSound(page);
    expect(await own.stop()).toBe(0);
    await context.close();
  });
});
