/** The status page as an operator uses it: at rest, under load, while the server starts and when it is gone. */
import type { Page } from "playwright";
import { describe, expect, it } from "vitest";
import { startServer } from "./house.ts";
import { openHouse } from "./journey.ts";
import { isTooWide, lookInBothThemes, PHONE, visitPage } from "./page-visit.ts";
import type { Visit } from "./playground-page.ts";

const LONG = "This sentence is spoken while somebody looks at the gauges. ".repeat(20);

const house = openHouse();

async function arrive(
  options?: Parameters<typeof visitPage>[2],
  url = house.server.url,
): Promise<Visit> {
  const arrived = await visitPage(house.browser, `${url}/status`, options);
  house.visits.push(arrived);
  return arrived;
}

const verdict = (page: Page, name: string) =>
  page.locator(`[data-testid=verdict][data-verdict=${name}]`);
const gauge = (page: Page, id: string) => page.locator(`[data-gauge=${id}]`);

function speak(url: string, input: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input, stream: true, stream_format: "audio", response_format: "pcm" }),
    ...(signal === undefined ? {} : { signal }),
  });
}

describe("a server that is ready", () => {
  it("says so, with its engine, build and configuration", async () => {
    const { page, errors } = await arrive();
    await verdict(page, "ready").waitFor();
    const current = page.locator("[aria-current=step]");
    expect(await current.textContent()).toContain("Ready");
    const facts = page.getByTestId("facts");
    await facts
      .getByText(/threads?$/)
      .first()
      .waitFor();
    const text = (await facts.textContent()) ?? "";
    const version = await (await fetch(`${house.server.url}/version`)).json();
    for (const known of [version.model, version.config_sha256, version.engine.description]) {
      expect(text).toContain(known);
    }
    await page.getByText("Nothing has gone wrong.").waitFor();
    expect(errors).toEqual([]);
  });

  it("shows what it is doing: slots, frames and, afterwards, how fast it was", async () => {
    const { page } = await arrive();
    await verdict(page, "ready").waitFor();
    const stop = new AbortController();
    const answer = await speak(house.server.url, LONG, stop.signal);
    const reading = answer.arrayBuffer().catch(() => undefined);
    await gauge(page, "speaking")
      .getByText(/^[1-9]\d* of \d+$/)
      .waitFor();
    await gauge(page, "frames")
      .getByText(/[1-9].* s of sound each second/)
      .waitFor();
    stop.abort();
    await reading;
    await gauge(page, "speaking")
      .getByText(/^0 of \d+$/)
      .waitFor();
    await (await speak(house.server.url, "A short one, to the end.")).arrayBuffer();
    await gauge(page, "ttfp")
      .getByText(/\d ms$/)
      .first()
      .waitFor();
    await gauge(page, "continuity")
      .getByText(/of 1; \d+ late chunks/)
      .waitFor();
    const past = page.getByTestId("past");
    await past.getByRole("columnheader", { name: /Last hour since the start, / }).waitFor();
    await past.getByRole("columnheader", { name: /Last 24 hours since the start, / }).waitFor();
    const figure = (id: string) => past.locator(`[data-figure=${id}]`).getByRole("cell");
    await expect
      .poll(() => figure("median").allTextContents())
      .toEqual([expect.stringMatching(/\d ms$/), expect.stringMatching(/\d ms$/)]);
    await expect.poll(() => figure("continuity").first().textContent()).toMatch(/% \(\d of 1\)$/);
    expect(await figure("failed").first().textContent()).toMatch(/^0 of [2-9]$/);
  });

  it("has each curve as words and all of them as a table", async () => {
    const { page } = await arrive();
    const curve = gauge(page, "memory").getByRole("img");
    await expect.poll(() => curve.getAttribute("aria-label")).toMatch(/lowest \d+ MB, highest/);
    await page.getByText("The curves as a table").click();
    await page.getByRole("row", { name: /this minute/ }).waitFor();
    expect(await page.getByRole("columnheader").count()).toBeGreaterThan(9);
  });

  it("counts what went wrong, and leads to what can be done about it", async () => {
    const { page } = await arrive();
    await verdict(page, "ready").waitFor();
    for (let i = 0; i < 2; i++) await (await speak(house.server.url, "   ")).text();
    const row = page.getByTestId("errors").getByRole("row", { name: /input_empty/ });
    await row.waitFor();
    await expect.poll(() => row.textContent()).toMatch(/input_empty2/);
    await row.getByRole("link").click();
    await page.waitForURL(/\/api#error-input_empty$/);
  });

  it("has no findings of axe, in both themes", async () => {
    const { page } = await arrive();
    await gauge(page, "speaking").waitFor();
    await page.getByText("The curves as a table").click();
    expect(await lookInBothThemes(page, "status-desktop")).toEqual([]);
  });

  it("fits on a phone", async () => {
    const { page } = await arrive(PHONE);
    await gauge(page, "speaking").waitFor();
    await page.getByText("The curves as a table").click();
    expect(await isTooWide(page)).toBe(false);
    expect(await lookInBothThemes(page, "status-phone")).toEqual([]);
  });
});

describe("a server that comes and goes", () => {
  it("is shown as gone with what was known last, and as ready when it is back", async () => {
    const own = await startServer();
    const { page } = await arrive({}, own.url);
    await gauge(page, "speaking").waitFor();
    expect(await own.stop()).toBe(0);
    await verdict(page, "offline").waitFor();
    await page.getByTestId("facts").getByText("sonant-starter").waitFor();
    expect(await lookInBothThemes(page, "status-offline-desktop")).toEqual([]);
    const again = await startServer({ SONANT_PORT: new URL(own.url).port });
    try {
      await verdict(page, "ready").waitFor();
      await gauge(page, "speaking").waitFor();
    } finally {
      await again.stop();
    }
  });

  it("is shown by its stages while it starts and when it fails, from what it says of itself", async () => {
    const { context, page } = await arrive();
    // The real documents of stages that pass too fast to be met: the standing connection is kept away meanwhile.
    const answers = { ready: {}, health: {} };
    const say = (reason: string, stage: string) => {
      const figures = { active: 0, waiting: 0, capacity: 8 };
      answers.ready = { ready: false, reason, ...figures };
      answers.health = { status: "unhealthy", reason: stage };
    };
    say("warming_up", "loading");
    await context.routeWebSocket("**/socket.io/**", (socket) => socket.close());
    for (const name of ["ready", "health"] as const) {
      await context.route(`**/${name}`, (route) =>
        route.fulfill({ status: 503, json: answers[name] }),
      );
    }
    await page.reload();
    await verdict(page, "loading").waitFor();
    say("warming_up", "warming");
    await verdict(page, "warming").waitFor();
    expect(await page.locator("[aria-current=step]").textContent()).toContain("Warm-up");
    say("engine_dead", "The weights are gone.");
    await verdict(page, "failed").getByText("The weights are gone.").waitFor();
    expect(await lookInBothThemes(page, "status-failed-desktop")).toEqual([]);
  });
});

it("a server that asks for a key tells without it whether it is ready, and the rest with it", async () => {
  const locked = await startServer({ SONANT_API_KEY: "e2e-key" });
  try {
    const { page } = await arrive({}, locked.url);
    const dialog = page.getByRole("dialog", { name: "API key" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await verdict(page, "ready").waitFor();
    await page.getByTestId("facts").getByText("sonant-starter").waitFor();
    await page.getByRole("button", { name: "Enter the key" }).click();
    await dialog.getByLabel("Key").fill("e2e-key");
    await page.keyboard.press("Enter");
    await gauge(page, "speaking").waitFor();
    await page.getByTestId("errors").getByText("unauthorized").waitFor();
  } finally {
    await locked.stop();
  }
});
