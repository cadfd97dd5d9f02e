/** Starts what a journey needs: the real server on a free port, and a browser that makes no connection of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, chromium } from "playwright";

const ROOT = join(import.meta.dirname, "..");

export interface RunningServer {
  url: string;
  /** Ends the server as an operator does and returns its exit status. */
  stop(): Promise<number | null>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

/**
 * Starts the server and waits until it has printed its address.
 * @param env settings beside those of this process, such as SONANT_VOICES_DIR
 */
export async function startServer(
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const args = ["--import", "tsx", "server/main.ts", "--port", env.SONANT_PORT ?? "0"];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await firstAddress(child);
  return {
    url,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      return child.exitCode;
    },
    async kill() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function firstAddress(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("The server's output is not piped");
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address !== undefined) {
      // What follows is not read, and must not fill the pipe.
      setImmediate(() => child.stdout?.resume());
      return address;
    }
  }
  throw new Error("The server ended before it printed its address");
}

export interface BrowserOptions {
  /** Whether sound may start by itself, as in the tests it may, or only after a gesture, as at a user's. */
  readonly autoplay?: "allowed" | "refused";
  /** A microphone that beeps or plays a WAV file over and over and is allowed; one that is refused; or none. */
  readonly microphone?: "fake" | "refused" | "none" | { readonly file: string };
}

/** Starts headless Chromium from the system, with no traffic in the background. */
export function startBrowser(options: BrowserOptions = {}): Promise<Browser> {
  const { autoplay = "allowed", microphone = "none" } = options;
  return chromium.launch({
    executablePath: process.env.SONANT_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      autoplay === "allowed"
        ? "--autoplay-policy=no-user-gesture-required"
        : "--autoplay-policy=document-user-activation-required",
      ...microphoneArguments(microphone),
    ],
  });
}

function microphoneArguments(microphone: NonNullable<BrowserOptions["microphone"]>): string[] {
  if (microphone === "none") return [];
  const device = "--use-fake-device-for-media-stream";
  if (microphone === "refused") return [device, "--deny-permission-prompts"];
  const allowed = [device, "--use-fake-ui-for-media-stream"];
  if (microphone === "fake") return allowed;
  return [...allowed, `--use-file-for-fake-audio-capture=${microphone.file}`];
}
