/**
 * Who may generate now: nobody before `resume` says how many. At most `capacity` units do, the others stand in line and
 * know their place. A listener who is about to hear a gap goes before newcomers: a gap in speech is worse than a later
 * start. Among equals, first come, first served. Owns the slots; knows nothing of what is done with them.
 */
import { ApiError } from "../protocol/envelope.ts";
import type { LoadEstimate } from "./load-estimate.ts";

export interface AdmissionOptions {
  /** Most units in line before newcomers are refused. */
  readonly maxWaiting: number;
  /** Most units that may be parked; none if absent. */
  readonly maxParked?: number | undefined;
  readonly estimate: LoadEstimate;
}

/** The first unit of an utterance, which may be refused; a later one; a later one that is needed now. */
export type Claim = "first" | "next" | "urgent";

export interface Ticket {
  /** True when the turn has come; false when the ticket was given back before. Never rejects. */
  readonly granted: Promise<boolean>;
  /**
   * Gives the slot to others while nothing can be done with it; the unit keeps what it has in the engine. False, and
   * the slot is kept, where too many are parked.
   */
  park(): boolean;
  /** Asks for a slot again, before all newcomers. True when there is one, false when the ticket was given back before. */
  unpark(): Promise<boolean>;
  /** Gives everything back or leaves the line. Harmless at any time. */
  release(): void;
}

interface Waiting {
  readonly onPlace: (place: number, expectedWaitMs: number) => void;
  readonly settle: (granted: boolean) => void;
  place: number;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #urgent: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #capacity = 0;
  #active = 0;
  #parked = 0;
  #isPaused = true;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#active;
  }

  /** Units that wait for their readers, without a slot. */
  get parked(): number {
    return this.#parked;
  }

  get waiting(): number {
    return this.#urgent.length + this.#others.length;
  }

  /** 0 until the first `resume`. */
  get capacity(): number {
    return this.#capacity;
  }

  /** What one more newcomer would have to wait. */
  get expectedWaitMs(): number {
    const isFree = this.#active < this.capacity && this.waiting === 0 && !this.#isPaused;
    return isFree ? 0 : this.#waitFor(this.waiting + 1);
  }

  /** Whether one more newcomer would be refused. */
  get isFull(): boolean {
    const isFree = this.#active < this.capacity && this.waiting === 0 && !this.#isPaused;
    return !isFree && this.#others.length >= this.#options.maxWaiting;
  }

  /** The refusal of a newcomer. */
  refusal(): ApiError {
    const retryAfterSeconds = Math.max(1, Math.ceil(this.expectedWaitMs / 1000));
    return new ApiError("overloaded", undefined, { retryAfterSeconds });
  }

  /**
   * Asks for a slot. `onPlace` hears of the place in line, 1 being the next, whenever it changes.
   * @throws ApiError `overloaded` when a newcomer finds the line full
   */
  request(claim: Claim, onPlace: Waiting["onPlace"]): Ticket {
    if (claim === "first" && this.isFull) throw this.refusal();
    let isHeld = false;
    let isParked = false;
    let leave = () => {};
    const standIn = (line: Waiting[], onPlace: Waiting["onPlace"]) =>
      new Promise<boolean>((resolve) => {
        const settle = (isGranted: boolean) => {
          leave = () => {};
          isHeld = isGranted;
          if (isGranted && isParked) {
            isParked = false;
            this.#parked -= 1;
          }
          resolve(isGranted);
        };
        const waiting: Waiting = { onPlace, place: 0, settle };
        leave = () => {
          line.splice(line.indexOf(waiting), 1);
          settle(false);
        };
        line.push(waiting);
        this.#advance();
      });
    const granted = standIn(claim === "urgent" ? this.#urgent : this.#others, onPlace);
    return {
      granted,
      park: () => {
        if (!isHeld || this.#parked >= (this.#options.maxParked ?? 0)) return false;
        isHeld = false;
        isParked = true;
        this.#active -= 1;
        this.#parked += 1;
        this.#advance();
        return true;
      },
      unpark: async () => isHeld || (isParked && (await standIn(this.#urgent, () => {}))),
      release: () => {
        leave();
        if (isHeld) this.#active -= 1;
        if (isParked) this.#parked -= 1;
        isHeld = false;
        isParked = false;
        this.#advance();
      },
    };
  }

  /** Lets nobody in until `resume`; those who are in stay. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Lets so many generate side by side; those who are in stay even if they are more. */
  resume(capacity: number): void {
    this.#capacity = capacity;
    this.#isPaused = false;
    this.#advance();
  }

  #advance(): void {
    while (!this.#isPaused && this.#active < this.capacity) {
      const next = this.#urgent.shift() ?? this.#others.shift();
      if (next === undefined) break;
      this.#active += 1;
      next.settle(true);
    }
    for (const [i, waiting] of [...this.#urgent, ...this.#others].entries()) {
      if (waiting.place === i + 1) continue;
      waiting.place = i + 1;
      waiting.onPlace(waiting.place, this.#waitFor(waiting.place));
    }
  }

  #waitFor(place: number): number {
    return Math.round((place * this.#options.estimate.unitMs) / Math.max(1, this.capacity));
  }
}
