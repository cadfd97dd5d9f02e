/**
 * Says which frame of a stream stands at which frame of the output, from what the audio thread reports now and then. The
 * output runs ahead of the ears, so the question is always about the recent past.
 */

interface Anchor {
  /** Frame of the output. */
  readonly at: number;
  /** Frame of the stream that leaves there. */
  readonly position: number;
  readonly isMoving: boolean;
}

/** Four seconds of reports, far more than any output is late. */
const MAX_ANCHORS = 128;

export class PlayClock {
  readonly #anchors: Anchor[] = [];
  readonly #ratio: number;

  /** Rates in Hz, of the stream and of the output. */
  constructor(streamRate: number, outputRate: number) {
    this.#ratio = streamRate / outputRate;
  }

  /** From output frame `at` on, the stream plays from `position`, or stands there. */
  anchor(at: number, position: number, isMoving: boolean): void {
    this.#anchors.push({ at, position, isMoving });
    if (this.#anchors.length > MAX_ANCHORS) this.#anchors.shift();
  }

  /** Forgets the past: the stream stands at `position` until the next anchor. */
  jump(position: number): void {
    this.#anchors.length = 0;
    this.anchor(Number.NEGATIVE_INFINITY, position, false);
  }

  /** The frame of the stream at a frame of the output. */
  positionAt(at: number): number {
    let next: Anchor | undefined;
    for (let i = this.#anchors.length - 1; i >= 0; i--) {
      const anchor = this.#anchors[i];
      if (anchor === undefined) break;
      if (anchor.at > at) {
        next = anchor;
        continue;
      }
      if (!anchor.isMoving) return anchor.position;
      const position = anchor.position + (at - anchor.at) * this.#ratio;
      return next === undefined ? position : Math.min(position, next.position);
    }
    return next?.position ?? 0;
  }
}
