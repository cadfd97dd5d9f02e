/** The API page as a developer uses it: reads, tries every transport, and copies what works; also where a key is asked for. */
import type { Locator, Page } from "playwright";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "./house.ts";
import { openHouse } from "./journey.ts";
import { isTooWide, lookInBothThemes, PHONE, visitPage } from "./page-visit.ts";
import type { Visit } from "./playground-page.ts";

const house = openHouse();

async function arrive(
  options?: Parameters<typeof visitPage>[2],
  url = house.server.url,
): Promise<Visit> {
  const arrived = await visitPage(house.browser, `${url}/api`, options);
  house.visits.push(arrived);
  return arrived;
}

const trial = (page: Page) => page.getByTestId("trial");
const outcome = (page: Page, phase: string): Locator =>
  page.locator(`[data-testid=trial-outcome][data-phase=${phase}]`);

async function setUp(page: Page, transport: string, text: string, format?: string): Promise<void> {
  await page.getByRole("option", { name: "Clara" }).first().waitFor({ state: "attached" });
  await trial(page).getByText(transport, { exact: true }).click();
  await trial(page).getByLabel("Text", { exact: true }).fill(text);
  if (format !== undefined) await trial(page).getByLabel("Format").selectOption(format);
  await trial(page).getByLabel("Seed").fill("7");
}

async function send(page: Page): Promise<void> {
  await trial(page).getByRole("button", { name: "Send" }).click();
}

/** Types of the lines of the log. */
function logged(page: Page): Promise<string[]> {
  return page.getByTestId("wire-log").locator("tbody button").allTextContents();
}

/** The length of the sound that arrived, in seconds. */
async function seconds(page: Page): Promise<number> {
  const length = outcome(page, "done").locator("dl > div").filter({ hasText: "Length" });
  return Number.parseFloat((await length.locator("dd").textContent()) ?? "");
}

describe("the reference", () => {
  it("is read from the server: routes, messages, close codes, errors and limits", async () => {
    const { page, errors } = await arrive();
    await page.locator("#createSpeech summary").first().click();
    const speech = page.locator("#createSpeech");
    await speech
      .getByRole("table", { name: "SpeechRequest" })
      .getByText("response_format")
      .waitFor();
    await speech.getByText("overloaded").waitFor();
    await page.locator("[id='message-session.config'] summary").click();
    await page.getByText("split_granularity", { exact: true }).first().waitFor();
    await page.locator("#closes").getByText("4409").waitFor();
    const limit = page.locator("#limits tr").filter({ hasText: "max_input_chars" });
    expect(await limit.textContent()).toContain("16,000");
    expect(errors).toEqual([]);
  });

  it("leads from its contents to its parts, and from a code to its cause and remedy", async () => {
    const { page } = await arrive();
    await page.locator("#errors").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Errors" }).click();
    await page.getByLabel("Find an error").fill("idle_tim");
    const found = page.locator("#errors li");
    await expect.poll(() => found.count()).toBe(1);
    expect(await found.textContent()).toContain("Open a new connection");
    await page.getByLabel("Find an error").fill("zzz");
    await page.getByText("No error fits").waitFor();
  });

  it("gives both descriptions away", async () => {
    const { page } = await arrive();
    for (const name of ["openapi.json", "asyncapi.json"]) {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name }).click(),
      ]);
      expect(file.suggestedFilename()).toBe(name);
    }
  });

  // How it is before one is looked at with all pages, in quality.test.ts.
  it("has no findings of axe, in both themes, after a trial", async () => {
    const { page } = await arrive();
    await page.locator("#limits td").first().waitFor();
    await setUp(page, "WebSocket", "Look at this.");
    await send(page);
    await outcome(page, "done").waitFor();
    await page.getByTestId("wire-log").locator("tbody button").first().click();
    for (const id of ["createSpeech", "message-session\\.created"]) {
      await page.locator(`#${id} summary`).first().click();
    }
    expect(await lookInBothThemes(page, "api-tried-desktop")).toEqual([]);
  });
});

