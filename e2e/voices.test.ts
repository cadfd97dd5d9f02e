/** The voices page as a visitor uses it, on the real server and engine: from a recording to a voice that speaks, and back. */
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startBrowser, startServer } from "./house.ts";
import {
  axeFindings,
  overflow,
  shoot,
  speakAndWait,
  type Visit,
  waitForSound,
} from "./playground-page.ts";
import {
  addPanel,
  card,
  check,
  chooseFile,
  dropFile,
  RATE,
  saveAs,
  saveButton,
  speechOf,
  storedRecording,
  storedVoice,
  temporaryFolder,
  uploadVoice,
  visitVoices,
} from "./voices-page.ts";

const AGREEMENT = "This is my own voice, and I agree that it is cloned on this server.";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: RunningServer;
let browser: Browser;
let speech: Float32Array;
let reference: string;
let open: Visit[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  const voices = { SONANT_VOICES_DIR: `${folder.path}/voices` };
  [server, browser] = await Promise.all([startServer(voices), startBrowser()]);
  speech = await speechOf(server.url);
  reference = await folder.wav("Ada_Example.wav", speech);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await folder?.remove();
});

afterEach(async () => {
  await Promise.all(open.map(({ context }) => context.close()));
  open = [];
});

async function arrive(options?: Parameters<typeof visitVoices>[2], from = browser): Promise<Visit> {
  const arrived = await visitVoices(from, server.url, options);
  open.push(arrived);
  return arrived;
}

const stored = (name: string) => storedVoice(server.url, name);
const recordingOf = (name: string) => storedRecording(server.url, name);
const reports = (page: Page) => page.getByRole("alert");

describe("cloning from a file", () => {
  it("takes five interactions from the first visit to a voice that is ready to speak", async () => {
    const { page, errors } = await arrive();
    await page.goto(server.url);
    let interactions = 0;
    const step = async (action: Promise<unknown>) => {
      await action;
      interactions++;
    };
    await step(page.getByRole("link", { name: "Voices", exact: true }).click());
    await step(addPanel(page).getByLabel("Choose a file").setInputFiles(reference));
    await step(addPanel(page).getByRole("checkbox").check());
    await step(saveButton(page).click());
    await card(page, "Ada Example").getByText("speaks").waitFor();
    await shoot(page, "voices-saved-desktop-light");
    await step(addPanel(page).getByRole("link", { name: "Speak with it" }).click());
    await page.waitForURL(`${server.url}/`);
    expect(interactions).toBeLessThanOrEqual(5);
    const option = page.getByRole("option", { name: "Ada Example" });
    expect(await option.getAttribute("aria-selected")).toBe("true");

    await speakAndWait(page, "Now I speak with your voice.", 1);
    const { consent, duration_s, mime_type } = await stored("ada example");
    expect(consent).toContain(AGREEMENT);
    expect(consent).toContain(new Date().toISOString().slice(0, 10));
    expect(duration_s).toBeCloseTo(speech.length / RATE, 1);
    expect(mime_type).toBe("audio/wav");
    expect(errors).toEqual([]);
  });

  it("keeps what the visitor trims, by numbers as by handles, and lets hear it first", async () => {
    const { page } = await arrive();
    await dropFile(page, "dropped.wav", await readFile(reference));
    await page.getByRole("heading", { name: "Check-up" }).waitFor();
    expect(await addPanel(page).getByLabel("Name", { exact: true }).inputValue()).toBe("dropped");
    await page.getByLabel("Start in seconds").fill("0.5");
    await page.getByLabel("End in seconds").fill("5");
    await page.getByTestId("kept").filter({ hasText: "4.5 of" }).waitFor();

    const wave = page.getByRole("img", { name: /Waveform/ });
    const box = await wave.boundingBox();
    if (box === null) throw new Error("The waveform is not shown");
    const x = (seconds: number) => box.x + (box.width * seconds * RATE) / speech.length;
    const y = box.y + box.height / 2;
    await page.mouse.move(x(0.5) + 4, y);
    await page.mouse.down();
    await page.mouse.move(x(0.9), y, { steps: 5 });
    await page.mouse.move(x(1) + 4, y, { steps: 5 });
    await page.mouse.up();
    await expect
      .poll(async () => Number(await page.getByLabel("Start in seconds").inputValue()))
      .toBeCloseTo(1, 1);

    await page.getByRole("button", { name: "Listen to what is kept" }).click();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByRole("button", { name: "Listen to the original" }).waitFor();
    await page.getByLabel("Start in seconds").fill("1");
    await saveAs(page, "Trimmed");
    const { duration_s } = await stored("Trimmed");
    expect(duration_s).toBeCloseTo(4, 2);
    const samples = (await recordingOf("Trimmed")).subarray(44);
    const at = Math.round(1.5 * RATE);
    expect(samples.readInt16LE(2 * at) / 32_768).toBeCloseTo(speech[at + RATE] ?? 9, 4);
  });

  it("keeps the draft when saving fails, and says why beside the button", async () => {
    const { page } = await arrive();
    await chooseFile(page, reference);
    await page.route("**/v1/audio/voices", (route) =>
      route.request().method() === "POST" ? route.abort() : route.continue(),
    );
    await addPanel(page).getByLabel("Name", { exact: true }).fill("Second try");
    await addPanel(page).getByRole("checkbox").check();
    await saveButton(page).click();
    await reports(page).filter({ hasText: "Code network" }).waitFor();
    await shoot(page, "voices-save-failed-desktop-light");
    await page.unroute("**/v1/audio/voices");
    await saveButton(page).click();
    await addPanel(page).getByText("is ready and chosen").waitFor();
    expect(await stored("second try")).toMatchObject({ name: "Second try" });
  });
});

