/**
 * Keeps an engine alive: loads it, warms it up, and replaces it when it is dead. The one owner of the Engine object; the
 * rest of the server calls through here and so never holds one that is gone.
 */
import type { Member } from "../engine/engine-group.ts";
import { EngineError } from "../engine/errors.ts";
import type { EngineStream } from "../engine/stream.ts";
import type { EngineLimits, GenerateOptions, GenerateStats } from "../engine/types.ts";

/** An engine, or several that are kept alive as one. */
export interface HostedEngine extends Member {
  readonly members?: readonly Member[];
}

export interface HostOptions {
  load(): Promise<HostedEngine>;
  /** Short generations that an engine must survive before it serves; the first one also tests a suspect. */
  readonly warmUps: () => readonly GenerateOptions[];
  /** How many of them an engine makes side by side at the end, so that it is known what company costs. */
  readonly crowd: (limits: EngineLimits) => number;
  /** An engine has been loaded and warmed; or it is gone, or suspected of being so. */
  onChange(isTrusted: boolean): void;
  /** A GPU has failed, and this process gets no engine on it any more: a new process may. */
  readonly onDeviceLost?: (() => void) | undefined;
  /** Milliseconds that a frame of the warm-up took. */
  onFrameMs(ms: number): void;
  log(level: "info" | "warn" | "error", message: string): void;
}

export type HostStage = "loading" | "warming" | "ready" | "failed" | "closed";

/** Frames of a warm-up. */
export const WARM_UP_FRAMES = 4;
/** A probe that takes longer than this has failed, in milliseconds. */
const PROBE_LIMIT_MS = 10_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

export class EngineHost {
  readonly #options: HostOptions;
  #engine: HostedEngine | undefined;
  #stage: HostStage = "loading";
  #reason: string | undefined;
  #checking: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  get stage(): HostStage {
    return this.#stage;
  }

  /** Whether newcomers may come: the engine is there, and nothing speaks against it. */
  get isTrusted(): boolean {
    return this.#stage === "ready" && this.#checking === undefined;
  }

  /** Why it is not ready, in a sentence. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** @throws EngineError `closed` while there is none */
  get engine(): HostedEngine {
    if (this.#engine === undefined || this.#stage === "closed") {
      throw new EngineError("closed", this.#reason ?? "The engine is not loaded.");
    }
    return this.#engine;
  }

  /** Loads the first engine. Rejects if that fails: whoever starts a server wants to know. */
  async start(): Promise<void> {
    try {
      await this.#loadAndWarm();
    } catch (error) {
      this.#setStage("failed", messageOf(error));
      throw error;
    }
  }

  /** @throws EngineError */
  generate(options: GenerateOptions): EngineStream {
    return this.engine.generate(options);
  }

  /** A generation failed: finds out whether the engine is dead, and if so replaces it. Resolves when it is settled. */
  async suspect(error: unknown): Promise<void> {
    if (!(error instanceof EngineError) || this.#stage !== "ready") return;
    if (error.code !== "engine_failed" && error.code !== "closed") return;
    if (this.#checking === undefined) {
      // Who comes meanwhile waits for what is found, or he would be given to an engine that is dead.
      this.#options.onChange(false);
      this.#checking = this.#check(error).finally(() => {
        this.#checking = undefined;
        if (this.isTrusted) this.#options.onChange(true);
      });
    }
    await this.#checking;
  }

  async close(): Promise<void> {
    this.#setStage("closed", "The engine was closed.");
    this.#wake?.();
    const engine = this.#engine;
    this.#engine = undefined;
    await engine?.close();
    await this.#checking;
  }

  async #check(error: EngineError): Promise<void> {
    const isAlive = error.code === "engine_failed" && (await this.#probe());
    if (isAlive || this.#stage === "closed") return;
    this.#options.log("error", `The engine is dead and is being replaced: ${error.message}`);
    const dead = this.#engine;
    const hadGpu = this.#device === "cuda";
    this.#engine = undefined;
    this.#setStage("loading", "The engine failed and is being restarted.");
    await dead?.close().catch(() => {});
    for (let delay = FIRST_RETRY_MS; this.#isOpen(); delay = Math.min(2 * delay, LAST_RETRY_MS)) {
      try {
        await this.#loadAndWarm();
        if (hadGpu && this.#device !== "cuda") this.#loseDevice();
        return;
      } catch (failure) {
        if (!this.#isOpen()) return;
        this.#setStage("failed", messageOf(failure));
        this.#options.log("error", `The engine could not be restarted: ${messageOf(failure)}`);
        if (hadGpu) this.#loseDevice();
        await this.#pause(delay);
      }
    }
  }

  get #device(): string | undefined {
    return this.#engine?.info.device;
  }

  #loseDevice(): void {
    if (this.#isOpen()) this.#options.onDeviceLost?.();
  }

  #isOpen(): boolean {
    return this.#stage !== "closed";
  }

  async #loadAndWarm(): Promise<void> {
    const engine = await this.#options.load();
    if (!this.#isOpen()) return engine.close();
    try {
      this.#setStage("warming", this.#reason);
      const warmUps = this.#options.warmUps();
      for (const options of warmUps) await this.#warmAll(engine, options);
      const [options] = warmUps;
      const crowd = this.#options.crowd(engine.info.limits);
      if (options !== undefined && crowd > 1) {
        await Promise.all(Array.from({ length: crowd }, () => this.#hear(engine, options)));
      }
    } catch (error) {
      await engine.close().catch(() => {});
      throw error;
    }
    if (!this.#isOpen()) return engine.close();
    this.#engine = engine;
    this.#setStage("ready", undefined);
    const { device, description, note } = engine.info;
    if (note !== null) this.#options.log("warn", note);
    this.#options.log("info", `The engine is ready on ${device}: ${description}.`);
  }

  async #warmAll(engine: HostedEngine, options: GenerateOptions): Promise<void> {
    const members = engine.members ?? [engine];
    await Promise.all(members.map((member) => this.#warm(member, options)));
  }

  async #warm(engine: Member, options: GenerateOptions): Promise<void> {
    const stats = await this.#hear(engine, options);
    if (stats.frames > 0) this.#options.onFrameMs(stats.frameMs / stats.frames);
  }

  async #hear(engine: Member, options: GenerateOptions): Promise<GenerateStats> {
    const stream = engine.generate(options);
    for await (const _ of stream);
    return (await stream.finished).stats;
  }

  /** Whether the engine still speaks. */
  async #probe(): Promise<boolean> {
    const [options] = this.#options.warmUps();
    const engine = this.#engine;
    if (options === undefined || engine === undefined) return false;
    const { promise: tooLong, cancel } = timeout(PROBE_LIMIT_MS);
    const spoken = this.#warmAll(engine, options).then(
      () => true,
      () => false,
    );
    const isAlive = await Promise.race([spoken, tooLong]);
    cancel();
    return isAlive;
  }

  #setStage(stage: HostStage, reason: string | undefined): void {
    const wasTrusted = this.isTrusted;
    if (this.#stage === "closed") return;
    this.#stage = stage;
    this.#reason = reason;
    if (wasTrusted !== this.isTrusted) this.#options.onChange(this.isTrusted);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** False after `ms`, unless cancelled. */
function timeout(ms: number): { readonly promise: Promise<boolean>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return { promise, cancel: () => clearTimeout(timer) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