describe("trying it", () => {
  it("whole: status, headers and bytes in the log, the sound to be heard again", async () => {
    const { page, errors } = await arrive();
    await setUp(page, "Whole", "Try me.");
    await send(page);
    await outcome(page, "done").waitFor();
    expect(await logged(page)).toEqual(["POST /v1/audio/speech", "HTTP 200", "audio/wav"]);
    await page.getByRole("button", { name: "HTTP 200" }).click();
    await page
      .getByRole("region", { name: "Content of the message" })
      .getByText("x-seed: 7")
      .waitFor();
    expect(await seconds(page)).toBeGreaterThan(0.3);
    await trial(page).getByRole("button", { name: "Hear it again" }).click();
    expect(errors).toEqual([]);
  });

  it("every format is heard, whether it comes whole or in pieces", async () => {
    const { page } = await arrive();
    for (const format of ["pcm", "flac", "mp3", "aac", "opus"]) {
      await setUp(page, "Whole", "Any form will do.", format);
      await send(page);
      await outcome(page, "running").or(outcome(page, "done")).waitFor();
      await outcome(page, "done").waitFor();
      expect(await seconds(page), format).toBeGreaterThan(0.3);
      expect(await outcome(page, "done").getByRole("alert").count(), format).toBe(0);
    }
  });

  it("as a stream and as events: many pieces, which are one sound", async () => {
    const { page } = await arrive();
    await setUp(page, "Stream", "The same sound, whichever way it comes.");
    await send(page);
    await outcome(page, "done").waitFor();
    const streamed = await seconds(page);
    expect((await logged(page)).filter((type) => type === "audio").length).toBeGreaterThan(1);
    await setUp(page, "Events (SSE)", "The same sound, whichever way it comes.");
    await send(page);
    await page.getByRole("button", { name: "speech.audio.done" }).waitFor();
    await outcome(page, "done").waitFor();
    expect(await seconds(page)).toBe(streamed);
    await page.getByRole("button", { name: "speech.audio.done" }).click();
    await page.getByRole("region", { name: "Content of the message" }).getByText("usage").waitFor();
  });

  it("on the socket: messages of both directions", async () => {
    const { page } = await arrive();
    await setUp(page, "WebSocket", "Both at once.");
    await send(page);
    await outcome(page, "done").waitFor();
    const types = await logged(page);
    expect(types.slice(0, 2)).toEqual(["session.config", "session.created"]);
    expect(types).toEqual(
      expect.arrayContaining(["input.text", "audio.start", "audio", "session.done"]),
    );
    expect(await page.getByTestId("wire-log").getByText("sent").count()).toBeGreaterThan(2);
    await trial(page).getByRole("button", { name: "Copy the log" }).click();
    const lines = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ direction: "out", type: "session.config" });
  });

  it("is cancelled in the middle, which frees the engine", async () => {
    const { page } = await arrive();
    for (const transport of ["Stream", "WebSocket"]) {
      await setUp(
        page,
        transport,
        "This goes on for a long time, sentence after sentence. ".repeat(40),
      );
      await send(page);
      await page
        .getByTestId("wire-log")
        .getByRole("button", { name: "audio", exact: true })
        .first()
        .waitFor();
      await trial(page).getByRole("button", { name: "Cancel" }).click();
      await outcome(page, "cancelled").waitFor();
      await expect
        .poll(async () => (await (await fetch(`${house.server.url}/load`)).json()).server_load)
        .toBe(0);
    }
  });

  it("shows refusals in place, and what cannot be sent before it is", async () => {
    const { page } = await arrive();
    await setUp(page, "Whole", "a".repeat(16_001));
    await send(page);
    const failed = outcome(page, "failed");
    await failed.getByRole("alert").waitFor();
    expect(await failed.getByRole("alert").textContent()).toContain("input_too_long");
    await trial(page).getByLabel("Text", { exact: true }).fill("  ");
    expect(await trial(page).getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await trial(page).getByLabel("Text", { exact: true }).fill("Fine.");
    await trial(page).getByLabel("Seed").fill("x");
    await page.getByText("A seed is a whole number").waitFor();
  });

  it("shows the request as code, which changes with it", async () => {
    const { page } = await arrive();
    await setUp(page, "WebSocket", "Read me.");
    const code = (language: string) => page.getByRole("region", { name: `Code: ${language}` });
    await trial(page).getByRole("button", { name: "Python" }).click();
    await code("Python").getByText("websockets").waitFor();
    await trial(page).getByRole("button", { name: "TypeScript" }).click();
    expect(await code("TypeScript").textContent()).toContain("Read me.");
    await trial(page).getByText("Stream", { exact: true }).click();
    expect(await code("TypeScript").textContent()).toContain(`baseURL: "${house.server.url}/v1"`);
  });
});

