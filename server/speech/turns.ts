/**
 * The event loop's turns, shared among sessions. A fast engine makes more audio than one thread can send; then listeners
 * who have little to hear go first, or a newcomer's first audio would stand behind seconds of audio that others do not
 * need yet. Texts have turns of their own, or a crowd of newcomers would hold up those who are listening. While there is
 * little to do, nobody waits.
 */

/** Pieces of audio that are handled before sockets and timers have their turn: a millisecond or two of work. */
export const AUDIO_PIECES = 16;
/** Segments of text that are cut, normalised and tokenised before that. */
export const TEXT_PIECES = 1;

interface Waiting {
  /** When the listener has heard what he has, on the clock. */
  readonly dryAt: number;
  readonly go: () => void;
}

export class Turns {
  readonly #pieces: number;
  readonly #now: () => number;
  readonly #nextTurn: (turn: () => void) => void;
  #waiting: Waiting[] = [];
  /** Left in this turn; undefined before its first one. */
  #left: number | undefined;

  /**
   * @param pieces handled in one turn
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
   * Asks to handle one more piece. Undefined: at once; otherwise a promise for when it is its turn, which never
   * rejects. @param leadMs audio that the listener has to hear
   */
  take(leadMs: number): Promise<void> | undefined {
    if (this.#left === undefined) this.#begin();
    if (this.#left === 0) {
      const dryAt = this.#now() + leadMs;
      return new Promise((go) => this.#waiting.push({ dryAt, go }));
    }
    this.#left = (this.#left ?? 0) - 1;
    return undefined;
  }

  #begin(): void {
    this.#left = this.#pieces;
    this.#nextTurn(() => this.#turn());
  }

  #turn(): void {
    this.#left = undefined;
    if (this.#waiting.length === 0) return;
    this.#begin();
    this.#waiting.sort((a, b) => a.dryAt - b.dryAt);
    const next = this.#waiting.splice(0, this.#pieces);
    this.#left = this.#pieces - next.length;
    for (const { go } of next) go();
  }
}
