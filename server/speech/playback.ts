/**
 * How far the audio that was sent is ahead of the ears. The listener tells it; between two such reports, and if there
 * are none, the clock does: playback starts with the first audio and never runs ahead of what was sent.
 */
export class Playback {
  readonly #now: () => number;
  /** When everything that was sent will have been heard. */
  #until = Number.NEGATIVE_INFINITY;
  /** Milliseconds sent of each utterance that may still be playing, in order. */
  readonly #sent = new Map<number, number>();

  /** @param now milliseconds on a clock that does not jump */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Audio that was sent and has not been heard, in milliseconds. */
  get leadMs(): number {
    return Math.max(0, this.#until - this.#now());
  }

  sent(utterance: number, ms: number): void {
    if (this.leadMs === 0) {
      for (const old of this.#sent.keys()) if (old !== utterance) this.#sent.delete(old);
    }
    this.#sent.set(utterance, (this.#sent.get(utterance) ?? 0) + ms);
    this.#until = Math.max(this.#until, this.#now()) + ms;
  }

  /** The listener has heard that much of an utterance, and all of those before. */
  played(utterance: number, playedMs: number): void {
    const sent = this.#sent.get(utterance);
    if (sent === undefined) return;
    let ahead = Math.max(0, sent - playedMs);
    for (const [other, ms] of this.#sent) {
      if (other < utterance) this.#sent.delete(other);
      if (other > utterance) ahead += ms;
    }
    this.#until = this.#now() + ahead;
  }

  /** The listener stopped and threw away what it had not played. */
  stopped(): void {
    this.#sent.clear();
    this.#until = Number.NEGATIVE_INFINITY;
  }
}
