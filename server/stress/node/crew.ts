/**
 * Several processes that make load as one: what is asked for is split exactly, what they measure is added up. One that
 * dies leaves its part out, which is said, and holds nobody up.
 */

import { partOf } from "../shape.ts";
import type { LoadSource, WarmedUp } from "../source.ts";
import { STRESS_BOUNDS, type StressPlan, type StressSoundInfo } from "../types.ts";
import type { PackedWindow } from "../window.ts";
import { type LoadWindow, mergeWindows, unpackWindow } from "../window.ts";
import type { ToWorker } from "./messages.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Who does not tell his figures in this time tells them later, in milliseconds. */
const PATIENCE_MS = 3000;
/** Time for a worker to end in order. */
const FAREWELL_MS = 10_000;

export interface CrewOptions {
  readonly plan: StressPlan;
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Sent with every request and handshake. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly maxStreams?: number | undefined;
  /** Gives the processes less of the machine than others have. */
  readonly lowPriority?: boolean | undefined;
  readonly onSound?: ((info: StressSoundInfo, pcm: Uint8Array) => void) | undefined;
}

export class Crew implements LoadSource {
  readonly #workers: readonly WorkerProcess[];
  readonly #caveats: string[];
  /** Windows that came too late for the reading they were asked for, and those of the farewell. */
  readonly #late: LoadWindow[] = [];

  private constructor(workers: readonly WorkerProcess[], caveats: string[]) {
    this.#workers = workers;
    this.#caveats = caveats;
  }

  /** @throws Error if a process cannot be started; none is then left */
  static async start(options: CrewOptions): Promise<Crew> {
    const { plan, baseUrl, apiKey, headers = {}, maxStreams, lowPriority = false } = options;
    const processes = Math.min(plan.processes, STRESS_BOUNDS.processes);
    const caveats: string[] = [];
    const starts = Array.from({ length: processes }, (_, index) =>
      WorkerProcess.start({
        setup: { plan, baseUrl, apiKey, headers, index, processes, maxStreams },
        lowPriority,
        onSound: ({ info, pcm }) => options.onSound?.(info, pcm),
        onDeath: (how) => {
          caveats.push(
            `Process ${index + 1} of ${processes} ${how}: its part of the load is missing from then on, and so are its ` +
              "figures of the last half second.",
          );
        },
      }),
    );
    const started = await Promise.allSettled(starts);
    const workers = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const failed = started.find((one) => one.status === "rejected");
    if (failed !== undefined) {
      for (const worker of workers) worker.kill();
      throw failed.reason;
    }
    return new Crew(workers, caveats);
  }

  /** Processes of the crew that are there. */
  get alive(): readonly WorkerProcess[] {
    return this.#workers.filter(({ isAlive }) => isAlive);
  }

  async probeAlone(): Promise<string | undefined> {
    const prober = this.#workers[0];
    return prober?.ask("probeAlone").catch((error: Error) => error.message);
  }

  async warmUp(requests: number): Promise<WarmedUp> {
    const parts = this.alive.map((worker) => {
      const part = partOf(requests, worker.index, this.#workers.length);
      return worker
        .ask("warmUp", part)
        .catch((error: Error): WarmedUp => ({ spoken: 0, failure: error.message }));
    });
    const answers = await Promise.all(parts);
    return {
      spoken: answers.reduce((sum, { spoken }) => sum + spoken, 0),
      failure: answers.find(({ failure }) => failure !== undefined)?.failure,
    };
  }

  step(index: number): void {
    this.#tell({ kind: "step", index });
  }

  want(concurrency: number): void {
    this.#tell({ kind: "want", concurrency });
  }

  arrive(perSecond: number, seconds: number): void {
    this.#tell({ kind: "arrive", perSecond, seconds });
  }

  rest(): void {
    this.#tell({ kind: "rest" });
  }

  abort(): void {
    this.#tell({ kind: "abort" });
  }

  listen(lane: number | null): void {
    this.#tell({ kind: "listen", lane });
  }

  async collect(): Promise<LoadWindow> {
    const asked = this.alive.map((worker) => this.#windowOf(worker.ask("collect"), PATIENCE_MS));
    const windows = (await Promise.all(asked)).flatMap((window) => window ?? []);
    const merged = mergeWindows([...windows, ...this.#late.splice(0)]);
    const processes = this.alive.length;
    // Who is too busy to answer is not idle.
    const silent = Math.max(0, processes - windows.length);
    return { ...merged, processes, active: merged.active + silent };
  }

  caveats(): readonly string[] {
    return this.#caveats;
  }

  async close(): Promise<void> {
    const farewells = this.alive.map(async (worker) => {
      const window = await this.#windowOf(worker.ask("close"), FAREWELL_MS);
      if (window === undefined) worker.kill();
      // Nothing of it is under way any more.
      else this.#late.push({ ...window, active: 0, processes: 0, lanes: [], lanesLeftOut: 0 });
    });
    await Promise.all(farewells);
  }

  /** @returns undefined if it does not come in time; it is then kept for the next reading */
  async #windowOf(asked: Promise<PackedWindow>, ms: number): Promise<LoadWindow | undefined> {
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        isLate = true;
        resolve(undefined);
      }, ms);
    });
    const window = asked.then(unpackWindow).then(
      (came) => {
        // What it said of the moment is no longer true; what it measured is.
        if (isLate)
          this.#late.push({ ...came, active: 0, processes: 0, lanes: [], lanesLeftOut: 0 });
        return came;
      },
      () => undefined,
    );
    const first = await Promise.race([window, patience]);
    clearTimeout(timer);
    return first;
  }

  #tell(message: ToWorker): void {
    for (const worker of this.#workers) worker.tell(message);
  }
}
