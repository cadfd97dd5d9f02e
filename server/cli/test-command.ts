/** Runs the commands as a user's shell would, for their tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

export interface CommandResult {
  /** Exit status; null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A command that runs; `result` settles when it has ended. */
export class Command {
  readonly result: Promise<CommandResult>;
  readonly #child: ReturnType<typeof spawn>;
  readonly #chunks: Buffer[] = [];

  constructor(file: string, args: readonly string[]) {
    const script = join(import.meta.dirname, file);
    this.#child = spawn(process.execPath, ["--import", "tsx", script, ...args]);
    let stderr = "";
    this.#child.stdout?.on("data", (data: Buffer) => this.#chunks.push(data));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    this.result = once(this.#child, "close").then(([status]) => ({
      status: status as number | null,
      stdout: this.stdout,
      stderr,
    }));
  }

  /** What it has written so far. */
  get stdout(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Types; without a text, ends what is typed. */
  type(text?: string): void {
    if (text === undefined) this.#child.stdin?.end();
    else this.#child.stdin?.write(text);
  }

  /** Hears what it writes to stderr. */
  onError(hear: (text: string) => void): void {
    this.#child.stderr?.on("data", hear);
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  /** Ends it without giving it a chance to do anything. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Resolves when `isDone` holds; rejects when the command ends before. */
  async until(isDone: () => boolean): Promise<void> {
    let ended: CommandResult | undefined;
    void this.result.then((result) => {
      ended = result;
    });
    while (!isDone()) {
      if (ended) throw new Error(`The command ended with ${ended.status}: ${ended.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** A folder for the files of one test file, removed at its end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sonant-cli-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}
