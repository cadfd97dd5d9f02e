/** All that one case has done and seen so far: replies, sockets, files, figures, and the server it talks to. */
import { setMaxListeners } from "node:events";
import { setTimeout } from "node:timers/promises";
import type { RobustnessCase } from "./case-file.ts";
import type { CaseSocket } from "./case-socket.ts";
import { NotRunnable } from "./check.ts";
import type { HttpReply } from "./http-client.ts";
import { SETTINGS } from "./mapping.ts";
import type { MetricsPage } from "./metrics-page.ts";
import { Clips, type RecipeBook } from "./recipes.ts";
import type { Exit, ServerOptions, ServerProcess } from "./server-process.ts";
import { Target } from "./target.ts";
import { Values } from "./values.ts";

/** How cases are run. */
export interface RunOptions {
  /**
   * Factor on every limit of time. Above 1 on machines that do other work beside; relations between times are then not
   * checked.
   */
  readonly patience: number;
  /** Use the shorter forms of long cases. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
}

/** What a shorter form of a case has less of. */
export interface Shorter {
  readonly repeats?: number;
  /** Longest text that is made of repetitions, in characters; never less than one of them. */
  readonly textChars?: number;
  readonly waitMs?: number;
}

const ROUND_MS = 20;

export class World {
  readonly replies = new Map<string, HttpReply[]>();
  readonly sockets = new Map<string, CaseSocket>();
  /** Figures that were measured, by name. */
  readonly measured = new Map<string, number>();
  readonly clips: Clips;
  readonly values: Values;
  /** Work that goes on while later steps run. */
  readonly background: Promise<unknown>[] = [];
  readonly leaving = new AbortController();
  /** Files that were there before the case. */
  filesBefore: readonly string[] = [];
  metricsBefore: MetricsPage | undefined;
  /** Resident memory before the first step, and the most that was seen since. */
  bytesBefore = 0;
  bytesMost = 0;
  /** Set by the step that ends the server or tries to start one that cannot. */
  ended: { readonly exit: Exit; readonly afterMs: number } | undefined;
  /** A server that was started to see whether it starts. */
  trial: ServerProcess | undefined;
  #logFrom = 0;
  #target: Target;
  /** Set for servers that belong to this case alone. */
  #own: Target | undefined;

  constructor(
    readonly wanted: RobustnessCase,
    readonly options: RunOptions,
    readonly shorter: Shorter,
    shared: Target,
    book: RecipeBook,
  ) {
    this.#target = shared;
    this.clips = new Clips(book);
    // As many requests as a case likes wait for this one signal.
    setMaxListeners(0, this.leaving.signal);
    options.signal.addEventListener("abort", this.#interrupt);
    this.#logFrom = shared.process?.log.length ?? 0;
    this.values = new Values({
      settings: this.#settings,
      voices: shared.voices,
      slots: () => this.#target.slots,
      mostTextChars: shorter.textChars,
      file: (name) => this.clips.read(name),
      saved: (name) => this.reply(name).body,
    });
  }

  /** What this case needs of a server of our own. */
  get #settings() {
    return this.#target.process === undefined ? undefined : SETTINGS[this.wanted.id];
  }

  get target(): Target {
    return this.#target;
  }

  /** Starts what the case needs before its first step. */
  async prepare(): Promise<void> {
    if (this.#settings !== undefined) await this.serve({ settings: this.#settings });
    await this.lookBefore();
  }

  /** Remembers how things are, to compare with later. */
  async lookBefore(): Promise<void> {
    this.bytesBefore = await this.#target.residentBytes();
    this.metricsBefore = await this.#target.metrics();
    this.filesBefore = await this.files();
  }

  /** Replaces the server by one for this case alone. @throws NotRunnable when a server was given */
  async serve(options: ServerOptions): Promise<ServerProcess> {
    if (this.#target.process === undefined) {
      throw new NotRunnable("it starts servers of its own: leave out --url");
    }
    const next = await Target.own(options);
    if (options.folder === undefined) await this.#own?.close();
    this.#own = next;
    this.#target = next;
    this.#logFrom = 0;
    await this.lookBefore();
    return next.own("this");
  }

  /** All files of the server: uploads, temporary ones, and what was written where it works. */
  async files(): Promise<string[]> {
    const server = this.#target.process;
    if (server === undefined) return [];
    const folders = ["voices", "tmp", "work"] as const;
    return (await Promise.all(folders.map((name) => server.files(name)))).flat();
  }

  /** Lines that the server logged since the case began. */
  log(): string[] {
    return (this.trial ?? this.#target.process)?.log.slice(this.trial ? 0 : this.#logFrom) ?? [];
  }

  keep(name: string, reply: HttpReply): void {
    this.replies.set(name, [...(this.replies.get(name) ?? []), reply]);
  }

  /** The last reply of a name. */
  reply(name: string): HttpReply {
    const found = this.replies.get(name)?.at(-1);
    if (found === undefined) throw new Error(`The case saves no reply ${name}.`);
    return found;
  }

  /** All replies that the client waited for. */
  answered(name?: string): HttpReply[] {
    const lists = name === undefined ? [...this.replies.values()].flat() : this.replies.get(name);
    return (lists ?? []).filter(({ hasLeft }) => !hasLeft);
  }

  /** A time limit with the patience of the run. */
  patient(ms: number): number {
    return ms * this.options.patience;
  }

  /** Waits until something holds, up to a time. @returns whether it came to hold */
  async eventually(ms: number, isTrue: () => Promise<boolean>): Promise<boolean> {
    const until = performance.now() + this.patient(ms);
    for (;;) {
      if (await isTrue()) return true;
      if (performance.now() > until) return false;
      await pause(ROUND_MS);
    }
  }

  async noteMemory(): Promise<void> {
    this.bytesMost = Math.max(this.bytesMost, await this.#target.residentBytes().catch(() => 0));
  }

  /** Lets go of what the case waits for. */
  readonly #interrupt = () => {
    this.leaving.abort();
    for (const socket of this.sockets.values()) socket.terminate();
  };

  /** Ends everything of this case, voices that it uploaded included. */
  async close(): Promise<void> {
    this.options.signal.removeEventListener("abort", this.#interrupt);
    this.#interrupt();
    await Promise.allSettled(this.background);
    if (this.#own === undefined) await this.#deleteUploads();
    await this.#own?.close();
    await this.trial?.close();
    await this.clips.close();
  }

  async #deleteUploads(): Promise<void> {
    for (const { status, body, request } of [...this.replies.values()].flat()) {
      if (status !== 200 || !request.startsWith("POST /v1/audio/voices")) continue;
      await this.#target.deleteUpload(JSON.parse(body.toString()).voice?.name);
    }
  }
}

/** Waits. @throws AbortError when the run is aborted meanwhile */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal });
}