describe("the doctor", () => {
  it("lets neither silence nor a moment of speech become a voice, and says why", async () => {
    const { page } = await arrive();
    const silence = await folder.wav("silence.wav", new Float32Array(4 * RATE));
    await chooseFile(page, silence);
    await addPanel(page).getByRole("checkbox").check();
    expect(await check(page, "silent").getAttribute("data-grade")).toBe("fail");
    await check(page, "silent").getByText("There is no sound in it.").waitFor();
    expect(await saveButton(page).isDisabled()).toBe(true);
    await page.getByText("Not yet: the recording is not usable.").waitFor();
    await shoot(page, "voices-refused-desktop-light");

    await page.getByRole("button", { name: "Start over" }).click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("add-title");
    const moment = await folder.wav("moment.wav", speech.subarray(0, 0.6 * RATE));
    await chooseFile(page, moment);
    await addPanel(page).getByRole("checkbox").check();
    await check(page, "length").getByText("Too short: at least 1 s are needed.").waitFor();
    expect(await saveButton(page).isDisabled()).toBe(true);
  });

  it("mends what can be mended with one press each; mere warnings do not stop anyone", async () => {
    const { page } = await arrive();
    const lead = 2 * RATE;
    const faulty = new Float32Array(lead + speech.length).fill(0.02);
    for (const [i, sample] of speech.entries()) faulty[lead + i] = 0.02 + sample / 12;
    await chooseFile(page, await folder.wav("faulty.wav", faulty));
    await addPanel(page).getByRole("checkbox").check();
    expect(await saveButton(page).isDisabled()).toBe(false);
    for (const [code, fix] of [
      ["edges", "Trim"],
      ["level", "Set the level"],
      ["offset", "Remove the offset"],
    ] as const) {
      expect(await check(page, code).getAttribute("data-grade")).toBe("warn");
      await check(page, code).getByRole("button", { name: fix }).click();
      await expect.poll(() => check(page, code).getAttribute("data-grade")).toBe("pass");
    }
    await page.getByText("Repaired: Set the level, Remove the offset").waitFor();
    await saveAs(page, "Mended");
    const bytes = (await recordingOf("Mended")).subarray(44);
    const samples = new Int16Array(bytes.length / 2).map((_, i) => bytes.readInt16LE(2 * i));
    const mean = samples.reduce((sum, x) => sum + x, 0) / samples.length / 32_768;
    expect(Math.abs(mean)).toBeLessThan(0.001);
    expect(samples.length / RATE).toBeLessThan(speech.length / RATE + 0.5);
    const peak = samples.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / 32_768;
    expect(peak).toBeGreaterThan(0.3);
  });

  it("is not asked about files that are no sound", async () => {
    const { page } = await arrive();
    const choose = addPanel(page).getByLabel("Choose a file");
    await choose.setInputFiles({
      name: "notes.wav",
      mimeType: "audio/wav",
      buffer: Buffer.from("no"),
    });
    const report = reports(page).filter({ hasText: "cannot decode" });
    await report.getByText("Choose another file").waitFor();
    await report.getByText("Code unreadable").waitFor();
  });
});

