/**
 * Who may generate now: nobody before `resume` says how many. At most `slots` units do, the others stand in line and know
 * their place. A listener keeps his place for as long as his text lasts: between two of his units, and while he has so much
 * to hear that nothing is made for him, he still counts, so newcomers are let in only while all who are in can be
 * spoken to in real time; and above half of that, only while nobody who is in is short of sound. Who is about to run dry goes first, then newcomers and those whom nobody hears in
 * real time, first come, first served. Owns the slots; knows nothing of what is done with them.
 */
import { ApiError } from "../protocol/envelope.ts";
import type { LoadEstimate } from "./load-estimate.ts";

export interface AdmissionOptions {
  /** Most newcomers in line before others are refused. */
  readonly maxWaiting: number;
  /** Newcomers who would have to wait longer are refused, in milliseconds; no limit if absent. */
  readonly maxWaitMs?: number | undefined;
  /** Most units that may be parked; none if absent. */
  readonly maxParked?: number | undefined;
  readonly estimate: LoadEstimate;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

/** How many there is room for. */
export interface Room {
  /** Units that may be generated side by side. */
  readonly slots: number;
  /** Of them, as many as keep up with listeners; newcomers are let in only below it. */
  readonly capacity: number;
  /** Somebody who listens has little left to hear. */
  readonly isStrained?: boolean;
}

/**
 * The first unit of an utterance, which may be refused, or a later one, which may not. `aheadMs` is what its listener has
 * to hear meanwhile; infinite where nobody hears it in real time.
 */
export type Claim =
  | { readonly kind: "first" }
  | { readonly kind: "next"; readonly aheadMs: number };

/** The listener of a unit. */
export interface Listener {
  /** Audio that he has yet to hear, in milliseconds; infinite where nobody hears it in real time. */
  aheadMs(): number;
  /** Whether he is hearing some of it now. */
  isHearing(): boolean;
}

export interface Ticket {
  /** True when the turn has come; false when the ticket was given back before. Never rejects. */
  readonly granted: Promise<boolean>;
  /**
   * Gives the slot to others while nothing can be done with it; the unit keeps what it has in the engine. False, and
   * the slot is kept, where too many are parked.
   */
  park(listener: Listener): boolean;
  /** Asks for a slot again, before all newcomers. True when there is one, false when the ticket was given back before. */
  unpark(): Promise<boolean>;
  /** Gives everything back or leaves the line. Harmless at any time. */
  release(): void;
}

interface Waiting {
  readonly onPlace: (place: number, expectedWaitMs: number) => void;
  readonly settle: (granted: boolean) => void;
  /** When its listener runs dry, on the clock; only of those who return. */
  readonly dryAt: number;
  place: number;
}

/** Share of the capacity above which newcomers wait while somebody is short of sound. */
const HALF = 0.5;

export class Admission {
  readonly #options: AdmissionOptions;
  /** Units whose listeners are in; the one who runs dry first comes first. */
  readonly #returning: Waiting[] = [];
  readonly #others: Waiting[] = [];
  readonly #parked = new Set<Listener>();
  #room: Room = { slots: 0, capacity: 0 };
  #active = 0;
  #isPaused = true;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#active;
  }

  /** Units that wait for their readers, without a slot. */
  get parked(): number {
    return this.#parked.size;
  }

  get waiting(): number {
    return this.#returning.length + this.#others.length;
  }

  /** How many can be spoken to in real time; 0 until the first `resume`. */
  get capacity(): number {
    return this.#room.capacity;
  }

  /** What one more newcomer would have to wait. */
  get expectedWaitMs(): number {
    const isFree = this.#hasRoomForNewcomer && this.waiting === 0 && !this.#isPaused;
    return isFree ? 0 : this.#waitFor(this.waiting + 1);
  }

