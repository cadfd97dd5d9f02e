/**
 * The server as an operator runs it, in a process of its own, for tests that look at it from outside: over the shipped
 * model, with a deploy file of the test's own, and with a probe inside that tells what only the process knows.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../..");
const PROBE = join(import.meta.dirname, "children/probe.mjs");

/** How late the event loop ran, in milliseconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface LiveOptions {
  /** Sections of the deploy file. */
  readonly deploy?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Keys of the stage that makes frames. */
  readonly stage?: Readonly<Record<string, unknown>>;
  /** More options of Node for the server's process. */
  readonly nodeOptions?: readonly string[];
}

/** Connections of these requests end with their answers, so that they count in nobody's baseline. */
export async function answerOf(
  port: number,
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  const asked = request({
    port,
    path,
    agent: false,
    method: body === undefined ? "GET" : "POST",
    headers: { connection: "close", "content-type": "application/json" },
  });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return { status: answer.statusCode ?? 0, bytes: Buffer.concat(parts) };
}

export class LiveServer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly port: number;
  #questions = 0;

  private constructor(child: ChildProcess, folder: string, port: number) {
    this.#child = child;
    this.#folder = folder;
    this.port = port;
  }

  /** Starts the server and waits until it speaks. */
  static async start({
    deploy = {},
    stage = {},
    nodeOptions = [],
  }: LiveOptions = {}): Promise<LiveServer> {
    const folder = await mkdtemp(join(tmpdir(), "sonant-live-"));
    const file = join(folder, "deploy.yaml");
    const content = {
      ...deploy,
      served_model_names: ["starter"],
      model: join(ROOT, "native/models/starter"),
      voices: { directory: join(folder, "voices") },
      stages: [{ stage_id: 0, ...stage }],
      server: { log_level: "error", ...deploy.server, port: 0 },
    };
    await writeFile(file, JSON.stringify(content)); // JSON is YAML
    const child = fork(join(ROOT, "server/main.ts"), ["--no-ui", "--config", file], {
      cwd: ROOT,
      execArgv: ["--expose-gc", ...nodeOptions, "--import", "tsx", "--import", PROBE],
      env: { ...process.env, SONANT_API_KEY: undefined },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const port = await new Promise<number>((resolve, reject) => {
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      lines.on("line", (line) => {
        const address = /speaks at http:\S+?:(\d+) /.exec(line)?.[1];
        if (address !== undefined) resolve(Number(address));
      });
      child.once("exit", () => reject(new Error("The server did not start.")));
    });
    return new LiveServer(child, folder, port);
  }

  /** Resident memory in MB, after a collection. */
  residentMb(): Promise<number> {
    return this.#ask("residentMb");
  }

  /** Open file handles. */
  handles(): Promise<number> {
    return this.#ask("handles");
  }

  /** How late the event loop ran since this was last asked. */
  loopDelay(): Promise<LoopDelay> {
    return this.#ask("loopDelay");
  }

  /** Sum of a metric over all series whose labels contain `labels`. */
  async metric(name: string, labels = ""): Promise<number> {
    const { bytes } = await answerOf(this.port, "/metrics");
    return bytes
      .toString()
      .split("\n")
      .filter((line) => line.split(/[{ ]/, 1)[0] === name && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  /** Ends the server as an operator would, and returns its exit status. */
  async stop(): Promise<number | null> {
    const isOver = this.#child.exitCode !== null || this.#child.signalCode !== null;
    if (!isOver) {
      this.#child.kill("SIGTERM");
      await once(this.#child, "exit");
    }
    await rm(this.#folder, { recursive: true, force: true });
    return this.#child.exitCode;
  }

  #ask<T>(name: string): Promise<T> {
    const id = this.#questions++;
    return new Promise((resolve, reject) => {
      const answered = (message: unknown) => {
        const { id: answeredId, value } = message as { id: number; value: T };
        if (answeredId !== id) return;
        this.#child.off("message", answered);
        resolve(value);
      };
      this.#child.on("message", answered);
      this.#child.send({ name, id }, (error) => error && reject(error));
    });
  }
}