describe("cloning with the microphone", () => {
  it("counts down, shows the level, and makes a voice of what was said", async () => {
    const own = await startBrowser({ microphone: { file: reference } });
    try {
      const { page } = await arrive({}, own);
      await addPanel(page).getByRole("button", { name: "Record" }).click();
      const state = page.getByTestId("recording-state");
      await state.filter({ hasText: /Get ready: [123]/ }).waitFor();
      await state.filter({ hasText: /Recording: 0\.\d s/ }).waitFor();
      const level = page.getByRole("meter", { name: "Level of the microphone" });
      await expect
        .poll(() => level.evaluate((meter) => (meter as HTMLMeterElement).value))
        .toBeGreaterThan(-45);
      await shoot(page, "voices-recording-desktop-light");
      await state.filter({ hasText: /Recording: [2-9]\.\d s/ }).waitFor();
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await page.getByRole("heading", { name: "Your recording" }).waitFor();
      expect(await check(page, "silent").getAttribute("data-grade")).toBe("pass");
      await saveAs(page, "Spoken");
      const { duration_s } = await stored("Spoken");
      expect(duration_s).toBeGreaterThan(1.5);
      const bytes = (await recordingOf("Spoken")).subarray(44);
      let energy = 0;
      for (let i = 0; i < bytes.length; i += 2) energy += (bytes.readInt16LE(i) / 32_768) ** 2;
      expect(Math.sqrt(energy / (bytes.length / 2))).toBeGreaterThan(0.01);
    } finally {
      await own.close();
    }
  });

  it("says how to allow a microphone that was refused, and offers files instead", async () => {
    const own = await startBrowser({ microphone: "refused" });
    try {
      const { page } = await arrive({}, own);
      await addPanel(page).getByRole("button", { name: "Record" }).click();
      const report = reports(page).filter({ hasText: "not allowed for this page" });
      await report.getByText("allow the microphone and record again; or upload").waitFor();
      await report.getByText("Code denied").waitFor();
      expect(await addPanel(page).getByLabel("Choose a file").isEnabled()).toBe(true);
      await shoot(page, "voices-microphone-refused-desktop-light");
    } finally {
      await own.close();
    }
  });
});

