/**
 * Carries a plan out: tells a source how much load to make and when, looks at the figures twice a second, ends the run
 * where the plan, a limit or a person says so, and writes the report. Makes no load itself, so it does not matter to it how
 * many processes do.
 */
import { REAL_CLOCK } from "./clock.ts";
import { endedOf } from "./counts.ts";
import { KneeSearch } from "./knee.ts";
import { Ledger } from "./ledger.ts";
import { judge } from "./limits.ts";
import { LATE_MS, reportOf } from "./report.ts";
import { factsOf, ServerWatch } from "./server-watch.ts";
import { isOpenLoop, type PlannedStep, stepsOf, wantedAt } from "./shape.ts";
import type { LoadSource } from "./source.ts";
import type {
  StressClock,
  StressEnd,
  StressOptions,
  StressReport,
  StressRun,
  StressServerFacts,
  StressTick,
} from "./types.ts";

const TICK_MS = 500;
/** How often the load is adjusted. */
const CONTROL_MS = 100;
/** How long requests under way have to end when the plan is done, and when a limit has ended the run. */
const DRAIN_MS = 30_000;
const HASTY_DRAIN_MS = 5000;
/** How often it is looked whether they have: the end of the last one is that of the run. */
const DRAIN_POLL_MS = 20;
/** Requests of the last seconds below which limits say nothing yet. */
const LEAST_ENDED = 20;

const FINISHED: StressEnd = { kind: "finished", reason: "The plan was carried out." };
const NOT_DRAINED = `Requests were still under way ${DRAIN_MS / 1000} s after the last one was begun.`;
const STOPPED = "The run was stopped by hand.";

export class Conductor implements StressRun {
  readonly id = newId();
  readonly report: Promise<StressReport>;
  readonly #options: StressOptions;
  readonly #source: LoadSource;
  readonly #clock: StressClock;
  readonly #ledger = new Ledger();
  readonly #caveats = new Set<string>();
  readonly #startedAt = new Date().toISOString();
  readonly #from: number;
  /** Aborted as soon as it is known how the run ends. */
  readonly #ended = new AbortController();
  #end: StressEnd | undefined;
  #facts: StressServerFacts | null = null;
  #watch: ServerWatch | undefined;
  #search: KneeSearch | undefined;
  #loadFrom: number | undefined;
  #loadSeconds = 0;
  #wanted = 0;
  #nextTickAt = 0;

