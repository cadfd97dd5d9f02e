/**
 * The event loop's turns, shared among sessions. A fast engine makes more audio than one thread can send; then listeners
 * who have little to hear go first, or a newcomer's first audio would stand behind seconds of audio that others do not
 * need yet. While there is little to do, nobody waits.
 */

/** Pieces of audio that are handled before sockets and timers have their turn: a millisecond or two of work. */
export const TURN_PIECES = 16;
/** What it costs to cut, normalise and tokenise a segment of text, in pieces of audio. */
export const TEXT_PIECES = 3;
/** Texts go behind audio of those who have less than this to hear: a crowd of newcomers must not leave gaps in what others hear. */
export const TEXT_PATIENCE_MS = 100;

interface Waiting {
  /** When the listener has heard what he has, on the clock. */
  readonly dryAt: number;
  readonly pieces: number;
  readonly go: () => void;
}

export class Turns {
  readonly #pieces: number;
  readonly #now: () => number;
  readonly #nextTurn: (turn: () => void) => void;
  #waiting: Waiting[] = [];
  /** Whether a turn has begun, and the next one is due. */
  #isUnderWay = false;
  /** Pieces left in this turn; fewer than none after work that ran over. */
  #left = 0;

  /**
   * @param pieces handled in one turn; the last work of a turn may run over
   * @param now milliseconds on a clock that does not jump
   * @param nextTurn calls back when the event loop has looked after everything else once
   */
  constructor(
    pieces: number,
    now: () => number,
    nextTurn: (turn: () => void) => void = (turn) => void setImmediate(turn),
  ) {
    this.#pieces = pieces;
    this.#now = now;
    this.#nextTurn = nextTurn;
  }

  /**
   * Asks to do work. Undefined: at once; otherwise a promise for when it is its turn, which never rejects.
   * @param leadMs audio that the listener has to hear; who has least goes first
   * @param pieces the size of the work
   */
  take(leadMs: number, pieces = 1): Promise<void> | undefined {
    if (!this.#isUnderWay) this.#begin();
    if (this.#left <= 0) {
      const dryAt = this.#now() + leadMs;
      return new Promise((go) => this.#waiting.push({ dryAt, pieces, go }));
    }
    this.#left -= pieces;
    return undefined;
  }

  #begin(): void {
    this.#isUnderWay = true;
    this.#left = this.#pieces;
    this.#nextTurn(() => this.#turn());
  }

  #turn(): void {
    this.#isUnderWay = false;
    if (this.#waiting.length === 0) return;
    this.#begin();
    this.#waiting.sort((a, b) => a.dryAt - b.dryAt);
    while (this.#left > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#left -= next.pieces;
      next.go();
    }
  }
}
