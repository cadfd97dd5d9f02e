/** The body of an answer, read so that a connection which breaks off costs nothing of what had arrived. */
import type { Readable } from "node:stream";

/** Pieces that wait for their reader before the connection has to. */
const MOST_WAITING = 16;

/**
 * Unlike the stream's own iterator it gives every piece that came before a failure, and only then throws; and nobody has to
 * read it for its failures to be harmless.
 */
export class Body implements AsyncIterable<Buffer> {
  readonly #stream: Readable;
  readonly #waiting: Buffer[] = [];
  #isOver = false;
  #failure: unknown;
  #wake = () => {};

  /** Listens from now on, so that nothing is missed while the caller still looks at the headers. */
  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on("data", (piece: Buffer) => {
      this.#waiting.push(piece);
      if (this.#waiting.length >= MOST_WAITING) stream.pause();
      this.#wake();
    });
    stream.on("end", () => this.#end(undefined));
    stream.on("error", (error) => this.#end(error));
    stream.on("close", () => this.#end(new Error("it was closed")));
  }

  /** Ends the connection; what has arrived is forgotten. */
  destroy(): void {
    this.#waiting.length = 0;
    this.#stream.destroy();
  }

  /** To be read once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const piece = this.#waiting.shift();
      if (piece !== undefined) {
        yield piece;
      } else if (this.#isOver) {
        if (this.#failure !== undefined) throw this.#failure;
        return;
      } else {
        const more = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#stream.resume();
        await more;
      }
    }
  }

  /** The first word on how it ended stands. */
  #end(failure: unknown): void {
    if (!this.#isOver) this.#failure = failure;
    this.#isOver = true;
    this.#wake();
  }
}
