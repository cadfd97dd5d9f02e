/**
 * Turns arriving text into segments, one at a time and only when asked. Waits for more text as long as the listener has
 * something to hear; when not, takes what is complete.
 */
import type { Segment } from "../text/segment.ts";
import type { Segmenter } from "../text/segmenter.ts";

async function* whole(text: string): AsyncGenerator<string> {
  yield text;
}

export class SegmentFeed {
  readonly #segmenter: Segmenter;
  readonly #pieces: AsyncIterator<string>;
  readonly #ready: Segment[] = [];
  #arriving: Promise<IteratorResult<string>> | undefined;
  #ended = false;

  constructor(text: string | AsyncIterable<string>, segmenter: Segmenter) {
    this.#segmenter = segmenter;
    const source = typeof text === "string" ? whole(text) : text;
    this.#pieces = source[Symbol.asyncIterator]();
  }

  /**
   * The next segment, or undefined after the last. `hungry` settles when the listener has heard everything there is;
   * rejections of the text's source pass through.
   */
  async next(hungry: Promise<unknown>): Promise<Segment | undefined> {
    let isHungry = false;
    for (;;) {
      const segment = this.#ready.shift();
      if (segment !== undefined || this.#ended) return segment;
      this.#arriving ??= this.#pieces.next();
      const arrived = await Promise.race(
        isHungry ? [this.#arriving] : [this.#arriving, hungry.then(() => undefined)],
      );
      if (arrived === undefined) {
        isHungry = true;
        this.#ready.push(...this.#segmenter.release());
        continue;
      }
      this.#arriving = undefined;
      this.#ended = arrived.done === true;
      this.#ready.push(
        ...(arrived.done ? this.#segmenter.end() : this.#segmenter.push(arrived.value)),
      );
    }
  }

  /** Lets the source of the text go. */
  close(): void {
    this.#ended = true;
    this.#ready.length = 0;
    // A source that is busy finishes what it does first; nobody waits for that.
    this.#arriving?.catch(() => {});
    this.#pieces.return?.().catch(() => {});
  }
}