  /** The run begins at once. @param source is closed at its end */
  constructor(options: StressOptions, source: LoadSource) {
    this.#options = options;
    this.#source = source;
    this.#clock = options.clock ?? REAL_CLOCK;
    this.#from = this.#clock.now();
    const { signal } = options;
    const stop = () => this.stop(typeof signal?.reason === "string" ? signal.reason : undefined);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop);
    this.report = this.#run().finally(() => signal?.removeEventListener("abort", stop));
  }

  stop(reason = STOPPED): void {
    if (this.#end !== undefined && this.#end.kind !== "limit" && this.#end !== FINISHED) return;
    if (this.#end === undefined) this.#finish("stopped", reason);
    this.#source.abort();
  }

  listen(lane: number | null): void {
    this.#source.listen(lane);
  }

  caveat(sentence: string): void {
    this.#caveats.add(sentence);
  }

  // ---- the course of a run

  async #run(): Promise<StressReport> {
    try {
      await this.#prepare();
      if (this.#end === undefined) await this.#load();
      this.#end ??= FINISHED;
      await this.#drain(this.#end === FINISHED ? DRAIN_MS : HASTY_DRAIN_MS);
    } catch (error) {
      const { message, hint } = error as Error & { hint?: string };
      this.#finish("failed", hint ? `${message} ${hint}` : message);
    }
    if (this.#loadFrom !== undefined) {
      this.#loadSeconds = (this.#clock.now() - this.#loadFrom) / 1000;
    }
    this.#watch?.end();
    await this.#source.close();
    await this.#absorbRest();
    for (const sentence of this.#source.caveats()) this.caveat(sentence);
    const { plan, generator } = this.#options;
    return reportOf({
      id: this.id,
      plan,
      startedAt: this.#startedAt,
      server: this.#facts,
      generator,
      end: this.#end ?? FINISHED,
      seconds: this.#loadSeconds,
      ledger: this.#ledger,
      search: this.#search?.result() ?? null,
      caveats: [...this.#caveats],
    });
  }

  async #prepare(): Promise<void> {
    const { plan, access, serverFigures } = this.#options;
    this.#facts = await factsOf(access, plan.model, this.#ended.signal);
    if (serverFigures === undefined) this.#watch = new ServerWatch(access, this.#clock);
    if (plan.probe && this.#end === undefined) {
      await this.#tick("probe");
      const problem = await this.#source.probeAlone();
      if (problem !== undefined && this.#end === undefined) {
        this.caveat(`The probe could not be spoken alone, so nothing was compared: ${problem}`);
      }
    }
    if (plan.warmup > 0 && this.#end === undefined) {
      await this.#tick("warmup");
      const { spoken, failure } = await this.#source.warmUp(plan.warmup);
      if (spoken === 0 && failure !== undefined && this.#end === undefined) {
        throw new Error(
          `The server does not speak through the target '${plan.target}': ${failure}`,
        );
      }
    }
  }

  async #load(): Promise<void> {
    const { plan } = this.#options;
    this.#loadFrom = this.#clock.now();
    this.#nextTickAt = this.#loadFrom + TICK_MS;
    this.#ledger.resume((this.#loadFrom - this.#from) / 1000);
    // What came before the load is not of it.
    await this.#source.collect();
    if (plan.shape.kind === "knee") return this.#seek(plan.shape.stepSeconds);
    if (plan.shape.kind === "poisson") {
      this.#source.arrive(plan.shape.perSecond, plan.seconds);
    }
    for (const step of stepsOf(plan)) {
      await this.#hold(step, this.#loadFrom + step.from * 1000);
      if (this.#end !== undefined) return;
    }
  }

  /** Tries one load after the other, each from quiet to quiet. */
  async #seek(stepSeconds: number): Promise<void> {
    const { shape, limits } = this.#options.plan;
    if (shape.kind !== "knee") return;
    this.#search = new KneeSearch(shape.from, shape.to);
    for (;;) {
      const wanted = this.#search.next;
      if (wanted === undefined) return;
      const step = { from: 0, seconds: stepSeconds, wanted };
      await this.#hold(step, this.#clock.now());
      if (this.#end !== undefined) return;
      if (!(await this.#drain(DRAIN_MS))) {
        this.#search.tried(wanted, false, NOT_DRAINED);
        this.#finish("limit", NOT_DRAINED);
      }
      const sums = this.#ledger.steps.at(-1)?.sums;
      if (sums === undefined || this.#end !== undefined) return;
      const { met, text } = judge(limits, sums);
      this.#search.tried(wanted, met === true, text);
    }
  }

  /** Keeps a step's load up until its end or that of the run. @param from when it began, on the clock */
  async #hold(step: PlannedStep, from: number): Promise<void> {
    const { plan } = this.#options;
    const book = this.#ledger.begin(step.wanted);
    this.#source.step(this.#ledger.steps.length - 1);
    const until = from + step.seconds * 1000;
    let asked: number | undefined;
    while (this.#clock.now() < until && this.#end === undefined) {
      this.#wanted = wantedAt(plan, step, step.from + (this.#clock.now() - from) / 1000);
      if (!isOpenLoop(plan.shape) && this.#wanted !== asked) {
        asked = this.#wanted;
        this.#source.want(asked);
      }
      const now = this.#clock.now();
      const ms = Math.min(CONTROL_MS, until - now, this.#nextTickAt - now);
      await this.#clock.wait(ms, this.#ended.signal);
      if (this.#clock.now() >= this.#nextTickAt) await this.#tick("load");
      this.#guard();
    }
    book.seconds = (Math.min(this.#clock.now(), until) - from) / 1000;
    // Sound belongs to the step in which it arrived.
    this.#ledger.absorb(await this.#source.collect());
  }

  /**
   * Begins nothing more and waits for what is under way; cuts off what takes too long.
   * @returns whether everything ended by itself
   */
  async #drain(ms: number): Promise<boolean> {
    this.#source.rest();
    this.#wanted = 0;
    const until = this.#clock.now() + ms;
    while (this.#end?.kind !== "stopped" && this.#end?.kind !== "failed") {
      const window = await this.#source.collect();
      this.#ledger.absorb(window);
      if (window.active === 0) return true;
      if (this.#clock.now() >= until) {
        this.caveat(
          `Requests that had not ended ${ms / 1000} s after the last one was begun were cut off.`,
        );
        this.#source.abort();
        return false;
      }
      await this.#clock.wait(Math.min(DRAIN_POLL_MS, until - this.#clock.now()));
      if (this.#clock.now() >= this.#nextTickAt) await this.#tick("drain");
    }
    return false;
  }

  /** What was measured while everything came to its end. */
  async #absorbRest(): Promise<void> {
    this.#ledger.absorb(await this.#source.collect());
  }

  // ---- what is looked at on the way

  async #tick(phase: StressTick["phase"]): Promise<void> {
    const { serverFigures, onTick } = this.#options;
    const window = await this.#source.collect();
    const now = this.#clock.now();
    this.#nextTickAt = now + TICK_MS;
    if (phase === "load" || phase === "drain") this.#ledger.absorb(window);
    const moment = {
      at: (now - this.#from) / 1000,
      step: Math.max(0, this.#ledger.steps.length - 1),
      phase,
      wanted: this.#wanted,
      server: serverFigures?.() ?? this.#watch?.read() ?? null,
    };
    const tick = this.#ledger.tick(window, moment, LATE_MS);
    onTick?.(tick);
    if (window.processes === 0) {
      this.#finish("failed", "Every process that made load has ended.");
    }
    if (phase !== "load") return;
    if (window.isSpent) {
      const { maxRequests } = this.#options.plan;
      this.#finish("limit", `The cost guard of ${maxRequests} requests was reached.`);
    }
    this.#holdToLimits();
  }

  /** Ends the run where the last seconds cross a limit. A search for the knee is there to cross it. */
  #holdToLimits(): void {
    const { shape, limits } = this.#options.plan;
    if (shape.kind === "knee") return;
    const recent = this.#ledger.recent();
    if (endedOf(recent.counts) < LEAST_ENDED) return;
    const { met, text } = judge(limits, recent);
    if (met === false) this.#finish("limit", text);
  }

  #guard(): void {
    const { maxSeconds } = this.#options.plan;
    const seconds = (this.#clock.now() - (this.#loadFrom ?? this.#clock.now())) / 1000;
    if (seconds >= maxSeconds) {
      this.#finish("limit", `The cost guard of ${maxSeconds} s was reached.`);
    }
  }

  /** The first end counts. */
  #finish(kind: StressEnd["kind"], reason: string): void {
    if (this.#end !== undefined && this.#end !== FINISHED) return;
    this.#end = { kind, reason };
    this.#ended.abort();
  }
}

/** 16 hexadecimal digits. */
function newId(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(8));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
