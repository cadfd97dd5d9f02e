/** What the journeys of the voices page have in common: a visitor, the steps of cloning, and recordings to clone from. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright";
import type { Visit } from "./playground-page.ts";

/** A busy machine is slow, a broken page never comes. */
const PATIENCE_MS = 20_000;
export const RATE = 48_000;

/** A visitor of the voices page, with its voices listed. */
export async function visitVoices(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(`${url}/voices`);
  await page.getByRole("article").first().waitFor();
  return { context, page, errors };
}

/** The panel in which voices are made. */
export function addPanel(page: Page): Locator {
  return page.getByRole("region", { name: "Add a voice" });
}

/** Chooses a file in the panel and waits until it can be worked on. */
export async function chooseFile(page: Page, file: string): Promise<void> {
  await addPanel(page).getByLabel("Choose a file").setInputFiles(file);
  await page.getByRole("heading", { name: "Check-up" }).waitFor();
}

/** Goes from a chosen file to the stored voice. */
export async function saveAs(page: Page, name: string): Promise<void> {
  const panel = addPanel(page);
  await panel.getByLabel("Name", { exact: true }).fill(name);
  await panel.getByRole("checkbox").check();
  await saveButton(page).click();
  await panel.getByText("is ready and chosen").waitFor();
}

export function saveButton(page: Page): Locator {
  return addPanel(page).getByRole("button", { name: "Save the voice" });
}

export function card(page: Page, name: string): Locator {
  return page.getByRole("article", { name, exact: true });
}

/** What the doctor says of one check. */
export function check(page: Page, code: string): Locator {
  return page.locator(`[data-check=${code}]`);
}

/** A folder for recordings and voices that goes when the journeys are over. */
export async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "sonant-e2e-voices-"));
  return {
    path,
    async wav(name: string, samples: ArrayLike<number>): Promise<string> {
      const file = join(path, name);
      await writeFile(file, wavOf(samples));
      return file;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** A 16-bit WAV file of one channel at 48 kHz; samples from -1 to 1. */
function wavOf(samples: ArrayLike<number>): Buffer {
  const file = Buffer.alloc(44 + samples.length * 2);
  file.write("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", 0, "latin1");
  file.writeUInt32LE(36 + samples.length * 2, 4);
  file.writeUInt32LE(RATE, 24);
  file.writeUInt32LE(RATE * 2, 28);
  file.write("\x02\0\x10\0data", 32, "latin1");
  file.writeUInt32LE(samples.length * 2, 40);
  for (let i = 0; i < samples.length; i++) {
    const scaled = Math.round((samples[i] ?? 0) * 32_768);
    file.writeInt16LE(Math.max(-32_768, Math.min(32_767, scaled)), 44 + i * 2);
  }
  return file;
}

/** Speech of the engine itself, six seconds and more, at 48 kHz: what is cloned from. */
export async function speechOf(url: string): Promise<Float32Array> {
  const answer = await fetch(`${url}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      input:
        "Good morning, this is a recording for a new voice. It has two sentences, so that it is long enough to be cut.",
      voice: "clara",
      seed: 3,
      response_format: "pcm",
      channels: 1,
      sample_rate: RATE,
    }),
  });
  if (!answer.ok) throw new Error(`The server did not speak: ${await answer.text()}`);
  return Float32Array.from(new Int16Array(await answer.arrayBuffer()), (x) => x / 32_768);
}

/** What the server knows of a voice; undefined if there is none. */
export async function storedVoice(url: string, name: string) {
  const answer = await fetch(`${url}/v1/audio/voices/${encodeURIComponent(name)}`);
  return answer.ok ? await answer.json() : undefined;
}

/** The recording of a voice as the server has it. */
export async function storedRecording(url: string, name: string): Promise<Buffer> {
  const answer = await fetch(`${url}/v1/audio/voices/${encodeURIComponent(name)}/audio`);
  return Buffer.from(await answer.arrayBuffer());
}

/** Uploads a voice past the page. */
export async function uploadVoice(url: string, name: string, file: string): Promise<void> {
  const form = new FormData();
  form.set("name", name);
  form.set("consent", "She agreed.");
  form.set("audio_sample", new Blob([await readFile(file)], { type: "audio/wav" }), "a.wav");
  const answer = await fetch(`${url}/v1/audio/voices`, { method: "POST", body: form });
  if (!answer.ok) throw new Error(`The voice was not taken: ${await answer.text()}`);
}

/** Drops a file on the page, as if it came from the desktop. @param events only a part of the way, if not all of it */
export function dropFile(
  page: Page,
  name: string,
  bytes: Buffer,
  events: readonly string[] = ["dragenter", "dragover", "drop"],
): Promise<void> {
  return page.evaluate(
    ({ name, base64, events }) => {
      const data = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([data], name, { type: "audio/wav" }));
      const fire = (type: string) =>
        document.body.dispatchEvent(
          new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
        );
      for (const type of events) fire(type);
    },
    { name, base64: bytes.toString("base64"), events },
  );
}
