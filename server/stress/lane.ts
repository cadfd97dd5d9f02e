/** One stream of the load as others see it. */
import type { PlaybackMeter } from "../protocol/client/index.ts";
import type { Outcome } from "./outcome.ts";
import type { StressLane } from "./types.ts";

export class Lane {
  readonly id: number;
  /** Somebody makes requests on it. */
  isRunning = false;
  #state: StressLane["state"] = "wait";
  #meter: PlaybackMeter | undefined;

  /** @param id its number over all processes */
  constructor(id: number) {
    this.id = id;
  }

  /** A request is under way. */
  get isAsking(): boolean {
    return this.#state === "ask" || this.#state === "speak";
  }

  begin(meter: PlaybackMeter): void {
    this.#meter = meter;
    this.#state = "ask";
  }

  speak(): void {
    this.#state = "speak";
  }

  end(kind: Outcome["kind"]): void {
    this.#state = kind === "refused" || kind === "failed" ? kind : "wait";
  }

  /** @param at on the meter's clock */
  read(at: number): StressLane {
    const leadMs = this.#state === "speak" ? (this.#meter?.read(at).leadMs ?? 0) : 0;
    return { id: this.id, state: this.#state, leadMs: Math.round(leadMs) };
  }
}
