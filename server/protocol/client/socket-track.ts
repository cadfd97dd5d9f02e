/**
 * What has arrived of a session, over all its connections: tells what is new from what came before, and notices what is
 * missing. After a lost connection the server says again what followed the last piece of audio that arrived.
 */
import type { FrameTag } from "../tagged-frame.ts";
import { REPEATED } from "./socket-events.ts";

export class SocketTrack {
  #lastSeq = -1;
  /** Cancels that were answered. */
  #generation = 0;
  /** Messages since the last piece of audio, and those of them that are still expected to come again. */
  #told: string[] = [];
  #repeats: string[] = [];

  /** Number of the last piece of audio that arrived; -1 if none did. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Takes a message as it was written. False if it came before. */
  isNew(type: string, text: string): boolean {
    if (!REPEATED.has(type)) return true;
    const place = this.#repeats.indexOf(text);
    this.#repeats = place < 0 ? [] : this.#repeats.slice(place + 1);
    if (place >= 0) return false;
    this.#told.push(text);
    if (type === "audio.cancelled") this.#generation += 1;
    return true;
  }

  /** Takes a piece of audio: whether it is to be heard, and whether pieces before it are missing. */
  audio({ seq, generation }: FrameTag): { readonly isHeard: boolean; readonly isGap: boolean } {
    if (seq <= this.#lastSeq) return { isHeard: false, isGap: false };
    const isGap = seq > this.#lastSeq + 1;
    this.#lastSeq = seq;
    this.#told = [];
    this.#repeats = [];
    return { isHeard: generation >= this.#generation, isGap };
  }

  /** The session continues on a new connection, with this piece. */
  resumed(fromSeq: number): void {
    this.#repeats = [...this.#told];
    this.#lastSeq = Math.max(this.#lastSeq, fromSeq - 1);
  }
}
