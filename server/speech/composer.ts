/**
 * From text to units: cuts the text of a session's utterances one segment ahead, starts the next unit the moment the one
 * before is generated, and keeps the line of what is to be sent. Owns all units of the session, and stops them.
 */

import type { Listener } from "./admission.ts";
import type { Part } from "./session-events.ts";
import type { Signal } from "./signal.ts";
import type { FedSegment } from "./text-feed.ts";
import { TEXT_PATIENCE_MS, TEXT_PIECES } from "./turns.ts";
import { type Studio, Unit } from "./unit.ts";
import type { Utterance } from "./utterance.ts";

/** With less audio than this ahead, a listener is about to hear a gap. */
const HUNGRY_MS = 500;

/** What is sent next: a unit, or the news that an utterance is complete. */
export type Turn = Part | { readonly utterance: Utterance; readonly unit?: undefined };

export interface ComposerContext {
  readonly studio: Studio;
  /** Notified whenever there may be something new to do. */
  readonly changed: Signal;
  /** Utterances in the order in which they are spoken. */
  utterances(): readonly Utterance[];
  /** Audio that the listener has yet to hear, in milliseconds. */
  aheadMs(): number;
  /** The same listener, as those see him who decide about turns. */
  readonly listener: Listener;
  onPlace(utterance: Utterance, place: number, expectedWaitMs: number): void;
}

interface Prepared {
  readonly utterance: Utterance;
  readonly segment: FedSegment;
  readonly tokens: number;
}

export class Composer {
  readonly #context: ComposerContext;
  readonly #unfinished = new Set<Promise<void>>();
  #prepared: Prepared | undefined;
  #line: Turn[] = [];
  #current: Part | undefined;
  #isClosed = false;

  constructor(context: ComposerContext) {
    this.#context = context;
  }

  /** The unit that is being sent, or waited for. */
  get current(): Part | undefined {
    return this.#current;
  }

  /** Whether nothing is being made or waits to be made, as far as the text has been cut. */
  get isIdle(): boolean {
    return this.#current === undefined && this.#line.length === 0 && this.#prepared === undefined;
  }

  /** Cuts and starts until it is closed. */
  async run(): Promise<void> {
    while (!this.#isClosed) {
      const seen = this.#context.changed.count;
      if (this.#start()) continue;
      if (this.#prepared === undefined && (await this.#prepare())) continue;
      if (this.#isClosed) return;
      // Once it is time to release, only more text can help.
      await this.#context.changed.wait(this.#releaseIn() || Number.POSITIVE_INFINITY, seen);
    }
  }

  /** Takes the next turn from the line. A unit stays `current` until the next call. */
  next(): Turn | undefined {
    const turn = this.#line.shift();
    const hadCurrent = this.#current !== undefined;
    this.#current = turn?.unit === undefined ? undefined : turn;
    if (hadCurrent || turn !== undefined) this.#context.changed.notify();
    return turn;
  }

  /** Stops one unit. */
  stop(part: Part): void {
    this.#stop([part]);
  }

  /** Stops everything of these utterances. */
  drop(targets: readonly Utterance[]): void {
    const isTarget = ({ utterance }: { readonly utterance: Utterance }) =>
      targets.includes(utterance);
    this.#stop(this.#parts().filter(isTarget));
    this.#line = this.#line.filter((turn) => !isTarget(turn));
    if (this.#prepared !== undefined && isTarget(this.#prepared)) this.#prepared = undefined;
  }

  /** Stops everything for good; resolves when the engine has let go of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { unit } of this.#parts()) unit.cancel();
    this.#line = [];
    this.#prepared = undefined;
    await Promise.all(this.#unfinished);
  }

  #parts(): Part[] {
    const waiting = this.#line.filter((turn): turn is Part => turn.unit !== undefined);
    return this.#current === undefined ? waiting : [this.#current, ...waiting];
  }

  /** Stops units and tells the metrics how long the engine took to hear of it. */
  #stop(parts: readonly Part[]): void {
    const { studio } = this.#context;
    const from = studio.now();
    for (const { unit, utterance } of parts) {
      if (!unit.isGenerated) {
        void unit.generated.then(() => utterance.report.cancelled((studio.now() - from) / 1000));
      }
      unit.cancel();
    }
  }

  /** Makes the next segment, or the end of an utterance, ready. False if that takes more text. */
  async #prepare(): Promise<boolean> {
    const { studio, aheadMs } = this.#context;
    const utterance = this.#toBeCut();
    if (utterance === undefined) return false;
    if (utterance.text.isUncut) {
      await studio.turns.take(aheadMs() + TEXT_PATIENCE_MS, TEXT_PIECES);
      if (this.#isClosed || utterance.isOver) return true;
    }
    const segment = await utterance.text.next();
    if (this.#isClosed || utterance.isOver) return true;
    if (segment === undefined) {
      if (!utterance.text.isDone) return this.#releaseIn() === 0 && utterance.text.release();
      utterance.isCut = true;
      this.#line.push({ utterance });
      this.#context.changed.notify();
      return true;
    }
    const tokens = studio.model.countTokens(segment.spoken);
    if (tokens > 0) this.#prepared = { utterance, segment, tokens };
    else utterance.text.skip(segment);
    return true;
  }

  /** Starts the prepared unit: one ahead of the one that is sent, and never two being generated at once. */
  #start(): boolean {
    const hasNext = this.#line.some(({ unit }) => unit !== undefined);
    const isMaking = this.#current !== undefined && !this.#current.unit.isGenerated;
    if (this.#prepared === undefined || hasNext || isMaking || this.#isClosed) return false;
    const { utterance, segment, tokens } = this.#prepared;
    this.#prepared = undefined;
    const index = utterance.noteStart(tokens);
    const { listener } = this.#context;
    const unit = new Unit(this.#context.studio, {
      index,
      segment,
      settings: utterance.settings,
      seed: utterance.seed,
      firstFrames: utterance.firstFrames,
      claim: index === 0 ? { kind: "first" } : { kind: "next", aheadMs: listener.aheadMs() },
      listener,
      onPlace: (place, expectedWaitMs) => this.#context.onPlace(utterance, place, expectedWaitMs),
      onAdmitted: () => utterance.report.admitted(),
      onGenerated: () => void this.#start(),
    });
    this.#unfinished.add(unit.generated);
    void unit.generated.then(() => {
      this.#unfinished.delete(unit.generated);
      this.#context.changed.notify();
    });
    this.#line.push({ utterance, unit, audioMs: 0 });
    this.#context.changed.notify();
    return true;
  }

  /** The first utterance of which text is left. */
  #toBeCut(): Utterance | undefined {
    return this.#context.utterances().find(({ isCut, isOver }) => !isCut && !isOver);
  }

  /** When complete sentences that wait for company are to be spoken: 0 for now, infinite for never. */
  #releaseIn(): number {
    const open = this.#toBeCut();
    if (!this.isIdle || open?.text.canRelease !== true) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#context.aheadMs() - HUNGRY_MS);
  }
}
