/**
 * A program of the system that tests put beside or in front of servers: Redis, nginx. Owns its process and its folder;
 * `close` leaves nothing behind.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_TIMEOUT_MS = 20_000;

/** Whether a program can be run here. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ["-v"], { stdio: "ignore" }).error === undefined;
}

/** The title of tests that need a program, with the reason why they are skipped where it is missing. */
export function named(title: string, missing: string | undefined): string {
  return missing === undefined ? title : `${title} (skipped: ${missing})`;
}

export class HelperProcess {
  #child: ChildProcess | undefined;
  readonly #errors: string[] = [];

  private constructor(
    private readonly program: string,
    private readonly options: (folder: string) => readonly string[],
    readonly folder: string,
    readonly port: number,
  ) {}

  /** Starts a program that will listen on the port, with a temporary folder of its own and files in it. */
  static async start(
    program: string,
    port: number,
    options: (folder: string) => readonly string[],
    files: Readonly<Record<string, string>> = {},
  ): Promise<HelperProcess> {
    const folder = await mkdtemp(join(tmpdir(), "sonant-helper-"));
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), content);
    const helper = new HelperProcess(program, options, folder, port);
    await helper.restart();
    return helper;
  }

  /**
   * Starts it again after `stop`, at the same address, and waits until it listens.
   * @throws Error with what it wrote when it ends instead
   */
  async restart(): Promise<void> {
    const child = spawn(this.program, this.options(this.folder), {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text) => this.#errors.push(String(text)));
    }
    // Whatever ends us, it does not stay behind.
    const end = () => child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    const until = performance.now() + START_TIMEOUT_MS;
    while (!(await listens(this.port))) {
      if (child.exitCode !== null || performance.now() > until) {
        throw new Error(`${this.program} did not start:\n${this.#errors.join("")}`);
      }
      await sleep(20);
    }
  }

  /** Ends it at once and keeps its folder. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  /** Keeps it from doing anything, or lets it go on, without closing a connection. */
  pause(isPaused: boolean): void {
    this.#child?.kill(isPaused ? "SIGSTOP" : "SIGCONT");
  }

  /** Ends it and removes its folder. */
  async close(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
