/**
 * What a resumable session has sent, audio and the messages around it, so that a client which lost its connection can
 * have it again. Bounded in time and memory; knows nothing of what it keeps.
 */

/** Bounds of what is kept: spec section 4.3. */
const MAX_MS = 30_000;
const MAX_BYTES = 8 * 1024 * 1024;

export interface Kept {
  /** Of an audio message its own number, of any other that of the audio before it. */
  readonly seq: number;
  readonly isAudio: boolean;
  /** Length of the audio. */
  readonly ms: number;
  readonly bytes: number;
  /** Puts it on the wire again. */
  readonly send: () => void;
}

export interface Replay {
  readonly messages: readonly Kept[];
  /** Number of the first audio message that comes, now or later. */
  readonly fromSeq: number;
  /** Whether audio before it is gone for good. */
  readonly lost: boolean;
}

export class ReplayBuffer {
  readonly #kept: Kept[] = [];
  #bytes = 0;
  #ms = 0;

  /** Remembers a message and forgets the oldest ones where there are too many. */
  keep(message: Kept): void {
    this.#kept.push(message);
    this.#bytes += message.bytes;
    this.#ms += message.ms;
    while (this.#bytes > MAX_BYTES || this.#ms > MAX_MS) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) break;
      this.#bytes -= oldest.bytes;
      this.#ms -= oldest.ms;
    }
  }

  /**
   * Everything that followed audio message `lastSeq`, whether or not it arrived.
   * @param nextSeq number of the next audio message that will be sent
   */
  after(lastSeq: number, nextSeq: number): Replay {
    const heard = this.#kept.findLastIndex(({ isAudio, seq }) => isAudio && seq <= lastSeq);
    const messages = this.#kept.slice(heard + 1).filter(({ seq }) => seq >= lastSeq);
    const fromSeq = messages.find(({ isAudio }) => isAudio)?.seq ?? nextSeq;
    return { messages, fromSeq, lost: fromSeq > lastSeq + 1 };
  }

  clear(): void {
    this.#kept.length = 0;
    this.#bytes = 0;
    this.#ms = 0;
  }
}
