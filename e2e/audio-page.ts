/**
 * A page with the browser's audio layer and nothing else: the real modules of components/audio and the real worklets,
 * served by themselves under the policy that the product's pages have.
 */
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import type { Browser, Page } from "playwright";
import ts from "typescript";

const ROOT = join(import.meta.dirname, "..");
const FOLDERS: Readonly<Record<string, string>> = {
  audio: "components/audio",
  worklets: "public/worklets",
  driver: "e2e/fixtures",
};
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; media-src blob:";
const PAGE = `<!doctype html><title>Audio</title><button id="tap">Tap</button>
<script type="module" src="/driver/audio-driver.js"></script>`;

export interface AudioPage {
  readonly url: string;
  close(): Promise<void>;
}

export interface Sound {
  kind: "noise" | "sine" | "speech";
  seconds: number;
  seed?: number;
}

export interface Arrival {
  atSeconds: number;
  start: number;
  end: number;
}

export interface Playback {
  state: string;
  audibleFrame: number;
  leftFrame: number;
  underruns: { frame: number; seconds: number }[];
  times: Record<"requestedMs" | "firstPushMs" | "firstSampleOutMs" | "audibleMs", number>;
  on(name: string, listener: (detail: never) => void): void;
  pause(): void;
  resume(): void;
  stop(): void;
  seek(frame: number): void;
}

export interface Take {
  frames: number;
  push(piece: Uint8Array | Int16Array): number;
  finish(): void;
}

export interface Player {
  outputState: string;
  play(take: Take, options?: object): Playback;
  prepare(): Promise<void>;
  unlock(): void;
  health(): { contextRate: number; isResampled: boolean };
}

export interface Stage {
  player: Player;
  /** What left and was not asked for yet, on the left and on the right. */
  blocks: { at: number; left: Float32Array; right: Float32Array }[];
  output(): Promise<Float32Array[]>;
  timeline(): Promise<Float32Array[]>;
}

/** What e2e/fixtures/audio-driver.js puts into the page. */
export interface AudioDriver {
  TakeAudio: new (shape: object) => Take;
  WavReader: new () => { push(bytes: Uint8Array): Uint8Array };
  buildWav(samples: Int16Array, rate: number, channels: number): Blob;
  Recorder: new (
    options: object,
  ) => {
    start(): Promise<void>;
    stop(): Promise<{ planes: Float32Array[]; sampleRate: number; seconds: number }>;
    on(name: string, listener: (detail: never) => void): void;
  };
  decodeFile(file: Blob, limits?: object): Promise<{ planes: Float32Array[]; sampleRate: number }>;
  make(sound: Sound): Int16Array;
  offline(sound: Sound, arrivals: Arrival[], options?: object): Promise<Offline>;
  firstDifference(planes: Float32Array[], samples: Int16Array, underruns: object[]): number;
  largestStep(samples: Float32Array): number;
  Stage: new () => Stage;
  reached(playback: Playback, state: string): Promise<void>;
  statesOf(playback: Playback): string[];
}

export interface Offline {
  difference: number;
  underruns: { at: number; position: number; frames: number }[];
  waits: { rate: number; wanted: number }[];
  playedFrames: number;
  frames: number;
  largestStep: number;
  longestSilence: number;
  isSilentAfter: boolean;
}

declare global {
  var audio: AudioDriver;
}

/** Serves the page on a free port of this machine. */
export async function serveAudioPage(): Promise<AudioPage> {
  const server = createServer((request, response) => {
    answer(request.url ?? "/", response).catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/**
 * Opens the page at `url`; also returns the list to which its errors will be added.
 * @param before runs in the page before anything else does
 */
export async function openAudioPage(
  browser: Browser,
  url: string,
  before?: () => void,
): Promise<[Page, string[]]> {
  const page = await browser.newPage();
  if (before !== undefined) await page.addInitScript(before);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(url);
  await page.waitForFunction(() => "audio" in globalThis);
  return [page, errors];
}

async function answer(path: string, response: ServerResponse): Promise<void> {
  if (path === "/") {
    const headers = { "content-type": "text/html", "content-security-policy": POLICY };
    response.writeHead(200, headers).end(PAGE);
    return;
  }
  const [, folder = "", name = ""] = path.split("/");
  const source = FOLDERS[folder];
  if (source === undefined) throw new Error(`No folder ${folder}`);
  const text = await readFile(join(ROOT, source, normalize(name)), "utf8");
  response.writeHead(200, { "content-type": "text/javascript" });
  response.end(name.endsWith(".ts") ? asJavaScript(text) : text);
}

function asJavaScript(text: string): string {
  const { ES2022 } = ts.ScriptTarget;
  const compilerOptions = { target: ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}
