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
}

/** Starts the server and waits until it has printed its address. */
export async function startServer(): Promise<RunningServer> {
  const args = ["--import", "tsx", "server/main.ts", "--port", "0"];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const url = await firstAddress(child);
  return {
    url,
    async stop() {
      if (child.exitCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      return child.exitCode;
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

/** Starts headless Chromium from the system, with sound that may start by itself and no traffic in the background. */
export function startBrowser(): Promise<Browser> {
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
      "--autoplay-policy=no-user-gesture-required",
    ],
  });
}
