/** The server under load: started in a process of its own and ended as an operator ends it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ROOT } from "./native-tool.ts";

export interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The server has this long to end before it is made to, in milliseconds. */
const FAREWELL_MS = 10_000;

/**
 * Starts the server on a free port and waits until it can speak.
 * @param options as for `npm start`
 * @throws Error with what the server said if it ends before that
 */
export async function startServer(options: readonly string[]): Promise<RunningServer> {
  const main = join(ROOT, "server/main.ts");
  const args = [
    "--import",
    import.meta.resolve("tsx"),
    main,
    "--port",
    "0",
    "--host",
    "127.0.0.1",
    "--no-ui",
  ];
  const child = spawn(process.execPath, [...args, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SONANT_LOG_LEVEL: "warn" },
  });
  return { url: await addressOf(child), stop: () => ended(child) };
}

async function addressOf(child: ChildProcess): Promise<string> {
  const said: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => said.push(text));
  if (child.stdout === null) throw new Error("The server's output is not piped.");
  for await (const line of createInterface({ input: child.stdout })) {
    const url = / speaks at (http:\/\/\S+)/.exec(line)?.[1];
    if (url !== undefined) {
      // What follows is not read, and must not fill the pipe.
      setImmediate(() => child.stdout?.resume());
      return url;
    }
    said.push(`${line}\n`);
  }
  throw new Error(`The server did not start:\n${said.join("").trim()}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), FAREWELL_MS);
  child.kill("SIGTERM");
  await once(child, "exit");
  clearTimeout(timer);
}
