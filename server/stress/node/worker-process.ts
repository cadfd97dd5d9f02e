/** One worker process as its coordinator sees it: questions are answered or fail, and its end is heard of once. */
import { type ChildProcess, fork } from "node:child_process";
import { setPriority } from "node:os";
import { join } from "node:path";
import type { FromWorker, Question, Questions, Setup, ToWorker } from "./messages.ts";

const PROGRAM = join(import.meta.dirname, "worker.ts");
/** Time for a worker to be ready, in milliseconds: many start at once, on few cores. */
const START_MS = 60_000;
/** Less than the server and whoever else shares the machine (nice values run from −20 to 19). */
const LOW_PRIORITY = 10;

export interface WorkerOptions {
  readonly setup: Setup;
  readonly lowPriority: boolean;
  readonly onSound: (message: Extract<FromWorker, { kind: "sound" }>) => void;
  /** It ended although nobody had asked it to. @param how a part of a sentence */
  readonly onDeath: (how: string) => void;
}

interface Asked {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerProcess {
  readonly index: number;
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, Asked>();
  #questions = 0;
  #isAlive = true;
  #isExpectedToEnd = false;

  private constructor({ setup, lowPriority, onDeath }: WorkerOptions) {
    this.index = setup.index;
    this.#child = fork(PROGRAM, [], {
      execArgv: ["--import", import.meta.resolve("tsx")],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    if (lowPriority && this.#child.pid !== undefined) setPriority(this.#child.pid, LOW_PRIORITY);
    const ended = (how: string) => {
      if (!this.#isAlive) return;
      this.#isAlive = false;
      for (const { reject } of this.#asked.values()) reject(new Error(`A process ${how}.`));
      this.#asked.clear();
      if (!this.#isExpectedToEnd) onDeath(how);
    };
    this.#child.once("exit", (code, signal) =>
      ended(signal === null ? `ended with status ${code}` : `was ended by ${signal}`),
    );
    this.#child.on("error", ({ message }) => ended(`failed: ${message}`));
  }

  /** @throws Error if it does not get ready */
  static async start(options: WorkerOptions): Promise<WorkerProcess> {
    const worker = new WorkerProcess(options);
    try {
      await worker.#begin(options);
      return worker;
    } catch (error) {
      worker.kill();
      throw error;
    }
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Tells it something; nothing happens if it has ended. */
  tell(message: ToWorker): void {
    if (this.#isAlive && this.#child.connected) this.#child.send(message, () => {});
  }

  /** @throws Error if it ends before it answers */
  ask<Q extends Question>(
    question: Q,
    ...[value]: Questions[Q]["with"] extends undefined ? [] : [Questions[Q]["with"]]
  ): Promise<Questions[Q]["answer"]> {
    if (question === "close") this.#isExpectedToEnd = true;
    return new Promise((resolve, reject) => {
      if (!this.#isAlive) return reject(new Error("The process has ended."));
      const id = this.#questions++;
      this.#asked.set(id, { resolve, reject });
      this.tell({ kind: "ask", id, question, value });
    });
  }

  kill(): void {
    this.#isExpectedToEnd = true;
    if (this.#isAlive) this.#child.kill("SIGKILL");
  }

  #begin({ setup, onSound }: WorkerOptions): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`A process of the load did not start in ${START_MS / 1000} s.`)),
        START_MS,
      );
      const failed = () => {
        clearTimeout(timer);
        reject(new Error("A process of the load did not start."));
      };
      this.#child.once("exit", failed).once("error", failed);
      this.#child.on("message", (message: FromWorker) => {
        if (message.kind === "sound") onSound(message);
        else if (message.kind === "ready") {
          clearTimeout(timer);
          resolve();
        } else {
          this.#asked.get(message.id)?.resolve(message.value as never);
          this.#asked.delete(message.id);
        }
      });
      this.tell({ kind: "setup", setup });
    });
  }
}