it("fits on a phone, where it speaks as well", async () => {
  const { page } = await arrive(PHONE);
  await page.locator("#limits td").first().waitFor();
  expect(await isTooWide(page)).toBe(false);
  await setUp(page, "Events (SSE)", "Small, but complete.");
  await send(page);
  await outcome(page, "done").waitFor();
  await page.locator("#createSpeech summary").first().click();
  expect(await isTooWide(page)).toBe(false);
  expect(await lookInBothThemes(page, "api-phone")).toEqual([]);
});

it("says so when the server is gone, and tries again when asked", async () => {
  const { page } = await arrive();
  await page.locator("#limits").waitFor();
  await page.route("**/openapi.json", (route) => route.abort());
  await page.reload();
  await page.getByRole("article").getByRole("alert").waitFor();
  await page.unroute("**/openapi.json");
  await page.getByRole("article").getByRole("button", { name: "Try again" }).click();
  await page.locator("#createSpeech").waitFor();
});

describe("a server that asks for a key", () => {
  const KEY = "e2e-key_+/";
  let locked: RunningServer;
  beforeAll(async () => {
    locked = await startServer({ SONANT_API_KEY: KEY });
  });
  afterAll(async () => {
    expect(await locked?.stop()).toBe(0);
  });

  const dialog = (page: Page) => page.getByRole("dialog", { name: "API key" });

  it("has the visitor asked for it, refuses a wrong one, and then works over every door", async () => {
    const { page } = await arrive({}, locked.url);
    await dialog(page).waitFor();
    await page.getByText("Key needed").waitFor();
    await dialog(page).getByLabel("Key").fill("wrong");
    await page.keyboard.press("Enter");
    await dialog(page).getByText("does not accept this key").waitFor();
    await dialog(page).getByLabel("Key").fill(KEY);
    await dialog(page).getByRole("button", { name: "Use this key" }).click();
    await page.locator("[data-state=ready]").waitFor();
    await expect.poll(() => dialog(page).count()).toBe(0);
    await page.locator("#limits td").first().waitFor();
    for (const transport of ["Whole", "Events (SSE)", "WebSocket"]) {
      await setUp(page, transport, "Let me in.");
      await send(page);
      await outcome(page, "done").waitFor();
      expect(await seconds(page)).toBeGreaterThan(0.2);
      // The next trial begins with an empty outcome.
      await trial(page).getByLabel("Text", { exact: true }).fill("");
    }
    expect(await trial(page).getByRole("region", { name: "Code: curl" }).textContent()).toContain(
      "SONANT_API_KEY",
    );
    await page.reload();
    await page.locator("[data-state=ready]").waitFor();
    expect(await dialog(page).count()).toBe(0);
  });

  it("is readable without it: the dialog can be put away, and comes back when something is refused", async () => {
    const { page } = await arrive({}, locked.url);
    await dialog(page).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => dialog(page).count()).toBe(0);
    await page.locator("#createSpeech").waitFor();
    await trial(page).getByRole("button", { name: "Send" }).click();
    await dialog(page).waitFor();
    await outcome(page, "failed").waitFor({ state: "attached" });
  });
});
