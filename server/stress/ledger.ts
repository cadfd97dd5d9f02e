/**
 * The books of a run: takes in what generators have measured and keeps ticks, steps and totals. Knows neither clocks nor
 * generators.
 */
import { shareOf } from "./counts.ts";
import { Sums } from "./sums.ts";
import type { StressProbe, StressServerFigures, StressTick, StressTickRecord } from "./types.ts";
import { type LoadWindow, sumsOf } from "./window.ts";

/** What the conductor knows of the moment of a tick. */
export interface Moment {
  /** Seconds since the run began. */
  readonly at: number;
  readonly step: number;
  readonly phase: StressTick["phase"];
  readonly wanted: number;
  readonly server: StressServerFigures | null;
}

/** A step as far as it has come. */
export interface StepBook {
  readonly wanted: number;
  readonly sums: Sums;
  /** For which it has taken new requests. */
  seconds: number;
  /** Sound that arrived during it, whenever it was asked for. */
  audioSeconds: number;
  readonly cores: number[];
  server: StressServerFigures | null;
}

/** Stretch of time that limits are held against while the run is on, and what it has to hold to say anything. */
const RECENT_SECONDS = 5;

export class Ledger {
  readonly totals = new Sums();
  readonly steps: StepBook[] = [];
  readonly ticks: StressTickRecord[] = [];
  probe: StressProbe | null = null;
  /** Most lateness that was seen, in milliseconds, and the ticks in which it was enough to matter. */
  worstLagMs = 0;
  worstBehindMs = 0;
  lateTicks = 0;
  #recent: { readonly at: number; readonly sums: Sums }[] = [];
  /** Since the last tick. */
  #fresh = new Sums();
  #freshAudioSeconds = 0;
  #freshLagMs = 0;
  #freshBehindMs = 0;
  #lastTickAt = 0;

  /** The time up to now, in seconds since the run began, is in no tick that follows. */
  resume(at: number): void {
    this.#lastTickAt = at;
  }

  begin(wanted: number): StepBook {
    const book: StepBook = {
      wanted,
      sums: new Sums(),
      seconds: 0,
      audioSeconds: 0,
      cores: [],
      server: null,
    };
    this.steps.push(book);
    return book;
  }

  absorb(window: LoadWindow): void {
    for (const [index, sums] of window.steps) this.steps[index]?.sums.merge(sums);
    const sums = sumsOf(window);
    this.totals.merge(sums);
    this.#fresh.merge(sums);
    this.#freshAudioSeconds += window.audioSeconds;
    const step = this.steps.at(-1);
    if (step !== undefined) step.audioSeconds += window.audioSeconds;
    this.#freshLagMs = Math.max(this.#freshLagMs, window.lagMs);
    this.#freshBehindMs = Math.max(this.#freshBehindMs, window.behindMs);
    this.probe = window.probe ?? this.probe;
  }

  /** Closes the time since the tick before. @param lateMs lateness from which on figures cannot be trusted */
  tick(window: LoadWindow, moment: Moment, lateMs: number): StressTick {
    const { at, step, phase, wanted, server } = moment;
    const { counts } = this.#fresh;
    const seconds = at - this.#lastTickAt;
    const record: StressTickRecord = {
      at,
      step,
      phase,
      wanted,
      active: window.active,
      ttfpMs: this.#fresh.get("ttfpMs").percentiles(),
      rtf: this.#fresh.get("rtf").percentiles(),
      timesRealTime: seconds > 0 ? this.#freshAudioSeconds / seconds : 0,
      continuity: shareOf(counts.continuous, counts.spoken),
      continuityStrict: shareOf(counts.continuousStrict, counts.spoken),
      refused: counts.refused,
      failed: counts.failed,
      codes: counts.codes,
      totals: structuredClone(this.totals.counts),
      generator: {
        lagMs: this.#freshLagMs,
        behindMs: this.#freshBehindMs,
        processes: window.processes,
      },
      server,
    };
    this.ticks.push(record);
    this.#note(record, lateMs);
    this.#recent.push({ at, sums: this.#fresh });
    this.#recent = this.#recent.filter((one) => one.at > at - RECENT_SECONDS);
    this.#fresh = new Sums();
    this.#freshAudioSeconds = 0;
    this.#freshLagMs = 0;
    this.#freshBehindMs = 0;
    this.#lastTickAt = at;
    const { lanes, lanesLeftOut } = window;
    return { ...record, lanes, lanesLeftOut, probe: this.probe };
  }

  /** The last seconds together. */
  recent(): Sums {
    const sums = new Sums();
    for (const one of this.#recent) sums.merge(one.sums);
    return sums;
  }

  #note({ generator, server, phase }: StressTickRecord, lateMs: number): void {
    const { lagMs, behindMs } = generator;
    this.worstLagMs = Math.max(this.worstLagMs, lagMs);
    this.worstBehindMs = Math.max(this.worstBehindMs, behindMs);
    if (Math.max(lagMs, behindMs) > lateMs) this.lateTicks += 1;
    const step = this.steps.at(-1);
    if (step === undefined || server === null || phase !== "load") return;
    step.server = server;
    if (server.cores !== null) step.cores.push(server.cores);
  }
}