describe("a voice of one's own", () => {
  const upload = (name: string) => uploadVoice(server.url, name, reference);

  it("is renamed and described, unless the name is somebody else's", async () => {
    await upload("Before");
    const { page } = await arrive();
    const { id } = await stored("Before");
    await card(page, "Before").getByRole("button", { name: "Edit Before" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("Clara");
    await dialog.getByText("A voice of the model has that name.").waitFor();
    expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);

    // Somebody else makes a voice, and this page has not heard of it yet.
    const known = await (await fetch(`${server.url}/v1/audio/voices`)).text();
    await page.route("**/v1/audio/voices", (route) =>
      route.fulfill({ body: known, contentType: "application/json" }),
    );
    await upload("Elsewhere");
    await dialog.getByLabel("Name", { exact: true }).fill("Elsewhere");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Code voice_name_taken").waitFor();
    await page.unroute("**/v1/audio/voices");

    await dialog.getByLabel("Name", { exact: true }).fill("After");
    await dialog.getByLabel("Description").fill("For stories.");
    await dialog.getByLabel("Language spoken").selectOption("en");
    await dialog.getByRole("button", { name: "Save" }).click();
    await card(page, "After").getByText("For stories.").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    const after = { id, name: "After", speaker_description: "For stories.", language: "en" };
    expect(await stored("after")).toMatchObject(after);
    await page.getByLabel("Search voices").fill("stories");
    await expect.poll(() => page.getByRole("article").count()).toBe(1);
  });

  it("appears and goes without being asked for when it is made or deleted elsewhere", async () => {
    const { page } = await arrive();
    await upload("Neighbour");
    await card(page, "Neighbour").waitFor();
    await fetch(`${server.url}/v1/audio/voices/Neighbour`, { method: "DELETE" });
    await card(page, "Neighbour").waitFor({ state: "detached" });
  });

  it("is exported, deleted for good, and comes back with its consent", async () => {
    await upload("Traveller");
    const { page } = await arrive();
    const before = await recordingOf("Traveller");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      card(page, "Traveller").getByRole("button", { name: "Export Traveller" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("Traveller.sonant-voice.json");
    const file = `${folder.path}/Traveller.sonant-voice.json`;
    await download.saveAs(file);

    await card(page, "Traveller").getByRole("button", { name: "Delete Traveller" }).click();
    await page.getByText("This deletes the recording, the codes made from it").waitFor();
    await shoot(page, "voices-delete-desktop-light");
    await page.getByRole("button", { name: "Delete the voice" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await card(page, "Traveller").count()).toBe(0);
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("content");
    expect(await stored("Traveller")).toBeUndefined();

    await page.getByLabel("Import a voice").setInputFiles(file);
    await page.getByText("“Traveller” was imported.").waitFor();
    expect(await stored("Traveller")).toMatchObject({ consent: "She agreed." });
    expect((await recordingOf("Traveller")).equals(before)).toBe(true);
    await page.getByLabel("Import a voice").setInputFiles(file);
    await page.getByText("“Traveller 2” was imported.").waitFor();

    const foreign = { name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") };
    await page.getByLabel("Import a voice").setInputFiles(foreign);
    await reports(page).getByText("This file is not an exported voice.").waitFor();
  });

  it("and those of the model can be listened to", async () => {
    await upload("Audible");
    const { page } = await arrive();
    for (const name of ["Listen to the recording of Audible", "Listen to Audible"]) {
      await card(page, "Audible").getByRole("button", { name, exact: true }).click();
      await card(page, "Audible").getByRole("button", { name: "Stop" }).click();
      await card(page, "Audible").getByRole("button", { name, exact: true }).waitFor();
    }
    await card(page, "Clara").getByRole("link", { name: "Use Clara" }).click();
    await page.getByTestId("speak").click();
    await waitForSound(page);
  });
});

describe("the page", () => {
  it("says that the list could not be read, and reads it when asked again", async () => {
    const { page } = await arrive();
    await page.route("**/v1/audio/voices", (route) => route.abort());
    await page.reload();
    // The list is asked for once more when the server is known to be there, and would take the button away.
    await page.locator("[data-state=ready]").waitFor();
    await reports(page).getByText("Code network").waitFor();
    await page.unroute("**/v1/audio/voices");
    await reports(page).getByRole("button", { name: "Try again" }).click();
    await card(page, "Clara").waitFor();
  });

  it.each(["light", "dark"] as const)(
    "has no findings of axe in %s, in any state",
    async (colorScheme) => {
      const { page } = await arrive({ colorScheme });
      expect(await axeFindings(page)).toEqual([]);
      await chooseFile(page, await folder.wav("short.wav", speech.subarray(0, 2 * RATE)));
      expect(await axeFindings(page)).toEqual([]);
      await shoot(page, `voices-ready-desktop-${colorScheme}`);
      await saveAs(page, `Axe ${colorScheme}`);
      expect(await axeFindings(page)).toEqual([]);
      await card(page, `Axe ${colorScheme}`).getByRole("button", { name: "Edit" }).click();
      await page.getByRole("dialog").waitFor();
      expect(await axeFindings(page)).toEqual([]);
    },
  );

  it("fits on a phone in every state", async () => {
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page } = await arrive({ ...phone, deviceScaleFactor: 2 });
    await page.getByRole("link", { name: "Add a voice" }).tap();
    expect(await overflow(page)).toBe(0);
    await chooseFile(page, reference);
    expect(await overflow(page)).toBe(0);
    await shoot(page, "voices-ready-phone-light");
    await saveAs(
      page,
      "A name that is quite long for a phone, andwithoutspacesinthesecondhalfofit",
    );
    expect(await overflow(page)).toBe(0);
    await shoot(page, "voices-saved-phone-light");
  });

  it("is used by keyboard alone", async () => {
    const { page } = await arrive();
    await chooseFile(page, reference);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H3");
    await page.getByLabel("Start in seconds").focus();
    await page.keyboard.press("ArrowUp");
    await page.getByTestId("kept").waitFor();
    expect(await page.getByLabel("Start in seconds").inputValue()).toBe("0.1");
    await addPanel(page).getByRole("checkbox").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await addPanel(page).getByText("is ready and chosen").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/`);
  });
});