  /** Whether a newcomer would be refused. */
  get isFull(): boolean {
    if (this.#hasRoomForNewcomer && this.#others.length === 0) return false;
    const { maxWaiting, maxWaitMs = Number.POSITIVE_INFINITY } = this.#options;
    return this.#others.length >= maxWaiting || this.expectedWaitMs > maxWaitMs;
  }

  /** The refusal of a newcomer. */
  refusal(): ApiError {
    const retryAfterSeconds = Math.max(1, Math.ceil(this.expectedWaitMs / 1000));
    return new ApiError("overloaded", undefined, { retryAfterSeconds });
  }

  /**
   * Asks for a slot. `onPlace` hears of the place in line, 1 being the next, whenever it changes.
   * @throws ApiError `overloaded` when a newcomer finds the line full or too slow
   */
  request(claim: Claim, onPlace: Waiting["onPlace"]): Ticket {
    if (claim.kind === "first" && this.isFull) throw this.refusal();
    let isHeld = false;
    let parkedFor: Listener | undefined;
    let leave = () => {};
    const leaveParking = () => {
      if (parkedFor !== undefined) this.#parked.delete(parkedFor);
      parkedFor = undefined;
    };
    const standIn = (aheadMs: number, onPlace: Waiting["onPlace"]) =>
      new Promise<boolean>((resolve) => {
        const line = Number.isFinite(aheadMs) ? this.#returning : this.#others;
        const settle = (isGranted: boolean) => {
          leave = () => {};
          isHeld = isGranted;
          if (isGranted) leaveParking();
          resolve(isGranted);
        };
        const dryAt = this.#options.now() + aheadMs;
        const waiting: Waiting = { onPlace, place: 0, settle, dryAt };
        leave = () => {
          line.splice(line.indexOf(waiting), 1);
          settle(false);
        };
        const behind = line.findIndex((other) => other.dryAt > dryAt);
        line.splice(behind === -1 ? line.length : behind, 0, waiting);
        this.#advance();
      });
    const granted = standIn(
      claim.kind === "first" ? Number.POSITIVE_INFINITY : claim.aheadMs,
      onPlace,
    );
    return {
      granted,
      park: (listener) => {
        if (!isHeld || this.#parked.size >= (this.#options.maxParked ?? 0)) return false;
        isHeld = false;
        parkedFor = listener;
        this.#parked.add(listener);
        this.#active -= 1;
        this.#advance();
        return true;
      },
      unpark: async () => {
        if (isHeld) return true;
        if (parkedFor === undefined) return false;
        // What is in the engine already takes memory there, whoever hears it.
        const aheadMs = Math.min(parkedFor.aheadMs(), Number.MAX_SAFE_INTEGER);
        return standIn(aheadMs, () => {});
      },
      release: () => {
        leave();
        leaveParking();
        if (isHeld) this.#active -= 1;
        isHeld = false;
        this.#advance();
      },
    };
  }

  /** Lets nobody in until `resume`; those who are in stay. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Lets so many in; those who are in stay even if they are more. */
  resume(room: Room): void {
    this.#room = room;
    this.#isPaused = false;
    this.#advance();
  }

  get #hasRoomForNewcomer(): boolean {
    const { slots, capacity, isStrained = false } = this.#room;
    const hearing = [...this.#parked].filter((listener) => listener.isHearing()).length;
    const served = this.#active + this.#returning.length + hearing;
    return this.#active < slots && served < (isStrained ? HALF * capacity : capacity);
  }

  #advance(): void {
    while (!this.#isPaused && this.#active < this.#room.slots) {
      const next =
        this.#returning.shift() ?? (this.#hasRoomForNewcomer ? this.#others.shift() : undefined);
      if (next === undefined) break;
      this.#active += 1;
      next.settle(true);
    }
    for (const [i, waiting] of [...this.#returning, ...this.#others].entries()) {
      if (waiting.place === i + 1) continue;
      waiting.place = i + 1;
      waiting.onPlace(waiting.place, this.#waitFor(waiting.place));
    }
  }

  #waitFor(place: number): number {
    return Math.round((place * this.#options.estimate.unitMs) / Math.max(1, this.capacity));
  }
}
